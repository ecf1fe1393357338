package tree

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

// MaxEvents is how many unread events a [Queue] keeps.
const MaxEvents = 50_000

// Queue is the part of a [Watcher] that keeps the events until they are read. A
// queue that is full forgets all later events: the reader gets those that were
// kept, and then EOVERFLOW. The zero value is empty. It is safe for concurrent
// use, and uses no goroutine.
type Queue struct {
	mu      sync.Mutex
	events  []Event
	end     error         // what follows the events that were kept
	changed chan struct{} // closed by the next change, nil if nobody waits
}

// Add keeps an event. An event that repeats the last unread one is dropped, as
// the kernel does.
func (q *Queue) Add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.events); q.end != nil || n > 0 && q.events[n-1] == e {
		return
	}
	if len(q.events) >= MaxEvents {
		q.endLocked(fmt.Errorf("too many unread changes: %w", syscall.EOVERFLOW))
		return
	}
	q.events = append(q.events, e)
	q.wake()
}

// Fail ends the queue: err follows the events that were kept.
func (q *Queue) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endLocked(err)
}

func (q *Queue) endLocked(err error) {
	if q.end == nil {
		q.end = err
		q.wake()
	}
}

// wake ends the waits. The caller holds mu.
func (q *Queue) wake() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// Next returns the next event, waiting for it until ctx is done. Events come
// before errors, whatever the state of ctx.
func (q *Queue) Next(ctx context.Context) (Event, error) {
	for {
		q.mu.Lock()
		if len(q.events) > 0 {
			e := q.events[0]
			q.events = q.events[1:]
			q.mu.Unlock()
			return e, nil
		}
		q.events = nil
		if q.end != nil {
			defer q.mu.Unlock()
			return Event{}, q.end
		}
		if q.changed == nil {
			q.changed = make(chan struct{})
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Pending returns the unread events, without waiting.
func (q *Queue) Pending() []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.events
	q.events = nil
	return all
}

// Close forgets all events; Next returns fs.ErrClosed from now on.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events, q.end = nil, fs.ErrClosed
	q.wake()
}
