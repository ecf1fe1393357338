package load

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

// The range of the histograms in microseconds, and their precision. 1 µs to 1 h
// with three digits takes 188 KB each.
const (
	lowest  = 1
	highest = int64(time.Hour / time.Microsecond)
	digits  = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, digits) }

// quantile returns the smallest value such that a share of at least q of all values, from
// 0 to 1, is at most that value: of 187 values, the 186th is that at 0.99. q 0 is the smallest
// value. Only quantile calls the library, which counts from 0 to 100, and rounds to the
// nearest rank, here the 185th.
func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	n := h.TotalCount()
	if n == 0 {
		return 0
	}
	v := h.ValueAtQuantile(100 * float64(rankOf(q, n)) / float64(n)) //nolint:forbidigo // this is the one wrapper
	return time.Duration(v) * time.Microsecond
}

// rankOf returns the rank, from 1 to n, of the value at q: q·n, rounded up. An error of the
// last digit of q·n is not rounded up.
func rankOf(q float64, n int64) int64 {
	const exact = 1 - 1e-15
	return min(max(int64(math.Ceil(q*float64(n)*exact)), 1), n)
}

// cells is one distribution that any number of goroutines record into without a
// lock: a counter for each value that the histogram's precision distinguishes. The
// layout is that of HdrHistogram: 2,048 steps of 1 µs, then 1,024 steps of twice the
// size each time. marks has the half buckets that may have counts, so that drain does not
// look at all cells of a distribution that has few values or none.
type cells struct {
	counts [numCells]atomic.Uint32
	marks  [numCells >> halfBits]atomic.Bool
}

const (
	halfBits  = 10 // 1,024 steps in half a bucket: three digits
	numCells  = (highestBucket + 2) << halfBits
	cellsMask = 1<<halfBits - 1
	// highestBucket is the bucket of the highest value: 2,048 << 21 is more than an hour.
	highestBucket = 21
)

// cellOf returns the cell of a value in range.
func cellOf(v int64) int {
	u := uint64(v) //nolint:gosec // in range
	bucket := bits.Len64(u|cellsMask<<1|1) - halfBits - 1
	return bucket<<halfBits + int(u>>bucket) //nolint:gosec // below 2,048
}

// valueOf returns the lowest value of a cell.
func valueOf(cell int) int64 {
	bucket := max(cell>>halfBits-1, 0)
	return int64(cell-bucket<<halfBits) << bucket
}

// add counts a value of a cell. The mark comes after the count: a drain that takes the mark
// finds the count, and a count behind a drain finds the mark gone and sets it again.
func (c *cells) add(cell int) {
	c.counts[cell].Add(1)
	if mark := &c.marks[cell>>halfBits]; !mark.Load() {
		mark.Store(true)
	}
}

// drain moves the counts into a histogram, and returns how many values the histogram
// refused: a defect unless 0. A value that is recorded meanwhile is moved now or the
// next time, and never lost.
func (c *cells) drain(into *hdrhistogram.Histogram) (dropped int64) {
	for half := range c.marks {
		if !c.marks[half].Load() || !c.marks[half].Swap(false) {
			continue
		}
		for i := half << halfBits; i < (half+1)<<halfBits; i++ {
			if c.counts[i].Load() == 0 {
				continue
			}
			n := int64(c.counts[i].Swap(0))
			if into.RecordValues(valueOf(i), n) != nil {
				dropped += n
			}
		}
	}
	return dropped
}

// set is the distributions of all metrics, for one class of streams.
type set [numMetrics]cells

// shard holds the values of some of the workers. There are several shards, so that workers
// on different processors do not write to the same memory. The live sets and the idle sets
// are exchanged once a second, and the sets that become idle are drained.
type shard struct {
	live    atomic.Pointer[[]set] // by class
	idle    *[]set                // only merge uses it
	clamped atomic.Int64          // values out of range, which count as the nearest in range
	events  atomic.Int64
	bytes   atomic.Int64
	_       [CacheLine]byte // shards do not share a cache line
}

