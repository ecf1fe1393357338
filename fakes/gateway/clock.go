package gateway

import "time"

// clock runs the gateway's own timers (how long an ended process is kept,
// keepalives, the default time limit of a command) scale times as fast as real
// time; 0 or below is 1. A time that a client asked for is never scaled.
type clock struct{ scale float64 }

// AfterFunc calls f in its own goroutine after d; stop prevents it.
func (c clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(c.Real(d), f).Stop
}

// Real is how long d of this clock takes in real time.
func (c clock) Real(d time.Duration) time.Duration {
	if c.scale <= 0 {
		return d
	}
	return time.Duration(float64(d) / c.scale)
}
