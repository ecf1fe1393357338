package load

import (
	"testing"
	"time"
)

func TestAPlanWantsWhatItsScheduleAllows(t *testing.T) {
	for name, tt := range map[string]struct {
		plan Plan
		want int
	}{
		"a count alone":                                 {Plan{Schedule: Schedule{Rate: 50, Count: 1000}}, 1000},
		"a rate for a while":                            {Plan{Schedule: Schedule{Rate: 50, Duration: 3 * time.Second}}, 150},
		"a rate whose time ends before its count":       {Plan{Schedule: Schedule{Rate: 50, Duration: 3 * time.Second, Count: 1000}}, 150},
		"a rate whose count ends before its time":       {Plan{Schedule: Schedule{Rate: 50, Duration: 3 * time.Second, Count: 100}}, 100},
		"streams kept open":                             {Plan{Schedule: Schedule{Streams: 5, Duration: 3 * time.Second}}, 5},
		"streams up to a count":                         {Plan{Schedule: Schedule{Streams: 5, Count: 100}}, 100},
		"streams whose time may end before their count": {Plan{Schedule: Schedule{Streams: 5, Duration: 3 * time.Second, Count: 100_000}}, 5},
		"fewer than may be open":                        {Plan{Schedule: Schedule{Streams: 5, Duration: 3 * time.Second, Count: 3}}, 3},
		"a part of streams":                             {Plan{Schedule: Schedule{Streams: 5, Duration: 3 * time.Second}, Part: 1, Parts: 2}, 2},
		"a part of a rate":                              {Plan{Schedule: Schedule{Rate: 50, Duration: 3 * time.Second, Count: 500}, Part: 1, Parts: 2}, 75},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.plan.Wanted(); got != tt.want {
				t.Errorf("it wants %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAShortIntervalIsNoShortSilence(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		0: 0, 20 * time.Millisecond: 5 * time.Second, time.Second: 5 * time.Second, 3 * time.Second: 15 * time.Second,
	} {
		if got := defaultSilence(interval); got != want {
			t.Errorf("%v: a silence of %v, want %v", interval, got, want)
		}
	}
}
