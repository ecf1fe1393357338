package load

import (
	"context"
	"slices"
	"time"
)

// retryPause is how long the closed model waits before it replaces a stream that
// failed: a gateway that refuses at once must not be hammered in a tight loop.
const retryPause = 250 * time.Millisecond

// schedule begins streams at the times that a plan gives them.
type schedule struct {
	plan *Plan
	base time.Time // when the run began
	gate *turnstile
	// start begins a stream that is intended to start at that time, and does not wait for it.
	start func(intended time.Duration)
	begun int
}

// run returns when the schedule has ended: at the plan's duration, when its count
// of streams has begun and ended, or when ctx is done.
func (s *schedule) run(ctx context.Context) {
	wanted := ctx
	if s.plan.Duration > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, s.base.Add(s.plan.Duration))
		defer stop()
	}
	if s.plan.Open() {
		s.open(ctx, wanted)
	} else {
		s.closed(ctx, wanted)
	}
	for ctx.Err() == nil { // the count was reached; now they end
		if s.gate.empty(ctx, time.Hour) {
			return
		}
	}
}

// open starts streams at their times, whatever became of the earlier ones. ctx ends
// with the duration, wanted only with the run: a stream that was due within the
// duration begins also when the driver comes too late for it, and is charged the delay.
func (s *schedule) open(ctx, wanted context.Context) {
	pacer := s.plan.Pacer()
	for !s.counted() {
		at, ok := pacer.At(s.begun)
		if !ok || s.plan.Duration > 0 && at >= s.plan.Duration {
			break
		}
		if !sleepUntil(wanted, s.base.Add(at)) {
			return
		}
		s.begin(at)
	}
	if s.plan.Count == 0 {
		<-ctx.Done() // the streams live on until the end of the duration
	}
}

// closed starts the first streams at their times, also when the driver comes too late
// for them, and one for each that ends before the end of the duration. ctx and wanted
// are those of open.
func (s *schedule) closed(ctx, wanted context.Context) {
	pacer := s.plan.Pacer()
	first := 0                // streams of the pacer that have begun
	var again []time.Duration // when places are filled again after a pause, in order
	for wanted.Err() == nil {
		now := time.Since(s.base)
		next := time.Hour
		for !s.counted() {
			at, ok := pacer.At(first)
			if !ok || s.plan.Duration > 0 && at >= s.plan.Duration {
				break
			}
			if at > now {
				next = at - now
				break
			}
			s.begin(at)
			first++
		}
		if !s.more() || ctx.Err() != nil {
			break
		}
		for len(again) > 0 && s.more() && again[0] <= now {
			s.begin(again[0])
			again = again[1:]
		}
		if len(again) > 0 {
			next = min(next, again[0]-now)
		}
		free, later := s.wait(ctx, next)
		now = time.Since(s.base)
		for range free {
			if s.more() {
				s.begin(now)
			}
		}
		for _, pause := range later {
			at := now + pause
			i, _ := slices.BinarySearch(again, at)
			again = slices.Insert(again, i, at)
		}
	}
}

// wait waits until a stream has ended, for at most d.
func (s *schedule) wait(ctx context.Context, d time.Duration) (free int, later []time.Duration) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-s.gate.wake:
	case <-timer.C:
	case <-ctx.Done():
		return 0, nil
	}
	free, later, _ = s.gate.take()
	return free, later
}

// more reports whether another stream may begin.
func (s *schedule) more() bool {
	return !s.counted() && (s.plan.Duration == 0 || time.Since(s.base) < s.plan.Duration)
}

// counted reports whether the count of streams has begun.
func (s *schedule) counted() bool { return s.plan.Count > 0 && s.begun >= s.plan.Count }

func (s *schedule) begin(intended time.Duration) {
	s.begun++
	s.start(intended)
}

// sleepUntil waits until t; it reports whether ctx was not done before.
func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
