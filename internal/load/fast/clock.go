//go:build linux && (amd64 || arm64)

package fast

import "time"

// clock tells the time since the begin of a run, in ns, and when bytes came in by
// the kernel's stamps. Those are of the wall clock, which can be set: how far it is
// from the monotonic clock is read again every second.
type clock struct {
	base   time.Time
	offset int64 // wall clock minus time of the run
	synced int64 // when it was read
}

const (
	resync = int64(time.Second)
	// oldest is how late bytes may be read: a stamp before that is of another clock.
	oldest = int64(time.Minute)
	// future is how far the reading of two clocks one after the other may put a stamp ahead.
	future = int64(20 * time.Microsecond)
)

func newClock(base time.Time) clock {
	c := clock{base: base}
	c.sync()
	return c
}

func (c *clock) now() int64 { return int64(time.Since(c.base)) }

// sync reads the offset again.
func (c *clock) sync() {
	t := time.Now()
	mono := int64(t.Sub(c.base))
	c.offset, c.synced = t.UnixNano()-mono, mono
}

// arrived is the time of the run at which bytes came in that were read at now: by their
// stamp, or, where there is none that can be believed, now.
func (c *clock) arrived(stamp, now int64) (at int64, stamped bool) {
	if now-c.synced > resync {
		c.sync()
	}
	if stamp == 0 {
		return now, false
	}
	believed := func() bool {
		at = stamp - c.offset
		return at <= now+future && at >= now-oldest
	}
	if !believed() {
		c.sync() // the clock may just have been set
		if !believed() {
			return now, false
		}
	}
	return min(at, now), true
}
