package fakes

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// finish is how a command counts when it has ended.
type finish string

// The partition of finished commands: each counts as exactly one of them.
const (
	finishOK     finish = "ok"     // exit 0
	finishError  finish = "error"  // another exit, or a signal that nobody sent through the gateway
	finishKilled finish = "killed" // SIGKILL, /kill, a deadline, or died of a SIGTERM sent through the gateway
)

// finishes lists the partition in the order of the exposition.
func finishes() []finish { return []finish{finishError, finishKilled, finishOK} }

// counters are the books of the gateway.
type counters interface {
	started()
	finished(f finish)
}

// books is the counters of a gateway. The zero value is ready.
type books struct {
	mu       sync.Mutex
	starts   uint64
	finishes map[finish]uint64
}

var _ counters = (*books)(nil)

func (b *books) started() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts++
}

func (b *books) finished(f finish) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finishes == nil {
		b.finishes = map[finish]uint64{}
	}
	b.finishes[f]++
}

// tally is what the books said at one instant.
type tally struct {
	started  uint64
	finished map[finish]uint64
	active   int
}

func (b *books) read() tally {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := tally{started: b.starts, finished: map[finish]uint64{}}
	for _, f := range finishes() {
		t.finished[f] = b.finishes[f]
	}
	return t
}

// exposition is the collector of a gateway's books. Every series is there from
// the start, so that a first scrape has something to be held against, and all of
// a scrape come from one snapshot: started is finished plus active in each.
type exposition struct {
	read                      func() tally
	started, finished, active *prometheus.Desc
}

var _ prometheus.Collector = (*exposition)(nil)

// metricsHandler serves the books under the prefix, and what the Go runtime and
// the operating system say of this process.
func metricsHandler(prefix string, read func() tally) (http.Handler, error) {
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
	out <- prometheus.MustNewConstMetric(e.started, prometheus.CounterValue, float64(t.started))
	for _, f := range finishes() {
		out <- prometheus.MustNewConstMetric(e.finished, prometheus.CounterValue, float64(t.finished[f]), string(f))
	}
	out <- prometheus.MustNewConstMetric(e.active, prometheus.GaugeValue, float64(t.active))
}
