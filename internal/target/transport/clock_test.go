package transport

import (
	"testing"
	"time"
)

func TestAForkedClockAdvancesAlone(t *testing.T) {
	c := NewClock()
	before := c.Stamp()
	f := c.Fork()
	f.Advance(time.Hour)
	f.Advance(-time.Minute) // time never goes backwards
	later, own := f.Stamp(), c.Stamp()
	if later.N != before.N+1 || own.N != later.N {
		t.Errorf("after number %d come %d and %d", before.N, later.N, own.N)
	}
	if hour := int64(time.Hour); later.T-before.T < hour || own.T-before.T >= hour {
		t.Errorf("an hour on one clock is %v, and %v on the other", time.Duration(later.T-before.T), time.Duration(own.T-before.T))
	}
	if since := f.Since(later); since < 0 || since >= time.Hour {
		t.Errorf("%v have passed since the present", since)
	}
}
