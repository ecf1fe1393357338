package fakes

import (
	"context"
	"errors"
	"time"
)

// errLost says that a subscriber was given up because it was too slow.
var errLost = errors.New("the reader is too slow: output beyond a backlog of 8 MiB was not kept for it")

// follower sends the events of one process to one subscriber.
type follower struct {
	table processTable
	p     *process
	sub   *subscriber
	sink  eventSink
	// keepalive sends a keepalive event after idle on this clock; 0 sends none.
	clock clock
	idle  time.Duration
	// owner is the stream that started the process: its deadline is the
	// process's too, and ends the stream with an error instead of an end event.
	owner bool
}

// run sends start, the output, and the end event. It returns when the end was
// sent, with the error of the context, of the sink, or errLost.
func (f *follower) run(ctx context.Context) error {
	if err := f.sink.send(event{kind: eventStart, pid: f.p.pid}); err != nil {
		return err
	}
	done := ctx.Done()
	for {
		ended, err := f.drain()
		if err != nil || ended {
			return err
		}
		beat, stop := f.timer()
		select {
		case <-f.sub.ready:
		case <-beat:
			err = f.sink.send(event{kind: eventKeepAlive})
		case <-done:
			if !f.owner || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = ctx.Err()
				break
			}
			f.table.expire(f.p) // what it has written still comes, then the end
			done = nil
		}
		stop()
		if err != nil {
			return err
		}
	}
}

// drain sends what is queued, and the end when it is reached.
func (f *follower) drain() (ended bool, err error) {
	batch, ended, lost := f.sub.take()
	for i, c := range batch {
		e := event{kind: eventData, chunk: c, more: ended || i < len(batch)-1}
		if err := f.sink.send(e); err != nil {
			return false, err
		}
		f.sub.sent(len(c.data))
	}
	switch {
	case lost:
		return false, errLost
	case !ended:
		return false, nil
	case f.owner && f.p.endedBy() == byDeadline:
		return true, context.DeadlineExceeded
	default:
		return true, f.sink.send(event{kind: eventEnd, end: *f.p.ending()})
	}
}

// timer fires once after the idle time.
func (f *follower) timer() (fired <-chan struct{}, stop func() bool) {
	if f.idle <= 0 {
		return nil, func() bool { return true }
	}
	c := make(chan struct{})
	return c, f.clock.AfterFunc(f.idle, func() { close(c) })
}
