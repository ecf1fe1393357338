package load

import (
	"fmt"
	"time"

	"assay/internal/record/bundle"
)

// saturated is the largest start lag of a valid open model. Beyond it, streams waited for
// the driver and not for the gateway.
const saturated = time.Second

// conclude sets the verdict of a report and its reasons. open says that the run used the
// open model.
func conclude(r *bundle.LoadReport, open bool) {
	var fails, doubts []string
	fails = append(fails, failedSandboxes(r.Sandboxes)...)
	if n := r.Streams.Outcomes.Failed(); n > 0 {
		fails = append(fails, fmt.Sprintf("%d of %d streams failed", n, r.Streams.Completed))
	}
	if n := len(r.Metrics.Violations); n > 0 && r.Metrics.Note == "" {
		fails = append(fails, plural(n, "invariant of the counters is violated", "invariants of the counters are violated"))
	} else if n > 0 {
		doubts = append(doubts, r.Metrics.Note)
	}
	for _, t := range r.Thresholds {
		switch {
		case t.OK == nil:
			doubts = append(doubts, fmt.Sprintf("the threshold %s cannot be decided: %s", t.Expr, t.Why))
		case !*t.OK:
			fails = append(fails, "the threshold "+t.Expr+" is missed")
		}
	}
	doubts = append(doubts, doubtsOf(r, open)...)
	switch {
	case len(fails) > 0:
		r.Verdict = bundle.LoadFail
	case len(doubts) > 0:
		r.Verdict = bundle.LoadInconclusive
	default:
		r.Verdict = bundle.LoadPass
	}
	r.Reasons = append(fails, doubts...)
}

// doubtsOf returns the reasons why a run without failures is inconclusive.
func doubtsOf(r *bundle.LoadReport, open bool) []string {
	var out []string
	if r.Interrupted {
		out = append(out, "the run was interrupted")
	}
	if r.Aborted != "" {
		out = append(out, r.Aborted)
	}
	if r.Streams.Outcomes[bundle.StreamOK]+r.Streams.Outcomes[bundle.StreamKilled] == 0 && r.Streams.Outcomes.Failed() == 0 {
		out = append(out, "no stream was observed to its end")
	}
	if n := r.Streams.Outcomes[bundle.StreamBlocked]; n > 0 {
		out = append(out, plural(int(n), "stream was not opened because of a limit", "streams were not opened because of a limit"))
	}
	if n := r.Ledger.Open; n > 0 && !r.Interrupted {
		out = append(out, plural(int(n), "process may still run: it could not be killed", "processes may still run: they could not be killed"))
	}
	if lag := time.Duration(r.Latency.StartLag.P99) * time.Microsecond; open && lag > saturated {
		out = append(out, fmt.Sprintf("the driver could not keep its schedule: start_lag.p99 is %v", lag.Round(time.Millisecond)))
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
