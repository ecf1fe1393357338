package gateway

import "time"

// clock is the gateway's time. The gateway holds two: the wall, for what a
// client asked for in milliseconds, and its own, for its own timers (how long
// an ended process is kept, keepalives, the default time limit of a command),
// which Options.ClockScale speeds up.
type clock interface {
	// Now is the current time; it is never scaled.
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d; stop prevents it and
	// reports whether it came in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
	// Real is how long d of this clock takes on the wall.
	Real(d time.Duration) time.Duration
}

// wallClock is the real time.
type wallClock struct{}

var _ clock = wallClock{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

func (wallClock) Real(d time.Duration) time.Duration { return d }

// scaledClock runs the timers of another clock factor times as fast.
type scaledClock struct {
	clock
	factor float64
}

var _ clock = scaledClock{}

// newScaledClock scales c; a factor of 0 or below means 1.
func newScaledClock(c clock, factor float64) clock {
	if factor <= 0 || factor == 1 {
		return c
	}
	return scaledClock{clock: c, factor: factor}
}

func (c scaledClock) AfterFunc(d time.Duration, f func()) func() bool {
	return c.clock.AfterFunc(c.Real(d), f)
}

func (c scaledClock) Real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.factor)
}
