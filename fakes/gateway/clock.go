package gateway

import "time"

// clock runs the gateway's own timers (how long an ended process is kept,
// keepalives, the default time limit of a command) scale times as fast as real
// time; a scale of 0 or below means 1. A duration that a client requests is
// never scaled.
type clock struct{ scale float64 }

// AfterFunc calls f in its own goroutine after d; stop prevents it.
func (c clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(c.Real(d), f).Stop
}

// Real converts a duration of this clock to real time.
func (c clock) Real(d time.Duration) time.Duration {
	if c.scale <= 0 {
		return d
	}
	return time.Duration(float64(d) / c.scale)
}
