package gateway

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Finish is the status under which an ended command is counted.
type Finish string

// The partition of finished commands: each has exactly one status.
const (
	FinishOK     Finish = "ok"     // exit 0
	FinishError  Finish = "error"  // another exit code, or a signal not sent through the gateway
	FinishKilled Finish = "killed" // SIGKILL, /kill, a deadline, or death by a signal sent through the gateway
)

// finishes lists the partition in the order of the exposition.
func finishes() []Finish { return []Finish{FinishError, FinishKilled, FinishOK} }

// Counters receives what the gateway counts.
type Counters interface {
	// Started counts a command that was started.
	Started()
	// Finished counts a command that has ended.
	Finished(f Finish)
}

// books holds the counters of a gateway. The zero value is ready.
type books struct {
	mu       sync.Mutex
	starts   uint64
	finishes map[Finish]uint64
}

var _ Counters = (*books)(nil)

func (b *books) Started() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts++
}

func (b *books) Finished(f Finish) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finishes == nil {
		b.finishes = map[Finish]uint64{}
	}
	b.finishes[f]++
}

// Tally is a snapshot of the counters.
type Tally struct {
	Started  uint64
	Finished map[Finish]uint64
	Active   int
}

func (b *books) read() Tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Tally{Started: b.starts, Finished: map[Finish]uint64{}}
	for _, f := range finishes() {
		t.Finished[f] = b.finishes[f]
	}
	return t
}

// exposition is the Prometheus collector of a gateway's books. Every series
// exists from the start, so that the first scrape is a baseline. A scrape is one
// snapshot: in each, started is finished plus active.
type exposition struct {
	read                      func() Tally
	started, finished, active *prometheus.Desc
}

var _ prometheus.Collector = (*exposition)(nil)

// metricsHandler serves the books under the prefix, and the metrics of the Go
// runtime and of this process.
func metricsHandler(prefix string, read func() Tally) (http.Handler, error) {
	name := func(n string) string { return prometheus.BuildFQName(prefix, "commands", n) }
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		&exposition{
			read:     read,
			started:  prometheus.NewDesc(name("started_total"), "Started commands.", nil, nil),
			finished: prometheus.NewDesc(name("finished_total"), "Finished commands by status.", []string{"status"}, nil),
			active:   prometheus.NewDesc(name("active"), "Running commands.", nil, nil),
		},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("metrics with the prefix %q: %w", prefix, err)
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// Describe sends the three families.
func (e *exposition) Describe(out chan<- *prometheus.Desc) {
	out <- e.started
	out <- e.finished
	out <- e.active
}

// Collect reads the books once.
func (e *exposition) Collect(out chan<- prometheus.Metric) {
	t := e.read()
	out <- prometheus.MustNewConstMetric(e.started, prometheus.CounterValue, float64(t.Started))
	for _, f := range finishes() {
		out <- prometheus.MustNewConstMetric(e.finished, prometheus.CounterValue, float64(t.Finished[f]), string(f))
	}
	out <- prometheus.MustNewConstMetric(e.active, prometheus.GaugeValue, float64(t.Active))
}
