package reports

import (
	"fmt"
	"time"

	"assay/internal/record/bundle"
)

// mostWorkers bounds the list of workers; those that were lost are always listed.
const mostWorkers = 16

// workersText describes the workers of a load run in one line; "" without workers.
func workersText(r *bundle.LoadReport) string {
	if len(r.Workers) == 0 {
		return ""
	}
	hosts, worst, lost := map[string]bool{}, int64(0), 0
	for i := range r.Workers {
		w := &r.Workers[i]
		hosts[w.Host] = true
		worst = max(worst, w.OffsetErrorUS)
		if w.Lost != "" {
			lost++
		}
	}
	text := fmt.Sprintf("%d on %s, clocks compared within %s", len(r.Workers), plural(len(hosts), "machine"), shortSpan(worst))
	if lost > 0 {
		text += fmt.Sprintf(", %d lost; %s", lost, deliveredText(r))
	}
	return text
}

// deliveredText compares what was offered with what has an outcome.
func deliveredText(r *bundle.LoadReport) string {
	begun, completed := r.Streams.Begun, r.Streams.Completed
	return fmt.Sprintf("offered %.1f %% of the planned load, delivered %d of %d begun streams, and nothing is known of the other %d",
		100*r.Streams.Offered, completed, begun, max(begun-completed, 0))
}

// workerLines describes the workers one by one: all of a few, and of many those that were lost.
func workerLines(r *bundle.LoadReport) (out []string) {
	for i := range r.Workers {
		w := &r.Workers[i]
		if w.Lost == "" && len(r.Workers) > mostWorkers {
			continue
		}
		text := fmt.Sprintf("worker %d of %d, %s, process %d: %d begun, %d completed, clock off by %v", w.Shard+1, len(r.Workers), w.Host, w.PID, w.Begun, w.Completed,
			time.Duration(w.OffsetUS)*time.Microsecond)
		if w.Lost != "" {
			text += fmt.Sprintf("; lost after %v: %s", (time.Duration(w.LostMS) * time.Millisecond).Round(100*time.Millisecond), w.Lost)
		}
		out = append(out, text)
	}
	return out
}
