package engine

import (
	"testing"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patient makes the engine's own bounds and the default deadline so long that a machine
// that stands still for a while does not reach them. A deadline that a script names
// becomes ten times as long.
func (b *bench) patient() *bench {
	b.options.Run.Calibration.Spawn = int64(60 * time.Millisecond)
	b.options.Run.Calibration.TimeScale = 10
	return b
}

// longer runs a script with deadlines that grow from short to half a minute, until
// ready reports that everything had come before the deadline. It returns the last
// observation.
func longer(short time.Duration, run func(deadline time.Duration) *bundle.Observation, ready func(*bundle.Observation) bool) *bundle.Observation {
	for d := short; ; d *= 4 {
		if o := run(d); ready(o) || d > 30*time.Second {
			return o
		}
	}
}

func TestAProcessIsStartedAndSeenToEnd(t *testing.T) {
	gw := newMiniature(t)
	o := newBench(t, gw.URL).run(`
steps:
  - start: {as: p, sh: 'echo hi', wait: end}
`)
	p := o.Iterations[0].Exchange("p")
	if p == nil || p.Outcome != bundle.OutcomeComplete || len(p.Events) != 3 {
		t.Fatalf("got %+v", p)
	}
	ps := o.Iterations[0].Processes
	if len(ps) != 1 || ps[0].Ended == nil || ps[0].Cleanup != "" {
		t.Errorf("processes: %+v", ps)
	}
	if o.Iterations[0].Vars["p.pid"] != "101" {
		t.Errorf("vars: %v", o.Iterations[0].Vars)
	}
}
