package engine

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"assay/internal/bundle"
	"assay/scenarios"
)

// A command does not end, because the signal for it did not reach the gateway: the scenario runs again, and not after an hour.
func TestAnIterationIsNotWaitedForThatDidNotReachTheGateway(t *testing.T) {
	t.Parallel()
	gw := newMiniature(t)
	inner := gw.Config.Handler
	var signals atomic.Int32
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/SendSignal") && signals.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})
	b := newBench(t, gw.URL)
	b.options.Doubtful = func(_ scenarios.Instance, o *bundle.Observation) bool {
		return o.Iterations[0].Exchange("p").Outcome != bundle.OutcomeComplete
	}
	o := b.run(`
deadline: 1h
steps:
  - start: {as: p, sh: sleep}
  - signal: {to: p, name: SIGKILL}
  - await: {on: p, event: end}
`)
	if p := o.Iterations[0].Exchange("p"); p.Outcome != bundle.OutcomeComplete || o.Refused != nil {
		t.Errorf("%s, refused %+v", p.Outcome, o.Refused)
	}
}
