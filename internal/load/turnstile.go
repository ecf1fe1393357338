package load

import (
	"context"
	"sync"
	"time"
)

// turnstile counts the streams that are under way, and wakes the schedule when one ends.
type turnstile struct {
	mu     sync.Mutex
	inside int
	free   int             // places that are free again since the last take,
	later  []time.Duration // and those that are so after a pause
	wake   chan struct{}
}

func newTurnstile() *turnstile { return &turnstile{wake: make(chan struct{}, 1)} }

func (t *turnstile) enter() {
	t.mu.Lock()
	t.inside++
	t.mu.Unlock()
}

// leave counts a stream that is over, whose place stays empty for a pause.
func (t *turnstile) leave(pause time.Duration) {
	t.mu.Lock()
	t.inside--
	if pause > 0 {
		t.later = append(t.later, pause)
	} else {
		t.free++
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take returns how many places became free since the last call, at once and after
// pauses, and how many streams are under way.
func (t *turnstile) take() (free int, later []time.Duration, inside int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	free, later = t.free, t.later
	t.free, t.later = 0, nil
	return free, later, t.inside
}

// empty waits until nothing is under way, for at most d, or until ctx is done.
func (t *turnstile) empty(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if _, _, inside := t.take(); inside == 0 {
			return true
		}
		select {
		case <-t.wake:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
