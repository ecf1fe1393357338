package account

import (
	"slices"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// scheduled runs the schedule of a plan on a clock that it moves itself. Each stream ends
// after life (0: never), by a failure if fails is set. It returns the intended starts, and
// when the schedule ended.
func scheduled(t *testing.T, p *load.Plan, life time.Duration, fails bool, interrupt time.Duration) (starts []time.Duration, took time.Duration) {
	t.Helper()
	f := conduct(p, &loadtest.Last{})
	ends := map[int32]int64{}
	f.onOpen = func(i int32, s *Stream) {
		starts = append(starts, time.Duration(s.intended))
		if late := f.time - s.intended; late < 0 || late > int64(time.Millisecond) {
			t.Errorf("a stream intended for %v was started at %v", time.Duration(s.intended), time.Duration(f.time))
		}
		f.Opening(s)
		f.Sent(s, 0)
		if life > 0 {
			ends[i] = f.time + int64(life)
		}
	}
	for ; f.schedule.stage == stageRun && f.time < int64(time.Hour); f.time += int64(time.Millisecond) {
		if interrupt > 0 && f.time >= int64(interrupt) {
			f.run.Interrupt()
		}
		for i, at := range ends {
			if at <= f.time {
				delete(ends, i)
				f.Reading(f.time)
				if s := f.At(i); fails {
					f.Fail(i, s, Closed(false, false))
				} else {
					f.Fail(i, s, errHungUp)
				}
			}
		}
		f.Tend(f.time)
		took = time.Duration(f.time)
	}
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
		plan      load.Plan
		life      time.Duration
		fails     bool
		interrupt time.Duration
		starts    []time.Duration
		took      time.Duration
	}{
		"the open model starts at its times although nothing ends": {
			plan: load.Plan{Schedule: load.Schedule{Rate: 10, Duration: 500 * time.Millisecond}}, starts: ms(0, 100, 200, 300, 400), took: 500 * time.Millisecond},
		"the open model ends when its count has ended": {
			plan: load.Plan{Schedule: load.Schedule{Rate: 10, Count: 3}}, life: time.Second, starts: ms(0, 100, 200), took: 1200 * time.Millisecond},
		"the closed model begins all at once and keeps them": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 3, Duration: time.Second}}, starts: ms(0, 0, 0), took: time.Second},
		"the closed model rises over its ramp": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 4, Ramp: 400 * time.Millisecond, Duration: time.Second}}, starts: ms(0, 100, 200, 300), took: time.Second},
		"the closed model replaces what ends": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 2, Duration: time.Second}}, life: 400 * time.Millisecond, starts: ms(0, 0, 400, 400, 800, 800), took: time.Second},
		"the closed model replaces what ends during its ramp": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 2, Ramp: 600 * time.Millisecond, Duration: 500 * time.Millisecond}}, life: 200 * time.Millisecond, starts: ms(0, 200, 300, 400), took: 500 * time.Millisecond},
		"the closed model waits before it replaces what failed": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 1, Duration: 149 * time.Millisecond}}, life: 50 * time.Millisecond, fails: true, starts: ms(0), took: 149 * time.Millisecond},
		"the closed model leaves a place empty for the think time": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 2, Duration: 500 * time.Millisecond}, Classes: []load.Class{{Share: 1, Think: 200 * time.Millisecond}}}, life: 100 * time.Millisecond, starts: ms(0, 0, 300, 300), took: 500 * time.Millisecond},
		"the stages end the open model": {
			plan: load.Plan{Schedule: load.Schedule{Stages: []load.Stage{{Duration: 200 * time.Millisecond, From: 10, To: 10}, {Duration: 200 * time.Millisecond, From: 20, To: 20}}, Duration: 400 * time.Millisecond}}, starts: ms(0, 100, 200, 250, 300, 350), took: 400 * time.Millisecond},
		"the closed model ends when its count has ended": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 2, Count: 3}}, life: 100 * time.Millisecond, starts: ms(0, 0, 100), took: 200 * time.Millisecond},
		"a count smaller than the streams limits the open streams": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 5, Count: 2}}, life: 100 * time.Millisecond, starts: ms(0, 0), took: 100 * time.Millisecond},
		"the duration ends a run before its count is reached": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 1, Count: 100, Duration: 250 * time.Millisecond}}, life: 100 * time.Millisecond, starts: ms(0, 100, 200), took: 250 * time.Millisecond},
		"an interrupt ends the closed model": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 1, Duration: time.Hour}}, interrupt: 70 * time.Millisecond, starts: ms(0), took: 70 * time.Millisecond},
		"an interrupt ends the open model": {
			plan: load.Plan{Schedule: load.Schedule{Rate: 20, Duration: time.Hour}}, interrupt: 70 * time.Millisecond, starts: ms(0, 50), took: 70 * time.Millisecond},
		"an interrupt ends the wait for the count": {
			plan: load.Plan{Schedule: load.Schedule{Streams: 1, Count: 1}}, interrupt: 70 * time.Millisecond, starts: ms(0), took: 70 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			starts, took := scheduled(t, &tt.plan, tt.life, tt.fails, tt.interrupt)
			if !slices.Equal(starts, tt.starts) || took != tt.took {
				t.Errorf("started at %v in %v, want %v in %v", starts, took, tt.starts, tt.took)
			}
		})
	}
}

