package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// scheduled runs a plan's schedule on a clock of its own, with streams that live
// for a while and then leave their place empty for a pause, and returns when each was started and
// how long the schedule took.
func scheduled(t *testing.T, p Plan, life, pause, interrupt time.Duration) (starts []time.Duration, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if interrupt > 0 {
			time.AfterFunc(interrupt, stop)
		}
		base := time.Now()
		gate := newTurnstile()
		s := schedule{plan: &p, base: base, gate: gate, start: func(intended time.Duration) {
			if late := time.Since(base) - intended; late < 0 || late > time.Millisecond {
				t.Errorf("a stream intended for %v was started at %v", intended, time.Since(base))
			}
			starts = append(starts, intended)
			gate.enter()
			if life > 0 {
				time.AfterFunc(life, func() { gate.leave(pause) })
			}
		}}
		s.run(ctx)
		took = time.Since(base)
		time.Sleep(life + time.Second) // in the bubble: the timers end
	})
	return starts, took
}

func ms(values ...int) (out []time.Duration) {
	for _, v := range values {
		out = append(out, time.Duration(v)*time.Millisecond)
	}
	return out
}

func TestSchedule(t *testing.T) {
	tests := map[string]struct {
		plan      Plan
		life      time.Duration
		pause     time.Duration
		interrupt time.Duration
		starts    []time.Duration
		took      time.Duration
	}{
		"the open model starts at its times though nothing ends": {
			plan: Plan{Rate: 10, Duration: 500 * time.Millisecond}, starts: ms(0, 100, 200, 300, 400), took: 500 * time.Millisecond},
		"the open model ends when its count has ended": {
			plan: Plan{Rate: 10, Count: 3}, life: time.Second, starts: ms(0, 100, 200), took: 1200 * time.Millisecond},
		"the closed model begins all at once and keeps them": {
			plan: Plan{Streams: 3, Duration: time.Second}, starts: ms(0, 0, 0), took: time.Second},
		"the closed model rises over its ramp": {
			plan: Plan{Streams: 4, Ramp: 400 * time.Millisecond, Duration: time.Second}, starts: ms(0, 100, 200, 300), took: time.Second},
		"the closed model replaces what ends": {
			plan: Plan{Streams: 2, Duration: time.Second}, life: 400 * time.Millisecond, starts: ms(0, 0, 400, 400, 800, 800), took: time.Second},
		"the closed model replaces what ends during its ramp": {
			plan: Plan{Streams: 2, Ramp: 600 * time.Millisecond, Duration: 500 * time.Millisecond}, life: 200 * time.Millisecond, starts: ms(0, 200, 300, 400), took: 500 * time.Millisecond},
		"the closed model waits before it replaces what failed": {
			plan: Plan{Streams: 1, Duration: 600 * time.Millisecond}, life: 50 * time.Millisecond, pause: retryPause, starts: ms(0, 300), took: 600 * time.Millisecond},
		"the closed model lets a place be empty as long as a client thinks": {
			plan: Plan{Streams: 2, Duration: 500 * time.Millisecond}, life: 100 * time.Millisecond, pause: 200 * time.Millisecond, starts: ms(0, 0, 300, 300), took: 500 * time.Millisecond},
		"the stages end the open model": {
			plan: Plan{Stages: []Stage{{200 * time.Millisecond, 10, 10}, {200 * time.Millisecond, 20, 20}}, Duration: 400 * time.Millisecond}, starts: ms(0, 100, 200, 250, 300, 350), took: 400 * time.Millisecond},
		"the closed model ends when its count has ended": {
			plan: Plan{Streams: 2, Count: 3}, life: 100 * time.Millisecond, starts: ms(0, 0, 100), took: 200 * time.Millisecond},
		"a count larger than the streams is no more than them at a time": {
			plan: Plan{Streams: 5, Count: 2}, life: 100 * time.Millisecond, starts: ms(0, 0), took: 100 * time.Millisecond},
		"the duration ends a count that is not reached": {
			plan: Plan{Streams: 1, Count: 100, Duration: 250 * time.Millisecond}, life: 100 * time.Millisecond, starts: ms(0, 100, 200), took: 250 * time.Millisecond},
		"an interrupt ends the closed model": {
			plan: Plan{Streams: 1, Duration: time.Hour}, interrupt: 70 * time.Millisecond, starts: ms(0), took: 70 * time.Millisecond},
		"an interrupt ends the open model": {
			plan: Plan{Rate: 20, Duration: time.Hour}, interrupt: 70 * time.Millisecond, starts: ms(0, 50), took: 70 * time.Millisecond},
		"an interrupt ends the wait for the count": {
			plan: Plan{Streams: 1, Count: 1}, interrupt: 70 * time.Millisecond, starts: ms(0), took: 70 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			starts, took := scheduled(t, tt.plan, tt.life, tt.pause, tt.interrupt)
			if !slices.Equal(starts, tt.starts) || took != tt.took {
				t.Errorf("started at %v in %v, want %v in %v", starts, took, tt.starts, tt.took)
			}
		})
	}
}

func TestADriverThatComesLateBeginsAllThatWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		s := schedule{plan: &Plan{Rate: 10, Duration: 500 * time.Millisecond}, base: time.Now(), gate: newTurnstile()}
		s.start = func(intended time.Duration) {
			if starts = append(starts, intended); len(starts) == 2 {
				time.Sleep(time.Second) // past the end of the duration
			}
		}
		s.run(t.Context())
		if want := ms(0, 100, 200, 300, 400); !slices.Equal(starts, want) {
			t.Errorf("started at %v, want %v", starts, want)
		}
	})
}

func TestADriverThatComesLateBeginsTheFirstStreamsOfACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		s := schedule{plan: &Plan{Streams: 3, Ramp: 300 * time.Millisecond, Duration: 500 * time.Millisecond}, base: time.Now(), gate: newTurnstile()}
		s.start = func(intended time.Duration) { starts = append(starts, intended) }
		time.Sleep(time.Second) // past the end of the duration
		s.run(t.Context())
		if want := ms(0, 100, 200); !slices.Equal(starts, want) {
			t.Errorf("started at %v, want %v", starts, want)
		}
	})
}

func TestTheTurnstileIsEmptyWhenAllHaveLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile()
		g.enter()
		g.enter()
		if g.empty(t.Context(), time.Second) {
			t.Error("empty with two inside")
		}
		time.AfterFunc(time.Second, func() { g.leave(0) })
		time.AfterFunc(2*time.Second, func() { g.leave(time.Second) })
		begun := time.Now()
		if !g.empty(t.Context(), time.Minute) || time.Since(begun) != 2*time.Second {
			t.Errorf("not empty when the last had left, or not at once: %v", time.Since(begun))
		}
	})
}
