//go:build !race

// The tests of this file compute over hundreds of thousands of values and start no goroutine.

package load

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/internal/record/bundle"
)

// someValues returns a histogram with n values of a seed.
func someValues(t *testing.T, seed uint64, n int) *hdrhistogram.Histogram {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not for secrets
	h := newHistogram()
	for range n {
		if err := h.RecordValue(random.Int64N(1 << (1 + random.IntN(31)))); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestASparseHistogramHasTheValuesOfTheLibrary(t *testing.T) {
	for n := range 60 {
		h, other := someValues(t, uint64(n), n), someValues(t, uint64(n)+1000, 3*n)
		a, b := sparseOf(h), sparseOf(other)
		if got, want := a.latency(), latencyOf(h); got != want {
			t.Fatalf("%d values are %+v, want %+v", n, got, want)
		}
		if dropped := h.Merge(other); dropped != 0 {
			t.Fatalf("%d dropped", dropped)
		}
		if got, want := a.plus(b).latency(), latencyOf(h); got != want {
			t.Fatalf("%d values with others are %+v, want %+v", n, got, want)
		}
	}
}

func TestALongRunHasAtMostSixHundredMoments(t *testing.T) {
	for _, seconds := range []int{1, 2, 599, 600, 601, 602, 1200, 1201, 3601, 12 * 3600} {
		var line timeline
		whole := newHistogram()
		var sum bundle.LoadMoment
		for n := range seconds {
			m := bundle.LoadMoment{FromMS: int64(n) * 1000, ToMS: int64(n+1) * 1000, Due: 3, Begun: int64(n % 5), Open: int64(n), Warmup: n < 2}
			m.Outcomes[bundle.StreamKilled] = int64(n % 3)
			var values timedValues
			if n%50 == 0 {
				h := someValues(t, uint64(n), 40) //nolint:gosec // not negative
				values[1] = sparseOf(h)
				whole.Merge(h)
			}
			line.add(m, values)
			sum.Due, sum.Begun = sum.Due+m.Due, sum.Begun+m.Begun
			sum.Outcomes.Add(m.Outcomes, bundle.StreamOutcomes{})
		}
		all := line.report()
		if len(all) > mostMoments || seconds >= mostMoments && len(all) < mostMoments/2 || seconds <= mostMoments && len(all) != seconds {
			t.Fatalf("%d seconds are %d moments", seconds, len(all))
		}
		at, each := int64(0), all[0].ToMS
		var got bundle.LoadMoment
		for i, m := range all {
			if m.FromMS != at || m.ToMS-m.FromMS > each || i < len(all)-1 && m.ToMS-m.FromMS != each {
				t.Fatalf("%d seconds: moment %d is from %d to %d, want %d ms from %d", seconds, i, m.FromMS, m.ToMS, each, at)
			}
			at = m.ToMS
			if m.Open != m.ToMS/1000-1 || m.Warmup != (i == 0 || i == 1 && each == 1000) {
				t.Fatalf("%d seconds: moment %d is %+v", seconds, i, m)
			}
			got.Due, got.Begun = got.Due+m.Due, got.Begun+m.Begun
			got.Outcomes.Add(m.Outcomes, bundle.StreamOutcomes{})
		}
		if at != int64(seconds)*1000 || got.Due != sum.Due || got.Begun != sum.Begun || got.Outcomes != sum.Outcomes {
			t.Fatalf("%d seconds: until %d ms, %+v, want %+v", seconds, at, got, sum)
		}
		values, size := newHistogram(), 0
		for i := range line.moments {
			for c := line.moments[i].values[1].first(); c.ok; c.next() {
				if err := values.RecordValues(valueOf(c.cell), c.n); err != nil {
					t.Fatal(err)
				}
			}
			size += len(line.moments[i].values[1])
		}
		if !values.Equals(whole) {
			t.Errorf("%d seconds: %+v, want %+v", seconds, latencyOf(values), latencyOf(whole))
		}
		if size > 200<<10 {
			t.Errorf("%d seconds with 40 values in each fiftieth take %d bytes", seconds, size)
		}
	}
}

func TestWhatThePlanWantsToBegin(t *testing.T) {
	second := time.Second
	type call struct {
		now          time.Duration
		begun, ended int64
		over         bool
		due          int64
	}
	for name, tt := range map[string]struct {
		plan  Plan
		calls []call
	}{
		"the open model": {Plan{Schedule: Schedule{Rate: 10, Duration: 2500 * time.Millisecond}},
			[]call{{second, 9, 3, false, 10}, {2 * second, 8, 9, false, 10}, {3 * second, 8, 3, false, 5}, {4 * second, 0, 5, false, 0}}},
		"a rate with a count": {Plan{Schedule: Schedule{Rate: 10, Count: 15}}, []call{{second, 10, 0, false, 10}, {2 * second, 5, 0, false, 5}, {3 * second, 0, 5, false, 0}}},
		"the closed model": {Plan{Schedule: Schedule{Streams: 10, Ramp: 2 * second, Duration: 3 * second}},
			[]call{{second, 5, 0, false, 5}, {2 * second, 7, 2, false, 7}, {3 * second, 4, 14, false, 4}, {4 * second, 0, 9, false, 0}}},
		"places that stay empty":    {Plan{Schedule: Schedule{Streams: 10, Duration: 9 * second}}, []call{{second, 10, 10, false, 20}, {2 * second, 2, 2, false, 2}}},
		"a count of a closed model": {Plan{Schedule: Schedule{Streams: 2, Count: 5}}, []call{{second, 4, 2, false, 4}, {2 * second, 1, 3, false, 1}}},
		"an interrupt":              {Plan{Schedule: Schedule{Streams: 2, Duration: 9 * second}}, []call{{second, 2, 2, true, 2}, {2 * second, 0, 7, true, 0}}},
	} {
		c := newCalendar(&tt.plan)
		for i, one := range tt.calls {
			if got := c.until(one.now, one.begun, one.ended, one.over); got != one.due {
				t.Errorf("%s, second %d: %d are due, want %d", name, i, got, one.due)
			}
		}
	}
}

func TestACurveRisesToTheLargestValue(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 100, 187, 100_000} {
		h := newHistogram()
		for v := range n {
			if err := h.RecordValue(int64(v) + 1); err != nil {
				t.Fatal(err)
			}
		}
		points := sparseOf(h).curve()
		if len(points) < 2 || len(points) > 60 || points[0].Quantile != 0 || points[len(points)-1].Quantile != 1 {
			t.Fatalf("%d values: %v", n, points)
		}
		for i, p := range points {
			if want := quantile(h, p.Quantile).Microseconds(); p.Value != want {
				t.Errorf("%d values: %d µs at %g, want %d", n, p.Value, p.Quantile, want)
			}
			if i > 0 && (p.Quantile <= points[i-1].Quantile || p.Value < points[i-1].Value) {
				t.Errorf("%d values: %v after %v", n, p, points[i-1])
			}
		}
		if last := points[len(points)-2]; n > 1 && last.Value == points[len(points)-1].Value && n < 1000 {
			t.Errorf("%d values: the largest one is at %g already", n, last.Quantile)
		}
	}
	var most sparse
	for cell := range 1000 {
		most = most.with(min(cell, 1), 1<<40)
	}
	if n := len(most.curve()); n > 60 {
		t.Errorf("%d points", n)
	}
	if points := (sparse)(nil).curve(); points != nil {
		t.Errorf("no values are %v", points)
	}
}
