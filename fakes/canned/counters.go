package canned

import "fmt"

// counters are the books: every process counts as started with its request, and in
// one of the others from its end event on. Events are those that were sent.
type counters struct{ started, ok, failed, killed, events uint64 }

// exposition is the books as /metrics shows them.
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
