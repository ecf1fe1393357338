//go:build linux && (amd64 || arm64)

package fast

import "time"

// clock returns the time since the beginning of a run, in ns, and converts the kernel's
// stamps to it. The stamps are from the wall clock, which can be set, so the offset between
// the two clocks is read again every second.
type clock struct {
	base   time.Time
	offset int64 // wall clock minus time of the run
	synced int64 // when offset was read
}

const (
	resync = int64(time.Second)
	// oldest is how late bytes may be read: an older stamp is from another clock.
	oldest = int64(time.Minute)
	// future is how far ahead a stamp may be, because the two clocks are read one after the
	// other.
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

// arrived returns when bytes that were read at now arrived: by their stamp, or now if they
// have no plausible stamp.
func (c *clock) arrived(stamp, now int64) (at int64, stamped bool) {
	if now-c.synced > resync {
		c.sync()
	}
	if stamp == 0 {
		return now, false
	}
	plausible := func() bool {
		at = stamp - c.offset
		return at <= now+future && at >= now-oldest
	}
	if !plausible() {
		c.sync() // the wall clock may just have been set
		if !plausible() {
			return now, false
		}
	}
	return min(at, now), true
}
