package engine

import (
	"log/slog"
	"time"

	"assay/internal/bundle"
	"assay/internal/ledger"
	"assay/internal/target"
	"assay/internal/transport"
	"assay/scenarios"
)

// env is what all instances of a run share. But for the fuse, it is not changed after newEnv.
type env struct {
	fuse     fuse
	target   *target.Target
	clock    *transport.Clock
	run      *bundle.Run
	cal      bundle.Calibration
	secrets  []string
	plainest bundle.Axes  // of the engine's own calls: what reaches this target
	counters ledger.Names // zero without a profile
	log      *slog.Logger
}

func newEnv(o Options) *env {
	e := &env{
		target:   o.Target,
		clock:    o.Clock,
		run:      o.Run,
		cal:      o.Run.Calibration,
		secrets:  o.Target.Secrets(),
		plainest: o.Target.Way(),
		log:      o.Log,
	}
	if o.Profile != nil {
		m := o.Profile.Metrics
		e.counters = ledger.Names{Started: m["started"], Finished: m["finished"], Active: m["active"]}
	}
	return e
}

// http2 is the HTTP/2 that the target's URL allows: over TLS, or in plain.
func (e *env) http2() string { return e.target.Transport("h2").HTTP }

// observation is the empty observation of an instance.
func (e *env) observation(i scenarios.Instance) *bundle.Observation {
	return &bundle.Observation{
		Schema:   bundle.ObservationSchema,
		Run:      e.run.ID,
		Scenario: i.Scenario.ID,
		Axes:     i.Axes,
		Script:   i.Scenario.Digest,
		Seed:     e.run.Seed,
	}
}

// scaled is d, stretched by the run's time scale.
func (e *env) scaled(d time.Duration) time.Duration {
	return scenarios.Span{Fixed: d}.Deadline(e.cal)
}

// paced is a bound of the given round trips and spawns of this target, not
// below least and not above most, stretched by the time scale.
func (e *env) paced(trips int, least, most time.Duration) time.Duration {
	d := time.Duration(trips) * time.Duration(e.cal.RTT+e.cal.Spawn)
	return e.scaled(min(max(d, least), most))
}

// The bounds of what the engine does of its own. None of them decides a
// verdict; they only keep a broken target from holding up a run. Each has a
// floor for local targets and a ceiling for those that are very slow.

// readOn bounds the reading on for a start event after a start was given up.
func (e *env) readOn() time.Duration { return e.paced(10, 50*time.Millisecond, 500*time.Millisecond) }

// resumeBound bounds the reading of what was paused when the steps stopped.
func (e *env) resumeBound() time.Duration { return e.paced(50, 500*time.Millisecond, 2*time.Second) }

// cleanupBound bounds the ending of one iteration's left-over processes.
func (e *env) cleanupBound() time.Duration { return e.paced(50, 2*time.Second, 5*time.Second) }

// restBound bounds the wait for the counters to come to rest after a scenario.
func (e *env) restBound() time.Duration { return e.paced(50, time.Second, 5*time.Second) }

// probeBound bounds one probe of whether the target is alive.
func (e *env) probeBound() time.Duration { return e.paced(50, 2*time.Second, 10*time.Second) }

// poll is the wait between two looks at something that cannot be waited for.
func (e *env) poll() time.Duration {
	return min(max(2*time.Duration(e.cal.RTT), 2*time.Millisecond), 100*time.Millisecond)
}
