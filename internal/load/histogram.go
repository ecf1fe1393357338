package load

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/bundle"
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

// cells is one distribution that any number of goroutines record into without a
// lock: a counter for each value that the histogram's precision tells apart. They
// are laid out as in a histogram of HdrHistogram: 2,048 steps of 1 µs, then 1,024
// steps of twice the size each time.
type cells [numCells]atomic.Uint32

const (
	halfBits  = 10 // 1,024 steps in half a bucket: three digits
	numCells  = (highestBucket + 2) << halfBits
	cellsMask = 1<<halfBits - 1
	// highestBucket is the bucket of the highest value: 2,048 << 21 is more than an hour.
	highestBucket = 21
)

// cellOf is the cell of a value in range.
func cellOf(v int64) int {
	u := uint64(v) //nolint:gosec // in range
	bucket := bits.Len64(u|cellsMask<<1|1) - halfBits - 1
	return bucket<<halfBits + int(u>>bucket) //nolint:gosec // below 2,048
}

// valueOf is the lowest value of a cell.
func valueOf(cell int) int64 {
	bucket := max(cell>>halfBits-1, 0)
	return int64(cell-bucket<<halfBits) << bucket
}

// drain moves what was counted into a histogram, and returns how many values that
// would not take: a defect unless 0. A value that is recorded meanwhile is moved
// now or the next time, and never lost.
func (c *cells) drain(into *hdrhistogram.Histogram) (dropped int64) {
	for i := range c {
		if c[i].Load() == 0 {
			continue
		}
		n := int64(c[i].Swap(0))
		if into.RecordValues(valueOf(i), n) != nil {
			dropped += n
		}
	}
	return dropped
}

// set is a distribution for each metric, of one class of streams.
type set [numMetrics]cells

// shard is what some of the workers measured: there are several so that workers on
// different processors do not write to the same memory. The set that is recorded
// into is exchanged once a second, and the other one is drained meanwhile.
type shard struct {
	live    atomic.Pointer[[]set] // by class
	idle    *[]set                // of merge
	clamped atomic.Int64          // values that were out of range, and count as the nearest in range
	events  atomic.Int64
	bytes   atomic.Int64
	_       [64]byte // shards do not share a cache line
}

// record adds a value of a class. One that is out of range is clamped and counted, never lost.
func (s *shard) record(class int, m Metric, d time.Duration) {
	v := int64(d / time.Microsecond)
	if v < 0 {
		v = 0
		s.clamped.Add(1)
	} else if v > highest {
		v = highest
		s.clamped.Add(1)
	}
	(*s.live.Load())[class][m][cellOf(v)].Add(1)
}

func (s *shard) output(events, bytes int) {
	s.events.Add(int64(events))
	s.bytes.Add(int64(bytes))
}

// exchange swaps the sets and returns the one that is not recorded into any more,
// but for values on their way, which are found in it the next time.
func (s *shard) exchange() []set {
	s.idle = s.live.Swap(s.idle)
	return *s.idle
}

// metricSet is a histogram for each metric.
type metricSet [numMetrics]*hdrhistogram.Histogram

func newSet() *metricSet {
	var all metricSet
	for m := range all {
		all[m] = newHistogram()
	}
	return &all
}

// clear forgets what was recorded.
func (s *metricSet) clear() {
	for _, h := range s {
		if h.TotalCount() > 0 {
			h.Reset()
		}
	}
}

// merge adds what another one holds, and returns how many values that would not take.
func (s *metricSet) merge(other *metricSet) (dropped int64) {
	for m, h := range other {
		if h.TotalCount() > 0 {
			dropped += s[m].Merge(h)
		}
	}
	return dropped
}

// samples is what was recorded of some streams: in the last interval, and in the whole run.
type samples struct{ interval, total *metricSet }

func newSamples() samples { return samples{newSet(), newSet()} }

// histograms is all measured values. merge and what it fills are for one goroutine.
type histograms struct {
	samples // of all streams
	shards  []shard
	// classes is the same of each class; nil when there is one.
	classes []samples
	dropped int64 // values that a merge could not take; a defect unless 0

	mu     sync.Mutex
	others []measuredElsewhere // to be merged
}

// measuredElsewhere is what another process has measured.
type measuredElsewhere struct {
	class  int
	metric Metric
	values *hdrhistogram.Histogram
}

// add takes in what another process has measured of a class, which must be there.
func (h *histograms) add(class int, m Metric, values *hdrhistogram.Histogram) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.others = append(h.others, measuredElsewhere{class, m, values})
}

// newHistograms is for a number of classes of streams, at least 1.
func newHistograms(shards, classes int) *histograms {
	h := &histograms{samples: newSamples(), shards: make([]shard, shards)}
	for i := range h.shards {
		live, idle := make([]set, classes), make([]set, classes)
		h.shards[i].live.Store(&live)
		h.shards[i].idle = &idle
	}
	if classes > 1 {
		h.classes = make([]samples, classes)
		for c := range h.classes {
			h.classes[c] = newSamples()
		}
	}
	return h
}

// of is what the last interval has of a class: of all streams when there is one.
func (h *histograms) of(class int) *metricSet {
	if h.classes == nil {
		return h.interval
	}
	return h.classes[class].interval
}

// merge ends an interval: interval holds what was recorded since the last call.
func (h *histograms) merge() { h.collect(1) }

// last ends the last interval, when nobody records any more: both sets are drained.
func (h *histograms) last() { h.collect(2) }

func (h *histograms) collect(times int) {
	h.interval.clear()
	for _, c := range h.classes {
		c.interval.clear()
	}
	for i := range times * len(h.shards) {
		sets := h.shards[i%len(h.shards)].exchange()
		for class := range sets {
			into := h.of(class)
			for m := range into {
				h.dropped += sets[class][m].drain(into[m])
			}
		}
	}
	h.mu.Lock()
	others := h.others
	h.others = nil
	h.mu.Unlock()
	for _, o := range others {
		h.dropped += h.of(o.class)[o.metric].Merge(o.values)
	}
	for _, c := range h.classes {
		h.dropped += c.total.merge(c.interval)
		h.dropped += h.interval.merge(c.interval)
	}
	h.dropped += h.total.merge(h.interval)
}

// counts are the events and bytes of output, and the clamped values, so far.
func (h *histograms) counts() (events, bytes, clamped int64) {
	for i := range h.shards {
		s := &h.shards[i]
		events += s.events.Load()
		bytes += s.bytes.Load()
		clamped += s.clamped.Load()
	}
	return events, bytes, clamped
}

// latencyOf reads a distribution out of a histogram.
func latencyOf(h *hdrhistogram.Histogram) bundle.Latency {
	if h.TotalCount() == 0 {
		return bundle.Latency{}
	}
	at := func(q float64) int64 { return quantile(h, q).Microseconds() }
	return bundle.Latency{Count: h.TotalCount(), P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: h.Max()}
}
