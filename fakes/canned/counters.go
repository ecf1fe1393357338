package canned

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// lateness is the histogram of the delays of data events, from 1 µs to a minute. Any
// additional delay that a driver reports is the driver's own.
type lateness struct{ h *hdrhistogram.Histogram }

func newLateness() lateness {
	return lateness{hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
}

// record adds a delay in nanoseconds.
func (l lateness) record(ns int64) {
	_ = l.h.RecordValue(min(max(ns/1000, 1), time.Minute.Microseconds())) // in range
}

// exposition renders the quantiles as a summary.
func (l lateness) exposition() []byte {
	out := []byte("# TYPE canned_lateness_seconds summary\n")
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		us := l.h.ValueAtQuantile(q * 100) //nolint:forbidigo // in percent
		out = fmt.Appendf(out, "canned_lateness_seconds{quantile=\"%g\"} %g\n", q, float64(us)/1e6)
	}
	return fmt.Appendf(out, "canned_lateness_seconds_count %d\n", l.h.TotalCount())
}

// counters count processes: started from the request on, and in exactly one of ok, error and
// killed from the end event on. Events counts sent events.
type counters struct{ started, ok, failed, killed, events uint64 }

// exposition renders the counters for /metrics.
func (c *counters) exposition() []byte {
	return fmt.Appendf(nil, `# TYPE coppice_commands_started_total counter
coppice_commands_started_total %d
# TYPE coppice_commands_finished_total counter
coppice_commands_finished_total{status="error"} %d
coppice_commands_finished_total{status="killed"} %d
coppice_commands_finished_total{status="ok"} %d
# TYPE coppice_commands_active gauge
coppice_commands_active %d
# TYPE canned_events_total counter
canned_events_total %d
`, c.started, c.failed, c.killed, c.ok, c.started-c.failed-c.killed-c.ok, c.events)
}
