package load

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

func TestQuantilesCountFromZeroToOne(t *testing.T) {
	h := newHistogram()
	for v := int64(1); v <= 1000; v++ {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	for q, want := range map[float64]int64{0.5: 500, 0.9: 900, 0.99: 990, 0.999: 999, 1: 1000} {
		if got := quantile(h, q).Microseconds(); got < want-2 || got > want+2 {
			t.Errorf("%v is at %dµs, want %dµs", q, got, want)
		}
	}
	if l := latencyOf(h); l.Count != 1000 || l.Max != 1000 || l.P50 < 498 || l.P50 > 502 {
		t.Errorf("got %+v", l)
	}
	if l := latencyOf(newHistogram()); l != (bundle.Latency{}) {
		t.Errorf("no samples are %+v", l)
	}
}

// The expected values come from sorted slices of distinct values that the histogram tells apart.
func TestQuantilesOfFewValuesAreNeverTooSmall(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 9, 10, 11, 19, 20, 49, 50, 51, 99, 100, 101, 187, 199, 200, 201, 999, 1000, 1001, 1999} {
		h := newHistogram()
		var all []int64
		for v := int64(n); v > 0; v-- {
			all = append(all, v)
			if err := h.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		payload, err := h.EncodeV2()
		if err != nil {
			t.Fatal(err)
		}
		stored, err := decodeHistogram(string(payload))
		if err != nil {
			t.Fatal(err)
		}
		for _, perMille := range []int{0, 500, 750, 900, 950, 990, 995, 999, 1000} {
			want := all[max((n*perMille+999)/1000, 1)-1]
			for name, from := range map[string]*hdrhistogram.Histogram{"live": h, "stored": stored} {
				if got := quantile(from, float64(perMille)/1000).Microseconds(); got != want {
					t.Errorf("%s: of %d values, %d is at %g, want %d", name, n, got, float64(perMille)/1000, want)
				}
			}
		}
		live, read := latencyOf(h), latencyOf(stored)
		if live != read || live.P99 != all[max((n*99+99)/100, 1)-1] || live.Max != int64(n) {
			t.Errorf("of %d values: %+v live, %+v stored", n, live, read)
		}
	}
}

func TestTheRankOfAQuantileRoundsUp(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		n    int64
		want int64
	}{
		{0.99, 187, 186}, {0.99, 100, 99}, {0.99, 101, 100}, {0.5, 1, 1}, {0.5, 3, 2}, {0.9, 10, 9}, {0.999, 1000, 999},
		{0.999, 1_000_000_000, 999_000_000}, {0.07, 100, 7}, {0, 5, 1}, {1, 5, 5}, {0.999999, 10, 10}, {0.95, 20, 19}, {0.99, 700, 693},
	} {
		if got := rankOf(tt.q, tt.n); got != tt.want {
			t.Errorf("%g of %d values is number %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}

func TestValuesOutOfRangeAreClampedAndCounted(t *testing.T) {
	h := newHistograms(1, 1)
	for _, d := range []time.Duration{-time.Second, 0, time.Nanosecond, time.Microsecond, time.Hour, time.Hour + time.Microsecond, 100 * time.Hour} {
		h.shards[0].record(0, Gap, d)
	}
	h.merge()
	if n := h.total[Gap].TotalCount(); n != 7 {
		t.Errorf("%d values are there, want all 7", n)
	}
	if _, _, clamped := h.counts(); clamped != 3 {
		t.Errorf("%d were clamped, want 3", clamped)
	}
	if h.dropped != 0 {
		t.Errorf("%d were dropped", h.dropped)
	}
}

// Every value goes into the cell that the library's histogram has for it.
func TestCellsAreThoseOfTheLibrary(t *testing.T) {
	h := newHistogram()
	last := cellOf(highest)
	for cell := range last {
		low, high := valueOf(cell), valueOf(cell+1)-1
		if cellOf(low) != cell || cellOf(high) != cell {
			t.Fatalf("cell %d is from %d to %d, which are in the cells %d and %d", cell, low, high, cellOf(low), cellOf(high))
		}
		for _, v := range []int64{low, high} { // each cell has another count
			if err := h.RecordValues(v, int64(cell)+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for cell, n := range h.Export().Counts[:last] {
		if want := 2 * (int64(cell) + 1); n != want {
			t.Fatalf("cell %d counts %d values in the library, and %d here", cell, n, want)
		}
	}
	for v, before := int64(0), 0; v <= highest; v += 1 + v/700 {
		cell := cellOf(v)
		if cell < before || cell >= numCells || v < valueOf(cell) || v >= valueOf(cell+1) {
			t.Fatalf("%d is in cell %d, after %d", v, cell, before)
		}
		before = cell
	}
}

func TestAValueOnItsWayIsFoundTheNextTime(t *testing.T) {
	h := newHistograms(1, 1)
	late := h.shards[0].live.Load() // a worker is about to record here
	h.merge()
	(*late)[0][Gap].add(cellOf(5))
	h.merge()
	h.merge()
	if n := h.total[Gap].TotalCount(); n != 1 {
		t.Errorf("it was found %d times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := newHistograms(2, 1)
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			h.shards[n&1].record(0, Gap, time.Duration(n)*time.Microsecond)
		}
	})
}

func TestNothingIsLostWhileShardsAreMerged(t *testing.T) {
	h := newHistograms(2, 1)
	const each = 20000
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range each {
				h.shards[w%2].record(0, FirstEvent, time.Duration(i)*time.Microsecond)
				h.shards[w%2].output(1, 3)
			}
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	var merged int64
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if running {
			h.merge()
		} else {
			h.last()
		}
		merged += h.interval[FirstEvent].TotalCount()
	}
	if merged != 4*each || h.total[FirstEvent].TotalCount() != 4*each {
		t.Errorf("%d in intervals and %d in all, want %d", merged, h.total[FirstEvent].TotalCount(), 4*each)
	}
	if events, n, _ := h.counts(); events != 4*each || n != 12*each {
		t.Errorf("%d events with %d bytes", events, n)
	}
}

func TestClassesAreMeasuredApartAndTogether(t *testing.T) {
	h := newHistograms(2, 3)
	h.shards[0].record(0, Gap, 10*time.Microsecond)
	h.shards[1].record(2, Gap, 30*time.Microsecond)
	h.merge()
	if all, first, second, third := h.interval[Gap], h.of(0)[Gap], h.of(1)[Gap], h.of(2)[Gap]; all.TotalCount() != 2 || first.Max() != 10 || second.TotalCount() != 0 || third.Max() != 30 {
		t.Errorf("%d in all, up to %d of the first, %d of the second, up to %d of the third", all.TotalCount(), first.Max(), second.TotalCount(), third.Max())
	}
	elsewhere := newHistogram()
	_ = elsewhere.RecordValue(50)
	h.add(2, Gap, elsewhere)
	h.shards[0].record(2, Gap, 40*time.Microsecond)
	h.last()
	if all, third := h.interval[Gap].TotalCount(), h.of(2)[Gap].TotalCount(); all != 2 || third != 2 {
		t.Errorf("%d in all and %d of the third in the second interval, want 2 and 2", all, third)
	}
	if all, third := h.total[Gap].TotalCount(), h.classes[2].total[Gap].TotalCount(); all != 4 || third != 3 || h.dropped != 0 {
		t.Errorf("%d in all and %d of the third in the run, want 4 and 3; %d dropped", all, third, h.dropped)
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	c := newCollector(2, oneClass())
	if n := testing.AllocsPerRun(1000, func() {
		c.Record(7, 0, Gap, time.Second)
		c.Output(7, 1, 2)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTheLogIsReadBackByTheLibrary(t *testing.T) {
	dir := t.TempDir()
	base := time.Date(2026, 1, 2, 3, 4, 5, 250e6, time.UTC)
	f, err := createFolder(filepath.Join(dir, "run"), base)
	if err != nil {
		t.Fatal(err)
	}
	set := newSet()
	for _, v := range []int64{1000, 2000, 3000} {
		_ = set[FirstEvent].RecordValue(v)
	}
	_ = set[StartLag].RecordValue(5)
	f.interval("", set, base.Add(time.Second), time.Second)
	if err := f.finish(&bundle.LoadReport{Schema: bundle.LoadSchema}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run", hlogFile))
	if err != nil {
		t.Fatal(err)
	}
	r := hdrhistogram.NewHistogramLogReader(bytes.NewReader(text))
	first, err := r.NextIntervalHistogram()
	if err != nil || first == nil {
		t.Fatalf("no interval: %v\n%s", err, text)
	}
	if first.Tag() != "first_event" || first.TotalCount() != 3 || first.Max() < 3000 || first.Max() > 3001 {
		t.Errorf("the first is %s with %d values up to %d", first.Tag(), first.TotalCount(), first.Max())
	}
	if got := first.StartTimeMs(); got != base.Add(time.Second).UnixMilli() {
		t.Errorf("it starts at %d, want %d", got, base.Add(time.Second).UnixMilli())
	}
	second, err := r.NextIntervalHistogram()
	if err != nil || second == nil || second.Tag() != "start_lag" {
		t.Errorf("the second is %v, %v", second, err)
	}
	if !strings.Contains(string(text), ",3.000,") && !strings.Contains(string(text), ",3.001,") {
		t.Errorf("the largest value is not in milliseconds:\n%s", text)
	}
}

func TestAFolderThatIsNotOursIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keep"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := createFolder(dir, time.Now()); err == nil || !strings.Contains(err.Error(), "keep") {
		t.Errorf("%v, want a refusal that names what is there", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "keep")); err != nil || string(text) != "mine" {
		t.Errorf("it was changed: %q, %v", text, err)
	}
	ours := filepath.Join(dir, "ours")
	for range 2 { // the second time, the folder has an older run
		f, err := createFolder(ours, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		f.scrape("before", []byte("x 1\n"))
		if err := f.finish(&bundle.LoadReport{Schema: bundle.LoadSchema}); err != nil {
			t.Fatal(err)
		}
	}
	var none *folder // a nil folder is a no-op
	none.scrape("x", nil)
	none.interval("", nil, time.Time{}, 0)
	if err := none.finish(nil); err != nil {
		t.Error(err)
	}
}
