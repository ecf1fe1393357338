package engine

import (
	"testing"

	"go.uber.org/goleak"

	"assay/internal/bundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
