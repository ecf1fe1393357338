package engine

import (
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// env is what all instances of a run share. It does not change after newEnv, except for
// the breaker, the shortage and the machine.
type env struct {
	breaker  breaker
	short    shortage
	machine  *contention
	target   *target.Target
	clock    *transport.Clock
	run      *bundle.Run
	cal      bundle.Calibration
	files    string       // the directory of the files of iterations
	plainest bundle.Axes  // of the engine's own calls: the way that reaches this target
	counters ledger.Names // zero without a profile
	log      *slog.Logger
	turn     int // above 0 for instances that run once more: the names of their files and processes differ
	// interrupted is when the run was interrupted or its budget ended; nil if it was not.
	interrupted atomic.Pointer[time.Time]
	// large is shared by the instances that generate much.
	large *semaphore.Weighted
}

func newEnv(o Options) *env {
	e := &env{
		machine:  &contention{},
		target:   o.Target,
		clock:    o.Clock,
		run:      o.Run,
		cal:      o.Run.Calibration,
		files:    filesDir,
		plainest: o.Target.Way(),
		log:      o.Log,
		large:    semaphore.NewWeighted(mostGenerated),
	}
	if o.Profile != nil {
		m := o.Profile.Metrics
		e.counters = ledger.Names{Started: m["started"], Finished: m["finished"], Active: m["active"]}
	}
	return e
}

// http2 returns the HTTP/2 variant of the target's URL: over TLS or cleartext.
func (e *env) http2() string { return e.target.Transport("h2").HTTP }

// observation returns an empty observation of an instance.
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

// scaled returns d multiplied by the run's time scale.
func (e *env) scaled(d time.Duration) time.Duration {
	return scenarios.Span{Fixed: d}.Deadline(e.cal)
}

// paced returns the time of so many round trips and spawns of this target, at least
// least and at most most, multiplied by the time scale.
func (e *env) paced(trips int, least, most time.Duration) time.Duration {
	d := time.Duration(trips) * time.Duration(e.cal.RTT+e.cal.Spawn)
	return e.scaled(min(max(d, least), most))
}

// The bounds of the engine's own work. None of them decides a verdict; they only keep a
// broken target from holding up a run. Each has a floor for local targets and a ceiling
// for very slow ones.

// readOn bounds the further wait for a start event after a start was given up.
func (e *env) readOn() time.Duration { return e.paced(10, 50*time.Millisecond, 500*time.Millisecond) }

// resumeBound bounds the reading of paused connections after the steps have stopped.
func (e *env) resumeBound() time.Duration { return e.paced(50, 500*time.Millisecond, 2*time.Second) }

// limitedCleanup is the further time for a clean-up whose calls the target may refuse as too many.
const limitedCleanup = 10 * time.Second

// cleanupBound bounds the clean-up of one iteration.
func (e *env) cleanupBound() time.Duration {
	bound := e.paced(50, 2*time.Second, 5*time.Second)
	if e.target.Pace().Limits() {
		bound += e.scaled(limitedCleanup)
	}
	if e.breaker.isOpen(way{kind: bundle.OpCleanup}) || e.breaker.isOpen(way{kind: kindCall + processService}) {
		return min(bound, e.paced(20, leastPatience/2, bound))
	}
	return bound
}

// restBound bounds the wait for the counters to come to rest after a scenario.
func (e *env) restBound() time.Duration { return e.paced(50, time.Second, 5*time.Second) }

// probeBound bounds one probe of whether the target is alive.
func (e *env) probeBound() time.Duration { return e.paced(50, 2*time.Second, 10*time.Second) }

// poll is the interval between two polls.
func (e *env) poll() time.Duration {
	return min(max(2*time.Duration(e.cal.RTT), 2*time.Millisecond), 100*time.Millisecond)
}
