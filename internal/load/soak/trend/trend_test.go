package trend

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// night is a synthetic soak: n windows of a length, with a value for each.
type night struct {
	n      int
	window time.Duration
	kind   Kind
	unit   string
	value  func(i int, hours float64) float64
}

func (n night) series() Series {
	s := Series{Name: "value", Kind: n.kind, Unit: n.unit, Window: n.window, Warmup: 2 * n.window}
	for i := range n.n {
		at := time.Duration(i+1) * n.window
		s.Points = append(s.Points, Point{At: at, Value: n.value(i, at.Hours()), Ops: float64(i+1) * 1200})
	}
	return s
}

const mib = 1 << 20

// floorOfSamples returns the minima of windows of samples with noise that depends on its predecessor by phi.
func floorOfSamples(r *rand.Rand, windows, samples int, phi, sd float64) []float64 {
	out := make([]float64, windows)
	e := 0.0
	for w := range out {
		out[w] = math.Inf(1)
		for range samples {
			e = phi*e + math.Sqrt(1-phi*phi)*r.NormFloat64()
			out[w] = min(out[w], sd*e)
		}
	}
	return out
}

// rateOf returns the share of the nights with a verdict.
func rateOf(t *testing.T, nights int, verdict string, make func(r *rand.Rand) night) float64 {
	t.Helper()
	found := 0
	for i := range nights {
		s := make(rand.New(rand.NewPCG(uint64(i), 7))).series() //nolint:gosec // a test
		if Judge(s, 0.99).Verdict == verdict {
			found++
		}
	}
	return float64(found) / float64(nights)
}

// memoryNight is a night of 8 hours with a leak, in 48 windows of 10 minutes with a sample each 10 seconds.
func memoryNight(r *rand.Rand, phi, leak float64) night {
	noise := floorOfSamples(r, 48, 60, phi, 4*mib)
	return night{48, 10 * time.Minute, Memory, "bytes", func(i int, h float64) float64 { return 60*mib + noise[i] + leak*mib*h }}
}

func TestNoiseIsNoLeak(t *testing.T) {
	for _, phi := range []float64{0, 0.5, 0.95} {
		if got := rateOf(t, 400, Leaks, func(r *rand.Rand) night { return memoryNight(r, phi, 0) }); got > 0.02 {
			t.Errorf("noise with a correlation of %g: %.1f %% of the nights leak, want at most 2 %%", phi, 100*got)
		}
	}
	if got := rateOf(t, 400, Drifts, func(r *rand.Rand) night {
		return night{20, time.Minute, Latency, "us", func(int, float64) float64 { return 2000 * math.Exp(0.1*r.NormFloat64()) }}
	}); got > 0.01 {
		t.Errorf("a noisy latency drifts in %.1f %% of the soaks", 100*got)
	}
}

func TestALeakIsFound(t *testing.T) {
	for _, c := range []struct{ phi, leak, least float64 }{{0.5, 2, 0.95}, {0.5, 5, 1}, {0.95, 5, 0.95}} {
		got := rateOf(t, 200, Leaks, func(r *rand.Rand) night { return memoryNight(r, c.phi, c.leak) })
		if got < c.least {
			t.Errorf("%g MiB an hour in noise with a correlation of %g: found in %.1f %% of the nights, want %.0f %%", c.leak, c.phi, 100*got, 100*c.least)
		}
	}
	if got := rateOf(t, 200, Drifts, func(r *rand.Rand) night {
		return night{20, time.Minute, Latency, "us", func(i int, _ float64) float64 {
			return 50_000 * math.Pow(1.01, float64(i)) * math.Exp(0.01*r.NormFloat64())
		}}
	}); got < 0.99 {
		t.Errorf("1 %% a minute is found in %.1f %% of the soaks", 100*got)
	}
}

// What a steady series says it would have found, it finds.
func TestTheDetectableRiseIsFound(t *testing.T) {
	at := median(slopesDetectable(100))
	got := rateOf(t, 200, Leaks, func(r *rand.Rand) night { return memoryNight(r, 0.5, at/mib) })
	if got < 0.8 {
		t.Errorf("a rise of %.2f MiB an hour is found in %.1f %% of the nights, want about 90 %%", at/mib, 100*got)
	}
}

func slopesDetectable(n int) (out []float64) {
	for i := range n {
		out = append(out, Judge(memoryNight(rand.New(rand.NewPCG(uint64(i), 3)), 0.5, 0).series(), 0.99).Detectable) //nolint:gosec // a test
	}
	return out
}

