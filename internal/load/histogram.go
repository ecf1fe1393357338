package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of the histograms in microseconds, and their precision. 1 µs to 1 h
// with three digits takes 188 KB each.
const (
	lowest  = 1
	highest = int64(time.Hour / time.Microsecond)
	digits  = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, digits) }

// quantile is the value at q, from 0 to 1. It is the one place that knows that
// the library counts from 0 to 100.
func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	v := h.ValueAtQuantile(q * 100) //nolint:forbidigo // this is the one wrapper
	return time.Duration(v) * time.Microsecond
}

// shard is the histograms of some of the workers. Recording takes a lock that is
// rarely contended; once a second the histograms are exchanged for empty ones, so
// that nobody waits while they are merged.
type shard struct {
	mu      sync.Mutex
	live    *[numMetrics]*hdrhistogram.Histogram
	spare   *[numMetrics]*hdrhistogram.Histogram
	clamped int64 // values that were out of range, and count as the nearest in range
	events  int64
	bytes   int64
	_       [64]byte // shards do not share a cache line
}

func newSet() *[numMetrics]*hdrhistogram.Histogram {
	var set [numMetrics]*hdrhistogram.Histogram
	for m := range set {
		set[m] = newHistogram()
	}
	return &set
}

// record adds a value. One that is out of range is clamped and counted, never lost.
func (s *shard) record(m Metric, d time.Duration) {
	v := int64(d / time.Microsecond)
	clamped := false
	if v < 0 {
		v, clamped = 0, true
	} else if v > highest {
		v, clamped = highest, true
	}
	s.mu.Lock()
	if err := s.live[m].RecordValue(v); err != nil || clamped {
		s.clamped++
	}
	s.mu.Unlock()
}

func (s *shard) output(events, bytes int) {
	s.mu.Lock()
	s.events += int64(events)
	s.bytes += int64(bytes)
	s.mu.Unlock()
}

// exchange takes the histograms out and puts empty ones in. What it returns is the
// caller's until the next call.
func (s *shard) exchange() *[numMetrics]*hdrhistogram.Histogram {
	for _, h := range s.spare {
		h.Reset()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live, s.spare = s.spare, s.live
	return s.spare
}

// histograms is all measured values: of the last interval, and of the whole run.
// merge is called by one goroutine at a time.
type histograms struct {
	shards   []shard
	interval *[numMetrics]*hdrhistogram.Histogram
	total    *[numMetrics]*hdrhistogram.Histogram
	dropped  int64 // values that a merge could not take; a defect unless 0
}

func newHistograms(shards int) *histograms {
	h := &histograms{shards: make([]shard, shards), interval: newSet(), total: newSet()}
	for i := range h.shards {
		h.shards[i].live, h.shards[i].spare = newSet(), newSet()
	}
	return h
}

// merge ends an interval: interval holds what was recorded since the last call.
func (h *histograms) merge() {
	for _, m := range h.interval {
		m.Reset()
	}
	for i := range h.shards {
		for m, part := range h.shards[i].exchange() {
			if part.TotalCount() > 0 {
				h.dropped += h.interval[m].Merge(part)
			}
		}
	}
	for m, part := range h.interval {
		if part.TotalCount() > 0 {
			h.dropped += h.total[m].Merge(part)
		}
	}
}

// counts are the events and bytes of output, and the clamped values, so far.
func (h *histograms) counts() (events, bytes, clamped int64) {
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.Lock()
		events += s.events
		bytes += s.bytes
		clamped += s.clamped
		s.mu.Unlock()
	}
	return events, bytes, clamped
}

// Latency is one distribution, in microseconds.
type Latency struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	Max   int64 `json:"max"`
}

// latencyOf reads a distribution out of a histogram.
func latencyOf(h *hdrhistogram.Histogram) Latency {
	if h.TotalCount() == 0 {
		return Latency{}
	}
	at := func(q float64) int64 { return quantile(h, q).Microseconds() }
	return Latency{Count: h.TotalCount(), P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: h.Max()}
}
