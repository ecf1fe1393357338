package load

import (
	"testing"
	"time"
)

func TestAStepOfTheClockIsSeen(t *testing.T) {
	base := time.Now()
	c := clockWatch{base: base}
	tests := []struct {
		name  string
		apart time.Duration // the sum of all changes of the wall clock
		want  time.Duration
	}{
		{"nothing", 0, 0},
		{"an adjustment of a second", 500 * time.Microsecond, 0},
		{"set forward", 3 * time.Second, 3*time.Second - 500*time.Microsecond},
		{"unchanged", 3 * time.Second, 0},
		{"set back", -time.Second, -4 * time.Second},
	}
	for _, tt := range tests {
		if got := c.seen(tt.apart); got != tt.want {
			t.Errorf("%s: a step of %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := newClockWatch(base).look(time.Now()); got != 0 {
		t.Errorf("this machine's clock was set by %v", got)
	}
}
