package gateway

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Finish is how a command counts when it has ended.
type Finish string

// The partition of finished commands: each counts as exactly one of them.
const (
	FinishOK     Finish = "ok"     // exit 0
	FinishError  Finish = "error"  // another exit, or a signal that nobody sent through the gateway
	FinishKilled Finish = "killed" // SIGKILL, /kill, a deadline, or died of a SIGTERM sent through the gateway
)

// finishes lists the partition in the order of the exposition.
func finishes() []Finish { return []Finish{FinishError, FinishKilled, FinishOK} }

// Counters are the books of the gateway.
type Counters interface {
	// Started counts a command that was started.
	Started()
	// Finished counts a command that has ended.
	Finished(f Finish)
}

// books is the counters of a gateway. The zero value is ready.
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

// exposition is the collector of a gateway's books. Every series is there from
// the start, so that a first scrape has something to be held against, and all of
// a scrape come from one snapshot: started is finished plus active in each.
type exposition struct {
	read                      func() Tally
	started, finished, active *prometheus.Desc
}

var _ prometheus.Collector = (*exposition)(nil)

// metricsHandler serves the books under the prefix, and what the Go runtime and
// the operating system say of this process.
func metricsHandler(prefix string, read func() Tally) (http.Handler, error) {
	name := func(n string) string { return prometheus.BuildFQName(prefix, "commands", n) }
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		&exposition{
			read:     read,
			started:  prometheus.NewDesc(name("started_total"), "Commands that were started.", nil, nil),
			finished: prometheus.NewDesc(name("finished_total"), "Commands that have ended, by how.", []string{"status"}, nil),
			active:   prometheus.NewDesc(name("active"), "Commands that run now.", nil, nil),
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
