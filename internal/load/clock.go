package load

import "time"

// stepped is how far the clock must jump at once to be said to have been set: more
// than the adjustment of a second (500 parts in a million), and less than what would
// spoil a measured value.
const stepped = 5 * time.Millisecond

// clockWatch looks whether the clock of this machine is set while a run lasts.
// Latencies are measured by a clock that is never set; the times in files are not.
type clockWatch struct {
	base   time.Time
	offset time.Duration // between the two clocks, when last looked
}

func newClockWatch(base time.Time) *clockWatch {
	c := &clockWatch{base: base}
	c.offset = c.apart(base)
	return c
}

// apart is how far the wall clock has gone beyond the monotonic one since the base.
func (c *clockWatch) apart(now time.Time) time.Duration {
	return now.Round(0).Sub(c.base.Round(0)) - now.Sub(c.base)
}

// look returns how far the clock has jumped since the last look, 0 when it has not.
func (c *clockWatch) look(now time.Time) time.Duration { return c.seen(c.apart(now)) }

// seen takes how far the clocks are apart now.
func (c *clockWatch) seen(apart time.Duration) time.Duration {
	step := apart - c.offset
	c.offset = apart
	if step.Abs() < stepped {
		return 0
	}
	return step
}