// record adds a value of a class. A value out of range is clamped and counted, never lost.
func (s *shard) record(class int, m Metric, d time.Duration) {
	v := int64(d / time.Microsecond)
	if v < 0 {
		v = 0
		s.clamped.Add(1)
	} else if v > highest {
		v = highest
		s.clamped.Add(1)
	}
	(*s.live.Load())[class][m].add(cellOf(v))
}

func (s *shard) output(events, bytes int) {
	s.events.Add(int64(events))
	s.bytes.Add(int64(bytes))
}

// exchange swaps the sets and returns those that are now idle. A value that a worker is
// just recording may still go into them; the next drain finds it.
func (s *shard) exchange() []set {
	s.idle = s.live.Swap(s.idle)
	return *s.idle
}

// metricSet is the histograms of all metrics.
type metricSet [numMetrics]*hdrhistogram.Histogram

func newSet() *metricSet {
	var all metricSet
	for m := range all {
		all[m] = newHistogram()
	}
	return &all
}

// clear removes all values.
func (s *metricSet) clear() {
	for _, h := range s {
		if h.TotalCount() > 0 {
			h.Reset()
		}
	}
}

// merge adds the values of another set, and returns how many were refused.
func (s *metricSet) merge(other *metricSet) (dropped int64) {
	for m, h := range other {
		if h.TotalCount() > 0 {
			dropped += s[m].Merge(h)
		}
	}
	return dropped
}

// samples is the values of some streams: of the last interval, and of the whole run.
type samples struct{ interval, total *metricSet }

func newSamples() samples { return samples{newSet(), newSet()} }

// histograms is all measured values. Only one goroutine uses merge and the merged values.
type histograms struct {
	samples // of all streams
	shards  []shard
	// classes has the samples of each class; nil when there is only one.
	classes []samples
	dropped int64 // values that a merge refused; a defect unless 0

	mu     sync.Mutex
	others []*metricSet // the values of other processes since the last interval, by class; nil for a class without any
	lost   int64        // of them, in merging
}

// add adds the values of another process for a class, which must exist.
func (h *histograms) add(class int, m Metric, values *hdrhistogram.Histogram) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.others) <= class {
		h.others = append(h.others, nil)
	}
	if h.others[class] == nil {
		h.others[class] = newSet()
	}
	h.lost += h.others[class][m].Merge(values)
}

// newHistograms makes the histograms for a number of classes, at least 1.
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

// of returns the last interval of a class; when there is only one class, that of all
// streams.
func (h *histograms) of(class int) *metricSet {
	if h.classes == nil {
		return h.interval
	}
	return h.classes[class].interval
}

// merge ends an interval: interval then holds the values since the last call.
func (h *histograms) merge() { h.collect(1) }

// last ends the last interval, when nothing records any more: both sets are drained.
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
	for class, o := range h.others {
		if o != nil {
			h.dropped += h.of(class).merge(o)
			o.clear()
		}
	}
	h.dropped, h.lost = h.dropped+h.lost, 0
	h.mu.Unlock()
	for _, c := range h.classes {
		h.dropped += c.total.merge(c.interval)
		h.dropped += h.interval.merge(c.interval)
	}
	h.dropped += h.total.merge(h.interval)
}

// drop counts values of other processes that were lost there.
func (h *histograms) drop(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost += n
}

// counts returns the events and bytes of output, and the clamped values, so far.
func (h *histograms) counts() (events, bytes, clamped int64) {
	for i := range h.shards {
		s := &h.shards[i]
		events += s.events.Load()
		bytes += s.bytes.Load()
		clamped += s.clamped.Load()
	}
	return events, bytes, clamped
}

// latencyOf returns the distribution of a histogram.
func latencyOf(h *hdrhistogram.Histogram) bundle.Latency {
	if h.TotalCount() == 0 {
		return bundle.Latency{}
	}
	at := func(q float64) int64 { return quantile(h, q).Microseconds() }
	return bundle.Latency{Count: h.TotalCount(), P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999), Max: h.Max()}
}
