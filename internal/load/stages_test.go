package load

import (
	"math"
	"testing"
	"time"
)

func TestStagesBendTheRate(t *testing.T) {
	up := Stage{Duration: 10 * time.Second, From: 0, To: 100}
	flat := Stage{Duration: 10 * time.Second, From: 100, To: 100}
	down := Stage{Duration: 10 * time.Second, From: 100, To: 0}
	tests := map[string]struct {
		stages []Stage
		n      int
		want   time.Duration
		ok     bool
	}{
		"the first starts at once":              {[]Stage{flat}, 0, 0, true},
		"a constant rate is even":               {[]Stage{flat}, 250, 2500 * time.Millisecond, true},
		"a ramp from 0 starts at once":          {[]Stage{up}, 0, 0, true},
		"half of the ramp, a quarter started":   {[]Stage{up}, 125, 5 * time.Second, true},
		"the second stage follows the first":    {[]Stage{up, flat}, 600, 11 * time.Second, true},
		"down, three quarters in half the time": {[]Stage{down}, 375, 5 * time.Second, true},
		"after the last stage nothing starts":   {[]Stage{up, flat}, 1500, 0, false},
		"nothing starts in a pause":             {[]Stage{flat, {Duration: time.Second}, flat}, 1000, 11 * time.Second, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			at, ok := StagePacer{tt.stages}.At(tt.n)
			if ok != tt.ok || (at-tt.want).Abs() > time.Microsecond {
				t.Errorf("%v %v, want %v %v", at, ok, tt.want, tt.ok)
			}
		})
	}
	if n := (StagePacer{[]Stage{up, flat, down}}).Before(15 * time.Second); n != 1000 {
		t.Errorf("%d before 15 s, want 500 of the ramp and 500 after it", n)
	}
	if n := (StagePacer{[]Stage{up, flat, down}}).Before(time.Hour); n != 2000 {
		t.Errorf("%d in all, want 2000", n)
	}
}

// The mean of N exponential gaps of mean m is m within 6·m/√N, and the share of those
// above m is 1/e within 6·√(0.24/N). The probability of a miss is below 1e-8.
func TestPoissonStartsAreIndependent(t *testing.T) {
	const n = 20000
	p := Plan{Schedule: Schedule{Rate: 1000, Duration: time.Hour, Poisson: true, Seed: 3}}
	pacer := p.Pacer()
	last, above := time.Duration(0), 0
	for i := range n {
		at, ok := pacer.At(i)
		if !ok || at < last {
			t.Fatalf("stream %d at %v after %v", i, at, last)
		}
		if at-last > time.Millisecond {
			above++
		}
		last = at
	}
	if mean := last.Seconds() / n; math.Abs(mean-0.001) > 0.001*6/math.Sqrt(n) {
		t.Errorf("the mean gap is %v s, want 1 ms", mean)
	}
	if share := float64(above) / n; math.Abs(share-1/math.E) > 6*math.Sqrt(0.24/n) {
		t.Errorf("%v of the gaps are above the mean, want 1/e", share)
	}
}

func TestPoissonRepeatsBySeed(t *testing.T) {
	p := Plan{Schedule: Schedule{Stages: []Stage{{Duration: 10 * time.Second, From: 10, To: 100}}, Poisson: true, Seed: 3}}
	q := p
	q.Seed = 4
	a, b, c := p.Pacer(), p.Pacer(), q.Pacer()
	late, _ := b.At(400) // out of order
	differs := false
	for n := range 401 {
		x, _ := a.At(n)
		y, _ := b.At(n)
		z, _ := c.At(n)
		if x != y {
			t.Fatalf("stream %d at %v and at %v", n, x, y)
		}
		differs = differs || x != z
	}
	if x, _ := a.At(400); x != late {
		t.Errorf("out of order: %v, in order: %v", late, x)
	}
	if !differs {
		t.Error("another seed gives the same times")
	}
	if n, m := a.Before(10*time.Second), b.Before(time.Hour); n != m || n < 400 || n > 700 {
		t.Errorf("%d and %d before the end, want about 550", n, m)
	}
}

func TestManyPoissonStartsAreCountedByTheirMean(t *testing.T) {
	year := Plan{Schedule: Schedule{Rate: 1e6, Duration: 365 * 24 * time.Hour, Poisson: true}}
	if n := year.Wanted(); n != 365*24*3600*1e6 {
		t.Errorf("%d starts in a year, want 31536000000000", n)
	}
}
