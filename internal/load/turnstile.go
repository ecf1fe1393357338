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
	good   int // ended since the last take
	bad    int
	wake   chan struct{}
}

func newTurnstile() *turnstile { return &turnstile{wake: make(chan struct{}, 1)} }

func (t *turnstile) enter() {
	t.mu.Lock()
	t.inside++
	t.mu.Unlock()
}

func (t *turnstile) leave(failed bool) {
	t.mu.Lock()
	t.inside--
	if failed {
		t.bad++
	} else {
		t.good++
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take returns how many ended since the last call, and how many are under way.
func (t *turnstile) take() (good, bad, inside int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	good, bad = t.good, t.bad
	t.good, t.bad = 0, 0
	return good, bad, t.inside
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
