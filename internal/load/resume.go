package load

import (
	"encoding/json"
	"errors"
	"fmt"
)

// memo is what a coordinator that resumes a run needs beside the job.
type memo struct {
	Profile    string
	Conditions []Condition
}

// memo returns the memo of a session.
func (s *session) memo() []byte {
	text, _ := json.Marshal(memo{s.opts.Profile, s.opts.conditions}) // strings and numbers
	return text
}

// errOtherTarget is the error of a resumed run with another URL.
var errOtherTarget = errors.New("the run has another target: resume it with its own URL")

// Resumed returns the options of a run whose coordinator was lost, with the target, the engine, the fleet and the directory of
// o. Everything else is that of the job and the memo which the lost coordinator has left.
func Resumed(o Options, j Job, text []byte) (Options, error) {
	var m memo
	if err := json.Unmarshal(text, &m); err != nil {
		return o, fmt.Errorf("what is known of the run: %w", err)
	}
	if o.Target.URL == "" {
		o.Target.URL = j.Aim.URL
	}
	if j.Aim.URL != "" && o.Target.URL != j.Aim.URL {
		return o, errOtherTarget
	}
	o.Profile, o.conditions = m.Profile, m.Conditions
	o.HTTP, o.FullHandshakes, o.Schedule, o.classes = j.HTTP, j.FullHandshakes, j.Schedule, j.Classes
	o.Workers, o.resumed = j.Parts, j.Run
	return o, nil
}

// interruptedWatch is the note of a comparison in a resumed run.
const interruptedWatch = "the run was resumed, and what its counters were before it is not known"
