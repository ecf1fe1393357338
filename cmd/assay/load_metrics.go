package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay/internal/base/crash"
	"assay/internal/record/bundle"
)

// loadMetrics serves the progress of a run as Prometheus metrics of the driver:
//
//	assay_load_streams_open                      gauge
//	assay_load_streams_started_total             counter
//	assay_load_streams_ended_total{outcome}      counter
//	assay_load_first_event_seconds{quantile}     gauge, of the last second; so are
//	assay_load_gap_seconds{quantile} and assay_load_driver_lag_seconds{quantile}
//	process_*, go_*                              this process
type loadMetrics struct {
	progress *loadProgress
	server   *http.Server
	ended    chan struct{}
}

// serveLoadMetrics listens on an address; end stops it.
func serveLoadMetrics(ctx context.Context, io stdio, addr string, p *loadProgress) (m *loadMetrics, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, usage(fmt.Errorf("--metrics-listen: %w; want HOST:PORT, for example 127.0.0.1:9090", err))
	}
	m = &loadMetrics{progress: p, ended: make(chan struct{})}
	all := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := all.Register(c); err != nil {
			return nil, errors.Join(defect(err), l.Close())
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	crash.Go(func() {
		defer close(m.ended)
		_ = m.server.Serve(l) // ends by end
	})
	io.notef("metrics of the driver: http://%s/metrics\n", l.Addr())
	return m, nil
}

// end stops the server.
func (m *loadMetrics) end() {
	_ = m.server.Close()
	<-m.ended
}

// Describe sends no description, so that the collector is unchecked.
func (m *loadMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the last second.
func (m *loadMetrics) Collect(to chan<- prometheus.Metric) {
	t := m.progress.seen()
	one := func(name, help string, typ prometheus.ValueType, value float64, label, of string) {
		var labels, values []string
		if label != "" {
			labels, values = []string{label}, []string{of}
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("assay_load_"+name, help, labels, nil), typ, value, values...)
	}
	one("streams_open", "Streams between their start event and their end.", prometheus.GaugeValue, float64(t.Open), "", "")
	one("streams_started_total", "Streams that had a start event.", prometheus.CounterValue, float64(t.Started), "", "")
	for o, n := range t.Outcomes.All() {
		one("streams_ended_total", "Streams that ended, by outcome.", prometheus.CounterValue, float64(n), "outcome", o.String())
	}
	for _, l := range []struct {
		name, help string
		bundle.Latency
	}{
		{"first_event_seconds", "From the intended start to the start event, in the last second.", t.FirstEvent},
		{"gap_seconds", "Between two events of a stream, in the last second.", t.Gap},
		{"driver_lag_seconds", "The driver's own delay, in the last second.", t.DriverLag},
	} {
		if l.Count == 0 {
			continue
		}
		one(l.name, l.help, prometheus.GaugeValue, float64(l.P50)/1e6, "quantile", "0.5")
		one(l.name, l.help, prometheus.GaugeValue, float64(l.P99)/1e6, "quantile", "0.99")
	}
}
