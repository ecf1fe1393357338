package load

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"

	"assay/internal/base/secret"
	"assay/internal/target"
	"assay/scenarios"
)

// Job is a plan as the coordinator of a run gives it to worker processes. It holds no secret: a worker has the
// credentials of the target from elsewhere.
type Job struct {
	Aim Aim
	// Run marks the processes of the run in their environment.
	Run            string
	Classes        []scenarios.WorkloadClass
	HTTP           string
	FullHandshakes bool `json:",omitempty"`
	Schedule

	// Sources are local addresses to dial from, for workers on the machine of the coordinator.
	Sources []string `json:",omitempty"`
	// Engine is the name of the engine.
	Engine string
	// Parts is the number of parts of the plan.
	Parts int
}

// Aim is what a job says about the target: the public part of its options.
type Aim struct {
	// URL is empty if it holds a secret.
	URL       string            `json:",omitempty"`
	Paths     map[string]string `json:",omitempty"`
	Shell     []string          `json:",omitempty"`
	User      string            `json:",omitempty"`
	UserAgent string            `json:",omitempty"`
	TimeScale float64           `json:",omitempty"`
}

// aimOf returns the public part of the options of a target.
func aimOf(o *target.Options, redactor *secret.Redactor) Aim {
	a := Aim{URL: o.URL, Paths: o.Paths, Shell: o.Shell, User: o.User, UserAgent: o.UserAgent, TimeScale: o.TimeScale}
	if redactor.Text(a.URL) != a.URL {
		a.URL = ""
	}
	return a
}

// errNoURL is the error of a worker that knows no URL.
var errNoURL = errors.New("the plan does not name the URL of the target, because it holds a secret: give it to the worker")

// At returns the options of the target for a worker that has these: its own URL, user, shell and paths come first.
func (a Aim) At(own target.Options) (target.Options, error) {
	own.URL = cmp.Or(own.URL, a.URL)
	own.User = cmp.Or(own.User, a.User)
	own.UserAgent = cmp.Or(own.UserAgent, a.UserAgent)
	if len(own.Shell) == 0 {
		own.Shell = a.Shell
	}
	own.Paths, own.TimeScale = merged(a.Paths, own.Paths), a.TimeScale
	if own.URL == "" {
		return own, errNoURL
	}
	return own, nil
}

// options returns the options of the run, with a part's share of the count.
func (j *Job) options(at target.Options, part int) Options {
	o := Options{Target: at, HTTP: j.HTTP, FullHandshakes: j.FullHandshakes, Schedule: j.Schedule, classes: j.Classes}
	o.Count = share(j.Count, part, j.Parts)
	return o
}

// job returns the job of a session for a number of workers.
func (s *session) job(parts int) Job {
	o := &s.opts
	j := Job{
		Aim: aimOf(&s.fullTarget, s.target.Redactor()), Run: s.plan.Classes[0].Dialect.Run, Classes: o.classes, HTTP: o.HTTP, FullHandshakes: o.FullHandshakes,
		Schedule: o.Schedule, Engine: o.Engine.Name(), Parts: parts,
	}
	for _, a := range s.plan.Sources {
		j.Sources = append(j.Sources, a.String())
	}
	return j
}

// addresses parses addresses.
func addresses(texts []string) (all []netip.Addr, err error) {
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source address: %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}
