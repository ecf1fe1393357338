package load

import (
	"testing"
	"time"
)

func TestClassesAreDealtByTheirShares(t *testing.T) {
	for name, shares := range map[string][]float64{
		"nine to one":      {9, 1},
		"one class":        {3},
		"three in percent": {70, 25, 5},
		"halves":           {0.5, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			all := 0.0
			p := Plan{Schedule: Schedule{Seed: 42}}
			for _, s := range shares {
				p.Classes = append(p.Classes, Class{Share: s})
				all += s
			}
			got := make([]int, len(shares))
			for n := range int64(1000) {
				got[p.Stream(n).Class]++
				for i, s := range shares {
					// The discrepancy of the golden sequence is below 3 for all prefixes up to this length.
					if want := s / all * float64(n+1); float64(got[i]) < want-3 || float64(got[i]) > want+3 {
						t.Fatalf("after %d streams %d are of class %d, want about %.1f", n+1, got[i], i, want)
					}
				}
			}
		})
	}
}

func TestPartsAreDrawnByTheirShares(t *testing.T) {
	p := Plan{Schedule: Schedule{Seed: 7}, Classes: []Class{{Share: 1, KillShare: 0.3, DisconnectShare: 0.2, Within: time.Second, Hold: 5 * time.Second}}}
	var kills, disconnects, holds int
	var late time.Duration
	const n = 20000
	for i := range int64(n) {
		part := p.Stream(i)
		if part != p.Stream(i) {
			t.Fatal("the same stream has another part")
		}
		late = max(late, part.After)
		switch {
		case part.Kill && part.Disconnect:
			t.Fatal("both")
		case part.Disconnect:
			disconnects++
		case part.Kill && part.After == 5*time.Second:
			holds++
		case part.Kill && part.After < time.Second:
			kills++
		default:
			t.Fatalf("%+v", part)
		}
	}
	// The margin is six standard deviations of a binomial distribution.
	for name, c := range map[string][2]int{"kills": {kills, 6000}, "disconnects": {disconnects, 4000}, "holds": {holds, 10000}} {
		if c[0] < c[1]-430 || c[0] > c[1]+430 {
			t.Errorf("%s: %d, want about %d", name, c[0], c[1])
		}
	}
	if q := (&Plan{Schedule: Schedule{Seed: 8}, Classes: p.Classes}); q.Stream(0) == p.Stream(0) && q.Stream(1) == p.Stream(1) && q.Stream(2) == p.Stream(2) {
		t.Error("another seed draws the same")
	}
}

func TestAPartAllocatesNothing(t *testing.T) {
	p := Plan{Schedule: Schedule{Seed: 7}, Classes: []Class{{Share: 1, KillShare: 0.3, Within: time.Second}, {Share: 2}}}
	n := int64(0)
	if got := testing.AllocsPerRun(100, func() { p.Stream(n); n++ }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// recorded is a sink that keeps the values.
type recorded struct {
	nowhere

	values map[Metric][]time.Duration
}

func (r *recorded) Record(_, _ int, m Metric, d time.Duration) {
	r.values[m] = append(r.values[m], d)
}

func TestAGapIsCorrectedForWhatItHides(t *testing.T) {
	for name, tt := range map[string]struct {
		interval, gap time.Duration
		want          []time.Duration
	}{
		"no interval":        {0, time.Second, nil},
		"as expected":        {time.Second, time.Second, []time.Duration{time.Second}},
		"nearly two":         {time.Second, 1900 * time.Millisecond, []time.Duration{1900 * time.Millisecond}},
		"three and a half":   {time.Second, 3500 * time.Millisecond, []time.Duration{3500 * time.Millisecond, 2500 * time.Millisecond, 1500 * time.Millisecond}},
		"earlier than usual": {time.Second, time.Millisecond, []time.Duration{time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorded{values: map[Metric][]time.Duration{}}
			c := Class{Interval: tt.interval}
			c.RecordGap(r, 0, 0, tt.gap)
			if got := r.values[Gap]; len(got) != 1 || got[0] != tt.gap {
				t.Errorf("gap: %v", got)
			}
			got := r.values[GapCorrected]
			if len(got) != len(tt.want) {
				t.Fatalf("corrected: %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("corrected: %v, want %v", got, tt.want)
				}
			}
		})
	}
}