func TestAGatewayThatRefusesIsAskedLessAndLess(t *testing.T) {
	const life = 50 * time.Millisecond
	starts, _ := scheduled(t, &load.Plan{Schedule: load.Schedule{Streams: 1, Duration: time.Minute, Seed: 5}}, life, true, 0)
	if n := len(starts); n < 15 || n > 30 {
		t.Fatalf("%d streams in a minute: %v", n, starts)
	}
	pause := 200 * time.Millisecond
	for i := 1; i < len(starts); i++ {
		if gap := starts[i] - starts[i-1] - life; gap < pause/2 || gap > pause+2*time.Millisecond {
			t.Errorf("pause %d is %v, want between %v and %v", i, gap, pause/2, pause)
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// ending ends a stream of a fake driver at once: before its start event, or after it.
func (f *fake) ending(i int32, s *Stream, started bool) {
	f.Opening(s)
	f.Sent(s, 0)
	f.Reading(f.time)
	if started {
		f.started(i, s, 7)
		s.ends = 1
	}
	f.Fail(i, s, Closed(started, false))
}

func TestAStartEventEndsTheBackOffOfAPlace(t *testing.T) {
	p := &load.Plan{Schedule: load.Schedule{Streams: 1, Duration: time.Hour, Seed: 5}}
	tally := loadtest.NewTally()
	f := conduct(p, tally)
	var pauses []time.Duration
	var last int64
	f.onOpen = func(int32, *Stream) {
		pauses = append(pauses, time.Duration(f.time-last))
		last = f.time
	}
	for n := 0; n < 7; {
		f.Tend(f.time)
		if len(pauses) > n {
			i := f.opened[len(f.opened)-1]
			f.ending(i, f.At(i), n == 3)
			n++
		}
		f.time += int64(time.Millisecond)
	}
	want := []time.Duration{0, p.Backoff(0, 1), p.Backoff(1, 2), p.Backoff(2, 3), retryPause, p.Backoff(4, 1), p.Backoff(5, 2)}
	for i := range want {
		if late := pauses[i] - want[i]; late < 0 || late > 2*time.Millisecond {
			t.Errorf("stream %d began after %v, want %v", i, pauses[i], want[i])
		}
	}
	if tally.Backoffs != 6 {
		t.Errorf("backed off %d times, want 6", tally.Backoffs)
	}
}

func TestTheOpenModelDoesNotBackOff(t *testing.T) {
	starts, _ := scheduled(t, &load.Plan{Schedule: load.Schedule{Rate: 100, Duration: time.Second}}, time.Millisecond, true, 0)
	if len(starts) != 100 {
		t.Errorf("%d streams, want 100", len(starts))
	}
}

// A driver that was stopped begins every stream that was due within the duration.
func TestADriverThatComesLateBeginsAllThatWasDue(t *testing.T) {
	for name, p := range map[string]*load.Plan{
		"the open model":   {Schedule: load.Schedule{Rate: 10, Duration: 300 * time.Millisecond}},
		"the closed model": {Schedule: load.Schedule{Streams: 3, Ramp: 300 * time.Millisecond, Duration: 300 * time.Millisecond}},
	} {
		f := conduct(p, &loadtest.Last{})
		var starts []time.Duration
		f.onOpen = func(_ int32, s *Stream) { starts = append(starts, time.Duration(s.intended)) }
		f.time = int64(time.Second)
		f.Tend(f.time)
		if want := ms(0, 100, 200); !slices.Equal(starts, want) {
			t.Errorf("%s: started at %v, want %v", name, starts, want)
		}
	}
}
