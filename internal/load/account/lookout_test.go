package account

import (
	"testing"
	"time"
)

func TestAStopOfTheDriverIsGivenBack(t *testing.T) {
	const every = 100 * time.Millisecond
	var l lookout
	now := 5 * time.Second // the first look may be at any time
	if !l.look(now, every) {
		t.Error("deadlines do not count at the first look")
	}
	for _, tt := range []struct {
		after time.Duration // from the last look to this one
		wait  time.Duration // from this look to the next at which deadlines count
	}{
		{every, 0}, {2 * every, 0}, // a little late
		{every + 2*time.Second, 2 * time.Second},
		{6 * every, 5 * every}, {6 * every, 5 * every},
	} {
		now += tt.after
		begun := now
		for !l.look(now, every) {
			now += every
		}
		if now-begun != tt.wait {
			t.Errorf("a look %v after the last: deadlines count after %v, want %v", tt.after, now-begun, tt.wait)
		}
	}
	l.look(now+2100*time.Millisecond, every)
	now += 4 * time.Second // a second stop, in the time given back for the first
	if l.look(now, every) || l.look(now+every, every) {
		t.Error("a second stop is not given back")
	}
}

// A driver that is late with every look still gives up streams.
func TestADriverThatIsAlwaysLateLooks(t *testing.T) {
	var l lookout
	looks := 0
	for n := range 50 {
		if l.look(time.Duration(n)*time.Second, 100*time.Millisecond) {
			looks++
		}
	}
	if looks < 10 || looks > 12 {
		t.Errorf("deadlines count at %d of 50 looks, want every fifth", looks)
	}
}
