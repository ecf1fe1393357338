package fleet

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"assay/internal/load"
)

// schema is the version of what is on the bus.
const schema = 1

// Policy says what becomes of a run that loses a worker.
type Policy string

// The policies.
const (
	// Abort ends the run: its verdict is inconclusive.
	Abort Policy = "abort"
	// Degrade goes on with the other workers.
	Degrade Policy = "degrade"
)

// ParsePolicy reads a policy.
func ParsePolicy(text string) (Policy, error) {
	if p := Policy(text); p == Abort || p == Degrade {
		return p, nil
	}
	return "", fmt.Errorf("%q: want %s or %s", text, Abort, Degrade)
}

// card is what a worker reads first of a run.
type card struct {
	Schema  int
	Version string
	Workers int
	// Rounds says that another round may follow each.
	Rounds bool
	Policy Policy
	// Beat is how often a worker shows that it is there, and Patience how long it may be silent.
	Beat, Patience time.Duration
}

// errUnreadable is the error of a card or a plan that is none: whoever may write to the bus can write anything.
var errUnreadable = errors.New("the plan of the run is not readable")

// check returns an error for a card that no run has.
func (c *card) check() error {
	if c.Workers < 1 || c.Beat <= 0 || c.Patience <= 0 {
		return errUnreadable
	}
	return nil
}

// plan is one round.
type plan struct {
	Job load.Job
	// Window is the time of a window.
	Window time.Duration
	// HardEnd is when every worker stops sending, since the start, even if nobody listens.
	HardEnd time.Duration
	// Memo is for a coordinator that resumes the run.
	Memo []byte `json:",omitempty"`
}

// start is the opening of the barrier.
type start struct {
	// At is in the clock of the coordinator, in nanoseconds since 1970.
	At int64
	// Attempts are the attempts that take part, by shard.
	Attempts []int
}

// stop ends a round early.
type stop struct{ Why string }

// mostCount bounds a run that ends after a count, and has no duration.
const mostCount = 24 * time.Hour

// hardEnd returns when the workers of a job stop whatever happens.
func hardEnd(j *load.Job, l *load.Limits) time.Duration {
	end := mostCount
	if j.Duration > 0 {
		end = j.Duration
	}
	return end + l.KillAll + l.Grace + 5*time.Second
}

// errRun is the error of a run whose id cannot be a name on the bus.
var errRun = errors.New("want letters, digits, - and _, at most 64 of them")

var runPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckRun checks the id of a run.
func CheckRun(id string) error {
	if !runPattern.MatchString(id) {
		return errRun
	}
	return nil
}

// names are the names of a run on the bus.
type names struct{ run string }

func (n names) bucket() string { return "assay-" + n.run }
func (n names) stream() string { return "assay-windows-" + n.run }
func (n names) clock() string  { return "assay." + n.run + ".clock" }
func (n names) beat() string   { return "assay." + n.run + ".beat" }
func (n names) alive() string  { return "assay." + n.run + ".alive" }
func (n names) notice() string { return "assay." + n.run + ".notice" }

// windows are the subjects of all windows.
func (n names) windows() string { return "assay." + n.run + ".res.>" }

// window is the subject of one window.
func (n names) window(w windowID) string {
	return fmt.Sprintf("assay.%s.res.%d.%d.%d.%d", n.run, w.round, w.shard, w.attempt, w.seq)
}

// windowID names a window. seq counts from 1.
type windowID struct{ round, shard, attempt, seq int }

// parse reads the subject of a window.
func (n names) parse(subject string) (w windowID, err error) {
	_, err = fmt.Sscanf(subject, "assay."+n.run+".res.%d.%d.%d.%d", &w.round, &w.shard, &w.attempt, &w.seq)
	return w, err
}

// The keys of the bucket.
const (
	keyRun = "run"
	keyEnd = "end"
)

func keyJoin(shard, attempt int) string { return fmt.Sprintf("join.%d.%d", shard, attempt) }
func keyDead(shard, attempt int) string { return fmt.Sprintf("dead.%d.%d", shard, attempt) }
func keyPlan(round int) string          { return fmt.Sprintf("plan.%d", round) }
func keyReady(round, shard, attempt int) string {
	return fmt.Sprintf("ready.%d.%d.%d", round, shard, attempt)
}
func keyStart(round int) string       { return fmt.Sprintf("start.%d", round) }
func keyStop(round int) string        { return fmt.Sprintf("stop.%d", round) }
func keySeal(round, shard int) string { return fmt.Sprintf("seal.%d.%d", round, shard) }
