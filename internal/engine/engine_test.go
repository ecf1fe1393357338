package engine

import (
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patient makes the bounds of what the engine does of its own, and the time that a
// script has by default, so long that they end nothing on a machine that stands still
// for a while. A deadline that a script names is ten times as long as it says.
func (b *bench) patient() *bench {
	b.options.Run.Calibration.Spawn = int64(60 * time.Millisecond)
	b.options.Run.Calibration.TimeScale = 10
	return b
}

// longer runs a script with deadlines that grow from short to half a minute, until ready
// says that all was there when the deadline came. The last observation is returned.
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
