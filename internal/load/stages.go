package load

import (
	"math"
	"time"
)

// Stage is a span of time in which the rate of starts changes linearly from one value
// to another.
type Stage struct {
	Duration time.Duration
	// From and To are streams per second, 0 or more.
	From, To float64
}

// streams returns how many streams start in the stage.
func (s Stage) streams() float64 { return (s.From + s.To) / 2 * s.Duration.Seconds() }

// at returns when x streams of the stage have started: the solution of
// From·t + (To−From)·t²/2T = x, in the form that loses no digits when the rate
// hardly changes.
func (s Stage) at(x float64) float64 {
	slope := (s.To - s.From) / s.Duration.Seconds()
	root := math.Sqrt(max(0, s.From*s.From+2*slope*x))
	if s.From+root == 0 {
		return 0
	}
	return 2 * x / (s.From + root)
}

// curve is a rate over time: at returns when x streams have started, in seconds; ok is
// false when there are never so many. It never decreases. Before returns how many streams
// start before d if they start evenly.
type curve interface {
	at(x float64) (seconds float64, ok bool)
	Before(d time.Duration) int
}

// stages is a curve of consecutive stages; no stream starts after the last.
type stages []Stage

func (s stages) at(x float64) (float64, bool) {
	begin := 0.0
	for _, one := range s {
		if n := one.streams(); x >= n {
			x -= n
			begin += one.Duration.Seconds()
			continue
		}
		return begin + one.at(x), true
	}
	return 0, false
}

// Before returns how many streams start before d.
func (s stages) Before(d time.Duration) int {
	all := 0.0
	for _, one := range s {
		all += one.streams()
	}
	return before(StagePacer{s}, d, int(all)+1)
}

// StagePacer starts streams evenly at a rate that goes through stages:
//
//	rate |    ____
//	     |   /    \
//	     |  /      \____
//	     +-+----+-+-----+ t
//
// There is no stream after the last stage.
type StagePacer struct{ Stages []Stage }

var _ Pacer = StagePacer{}

// At returns the intended start of the n-th stream.
func (p StagePacer) At(n int) (time.Duration, bool) {
	at, ok := stages(p.Stages).at(float64(n))
	return seconds(at), ok
}

// Before returns how many streams start before d.
func (p StagePacer) Before(d time.Duration) int { return stages(p.Stages).Before(d) }

// PoissonPacer starts streams at random times, like independent clients: at a constant
// rate, the gaps between starts are distributed exponentially. The seed makes them
// repeatable.
//
// It draws the gaps of a rate of one per second and maps their sum through the curve of
// the rate. It keeps the sum, so a pacer is for one goroutine; in order of n, every call
// takes the same time.
type PoissonPacer struct {
	curve curve
	seed  uint64
	n     int     // gaps in sum
	sum   float64 // the sum of 1 + n gaps is the start of stream n at a rate of one
}

var _ Pacer = (*PoissonPacer)(nil)

// At returns the intended start of the n-th stream.
func (p *PoissonPacer) At(n int) (time.Duration, bool) {
	if n < p.n-1 {
		p.n, p.sum = 0, 0
	}
	for ; p.n <= n; p.n++ {
		p.sum += -math.Log(1 - unit(mixed(p.seed, int64(p.n))))
	}
	at, ok := p.curve.at(p.sum)
	return seconds(at), ok
}

// maxDrawn bounds the starts that Before draws, which takes up to a second.
const maxDrawn = 1_000_000

// Before returns how many streams start before d. Beyond maxDrawn, it returns the mean: the
// number differs from it by 0.1 % there, and by less for more streams.
func (p *PoissonPacer) Before(d time.Duration) int {
	if mean := p.curve.Before(d); mean > maxDrawn {
		return mean
	}
	for n := 0; ; n++ {
		if at, ok := p.At(n); !ok || at >= d {
			return n
		}
	}
}