func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	noise := func(sd float64) float64 { return sd * r.NormFloat64() }
	at := func(n int) int64 { return (time.Duration(n) * time.Minute).Milliseconds() }
	for _, c := range []struct {
		name     string
		night    night
		verdict  string
		began    [2]int64 // bounds
		step     [2]int64
		mentions string
	}{
		{"a leak from the beginning", night{22, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return 50*mib + float64(i)*1.2*mib + noise(0.3*mib) }},
			Leaks, [2]int64{at(3), at(5)}, [2]int64{}, "MiB an hour"},
		{"a leak that begins in the middle", night{40, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return 50*mib + max(float64(i-20), 0)*1.2*mib + noise(0.3*mib) }},
			Leaks, [2]int64{at(19), at(23)}, [2]int64{}, "since 0:2"},
		{"a descriptor per 500 streams", night{20, time.Minute, Descriptors, "", func(i int, _ float64) float64 { return 20 + math.Floor(float64(i)*2.4) }},
			Leaks, [2]int64{at(3), at(6)}, [2]int64{}, "an hour"},
		{"a jump", night{30, time.Minute, Memory, "bytes", func(i int, _ float64) float64 {
			if i > 12 {
				return 70*mib + noise(0.3*mib)
			}
			return 50*mib + noise(0.3*mib)
		}}, Steady, [2]int64{}, [2]int64{at(13), at(15)}, "then stayed"},
		{"a cache that fills", night{40, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return 50*mib + min(float64(i), 15)*2*mib + noise(0.2*mib) }},
			Steady, [2]int64{}, [2]int64{at(15), at(18)}, "then stayed"},
		{"a level", night{20, time.Minute, Descriptors, "", func(int, float64) float64 { return 20 }}, Steady, [2]int64{}, [2]int64{}, "is steady"},
		{"memory that falls", night{20, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return 80*mib - float64(i)*mib }}, Steady, [2]int64{}, [2]int64{}, "is steady"},
		{"too few windows", night{9, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return float64(i) * mib * 10 }}, Inconclusive, [2]int64{}, [2]int64{}, "at least 8 windows"},
		{"a gauge that never returns", night{20, time.Minute, Gauge, "", func(i int, _ float64) float64 { return float64(i / 2) }}, Leaks, [2]int64{at(2), at(6)}, [2]int64{}, "an hour"},
		{"sawtooth of a garbage collector", night{30, time.Minute, Memory, "bytes", func(i int, _ float64) float64 { return 40*mib + float64(i%5)*2*mib + noise(0.2*mib) }}, Steady, [2]int64{}, [2]int64{}, "is steady"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.night.series(), 0.999)
			if got.Verdict != c.verdict || !strings.Contains(got.Message, c.mentions) {
				t.Fatalf("%s: %s\n%+v", got.Verdict, got.Message, got)
			}
			for _, b := range []struct {
				name string
				got  *int64
				want [2]int64
			}{{"begin", got.BeganMS, c.began}, {"step", got.StepMS, c.step}} {
				if (b.got != nil) != (b.want[1] > 0) || b.got != nil && (*b.got < b.want[0] || *b.got > b.want[1]) {
					t.Errorf("%s: %v, want %v\n%s", b.name, b.got, b.want, got.Message)
				}
			}
		})
	}
}

// A restart splits a series: the lower level after it hides no leak, and the higher one is none.
func TestARestartSplitsTheSeries(t *testing.T) {
	n := night{30, time.Minute, Memory, "bytes", func(i int, _ float64) float64 {
		if i < 20 {
			return 50*mib + float64(i)*2*mib
		}
		return 50 * mib
	}}
	s := n.series()
	s.Breaks = []time.Duration{20*time.Minute + 30*time.Second}
	if got := Judge(s, 0.99); got.Verdict != Leaks || got.N != 18 {
		t.Errorf("%s with %d windows: %s", got.Verdict, got.N, got.Message)
	}
}

// A process settles in minutes, so a rise over less is no leak yet; descriptors need not settle.
func TestARiseOverSecondsIsNoLeak(t *testing.T) {
	for kind, want := range map[Kind]string{Memory: Inconclusive, Latency: Inconclusive, Descriptors: Leaks} {
		n := night{14, 2 * time.Second, kind, "", func(i int, _ float64) float64 { return 40*mib + float64(i)*mib }}
		got := Judge(n.series(), 0.99)
		if got.Verdict != want {
			t.Errorf("%s: %s, %s", kind, got.Verdict, got.Message)
		}
		if want == Inconclusive && !strings.Contains(got.Message, "want at least 5m0s") {
			t.Errorf("%s: %s", kind, got.Message)
		}
	}
}

func TestAGapIsCounted(t *testing.T) {
	s := night{20, time.Minute, Descriptors, "", func(int, float64) float64 { return 5 }}.series()
	for i := 10; i < 20; i++ {
		s.Points[i].At += 7 * time.Minute
	}
	if got := Judge(s, 0.99); got.Missing != 7 || got.Verdict != Steady {
		t.Errorf("%d missing, %s", got.Missing, got.Verdict)
	}
}

// The confidence is shared among the series.
func TestTheConfidenceIsShared(t *testing.T) {
	s := night{20, time.Minute, Descriptors, "", func(int, float64) float64 { return 5 }}.series()
	for _, got := range JudgeAll([]Series{s, s, s, s}, 0.99) {
		if math.Abs(got.Confidence-0.9975) > 1e-9 {
			t.Errorf("confidence %v", got.Confidence)
		}
	}
}

// The test of a trend agrees with a published example: Mann-Kendall of ten values with S = 33 has a one-sided
// probability of 0.0021 by the normal approximation (variance 125).
func TestKendallAgreesWithTheTables(t *testing.T) {
	y := []float64{1, 2, 3, 5, 4, 6, 7, 9, 8, 10}
	x := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	k := newKendall(x, y, []float64{3, 1, 2, 5, 4, 0, 6, 2, 1, 4})
	if k.s != 41 || varianceOf(y) != 125 || k.slope != 1 {
		t.Errorf("S = %v, variance %v, slope %v", k.s, varianceOf(y), k.slope)
	}
	if got := (&kendall{s: 33, variance: 125}).rises(); math.Abs(got-0.0021) > 0.0001 {
		t.Errorf("p = %v", got)
	}
	if got := varianceOf([]float64{1, 1, 2, 2, 2, 3}); math.Abs(got-(510.0-18-66)/18) > 1e-9 {
		t.Errorf("variance with ties: %v", got)
	}
}
