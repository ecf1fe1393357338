package load

import "time"

// stepped is the smallest jump that counts as setting the clock: more than the regular
// adjustment of one second (500 parts in a million), and too small to spoil a measured
// value.
const stepped = 5 * time.Millisecond

// clockWatch notices when the wall clock of this machine is set during a run. Latencies
// are measured with the monotonic clock, but the times in files with the wall clock.
type clockWatch struct {
	base   time.Time
	offset time.Duration // between the two clocks, at the last look
}

func newClockWatch(base time.Time) *clockWatch {
	c := &clockWatch{base: base}
	c.offset = c.apart(base)
	return c
}

// apart returns how far the wall clock has moved ahead of the monotonic clock since base.
func (c *clockWatch) apart(now time.Time) time.Duration {
	return now.Round(0).Sub(c.base.Round(0)) - now.Sub(c.base)
}

// look returns how far the wall clock has jumped since the last look, 0 when it has not.
func (c *clockWatch) look(now time.Time) time.Duration { return c.seen(c.apart(now)) }

// seen notes how far apart the clocks are now, and returns the jump.
func (c *clockWatch) seen(apart time.Duration) time.Duration {
	step := apart - c.offset
	c.offset = apart
	if step.Abs() < stepped {
		return 0
	}
	return step
}
