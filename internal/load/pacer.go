package load

import (
	"math"
	"time"
)

// Pacer gives the intended starts of streams, relative to the beginning of a run.
type Pacer interface {
	// At returns the intended start of the n-th stream, n from 0. It never decreases.
	// ok is false when there is no such stream.
	At(n int) (at time.Duration, ok bool)
	// Before returns how many streams are intended to start before d.
	Before(d time.Duration) int
}

// RatePacer starts Rate streams per second, without end. During Ramp the rate rises
// linearly from 0:
//
//	rate |      ________
//	     |    ／
//	     |  ／
//	     |／
//	     +-----+---------- t
//	          Ramp
//
// With R the rate and T the ramp, R·t²/2T streams have started by t ≤ T, and
// R·(t − T/2) after that; At is the inverse, so the first stream starts at 0.
type RatePacer struct {
	Rate float64 // streams per second, above 0
	Ramp time.Duration
}

var _ Pacer = RatePacer{}

// At returns the intended start of the n-th stream.
func (p RatePacer) At(n int) (time.Duration, bool) {
	at, ok := p.at(float64(n))
	return seconds(at), ok
}

func (p RatePacer) at(n float64) (float64, bool) {
	ramp := p.Ramp.Seconds()
	inRamp := p.Rate * ramp / 2
	if n < inRamp {
		return math.Sqrt(2 * ramp * n / p.Rate), true
	}
	return ramp + (n-inRamp)/p.Rate, true
}

// Before returns how many streams start before d.
func (p RatePacer) Before(d time.Duration) int { return before(p, d, int(p.Rate*d.Seconds())+2) }

// RampPacer starts N streams evenly over Ramp, all at once when Ramp is 0.
type RampPacer struct {
	N    int
	Ramp time.Duration
}

var _ Pacer = RampPacer{}

// At returns the intended start of the n-th stream: Ramp·n/N.
func (p RampPacer) At(n int) (time.Duration, bool) {
	if n >= p.N {
		return 0, false
	}
	return time.Duration(float64(p.Ramp) * float64(n) / float64(p.N)), true
}

// Before returns how many streams start before d.
func (p RampPacer) Before(d time.Duration) int { return before(p, d, p.N) }

// everyPacer is every n-th stream of a pacer, beginning with number first.
type everyPacer struct {
	Pacer

	first, n int
}

// At returns the intended start of the i-th of them.
func (p everyPacer) At(i int) (time.Duration, bool) { return p.Pacer.At(i*p.n + p.first) }

// Before returns how many of them start before d.
func (p everyPacer) Before(d time.Duration) int { return share(p.Pacer.Before(d), p.first, p.n) }

// before returns how many of at most most streams start before d, by binary search.
func before(p Pacer, d time.Duration, most int) int {
	lo, hi := 0, most
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if at, ok := p.At(mid); ok && at < d {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// never is a time that no run reaches. It leaves room for sums of durations.
const never = time.Duration(math.MaxInt64 / 2)

// seconds converts seconds to a duration, at most never.
func seconds(s float64) time.Duration { return scaled(time.Second, s) }

// scaled multiplies a duration; the product is at most never.
func scaled(d time.Duration, by float64) time.Duration {
	product := float64(d) * by
	if !(product < float64(never)) {
		return never
	}
	return time.Duration(product)
}
