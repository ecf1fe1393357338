package account

import (
	"testing"
	"time"
)

func TestAStopOfTheDriverIsGivenBack(t *testing.T) {
	const every = 100 * time.Millisecond
	var l lookout
	now := 5 * time.Second // the first look, whenever it is
	if !l.look(now, every) {
		t.Error("nothing was missed before the first look")
	}
	for _, tt := range []struct {
		after, wait time.Duration // the look comes so long after the last, and the next that counts so long after it
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
	now += 4 * time.Second // a second stop, in what was given back of the first
	if l.look(now, every) || l.look(now+every, every) {
		t.Error("a second stop is not given back")
	}
}

// A driver that is late with every look gives up streams all the same.
func TestADriverThatIsAlwaysLateLooks(t *testing.T) {
	var l lookout
	looks := 0
	for n := range 50 {
		if l.look(time.Duration(n)*time.Second, 100*time.Millisecond) {
			looks++
		}
	}
	if looks < 10 || looks > 12 {
		t.Errorf("%d of 50 looks were any, want every fifth", looks)
	}
}
