package gateway

import (
	"context"
	"errors"
	"time"
)

// errLost reports that a subscriber was dropped because it was too slow.
var errLost = errors.New("the reader is too slow: output beyond its backlog of 8 MiB was dropped")

// Follow sends the events of a process to a stream of the process service: start,
// the output, and the end. It returns the error that ends the stream.
type Follow func(ctx context.Context, s *Stream) error

// Stream is one subscriber of a process and the sink of its events.
type Stream struct {
	Process *Process
	Table   Table
	Sink    EventSink
	// Started reports that Start created the stream, not Connect.
	Started bool

	sub *Subscriber // nil: Follow subscribes
	// A keepalive event follows after idle on clock; an idle of 0 sends none.
	clock clock
	idle  time.Duration
	// owner means that the deadline of the stream also kills the process, and that
	// the stream then ends with an error instead of an end event.
	owner bool
}

// Close ends the subscription. It is idempotent.
func (s *Stream) Close() {
	if s.sub != nil {
		s.sub.close()
	}
}

// follow is the Follow of the reference. It returns the error of the context or of
// the sink, or errLost.
func follow(ctx context.Context, s *Stream) error {
	if s.sub == nil {
		s.sub = s.Process.hub.subscribe()
	}
	if err := s.Sink.Send(Event{Kind: EventStart, PID: s.Process.PID}); err != nil {
		return err
	}
	done := ctx.Done()
	for {
		ended, err := s.drain()
		if err != nil || ended {
			return err
		}
		beat, stop := s.timer()
		select {
		case <-s.sub.ready:
		case <-beat:
			err = s.Sink.Send(Event{Kind: EventKeepAlive})
		case <-done:
			if !s.owner || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = ctx.Err()
				break
			}
			s.Table.Expire(s.Process) // its output so far and the end still follow
			done = nil
		}
		stop()
		if err != nil {
			return err
		}
	}
}

// drain sends the queued chunks, and the end event after the last one.
func (s *Stream) drain() (ended bool, err error) {
	batch, ended, lost := s.sub.take()
	for i, c := range batch {
		e := Event{Kind: EventData, Chunk: c, More: ended || i < len(batch)-1}
		if err := s.Sink.Send(e); err != nil {
			return false, err
		}
		s.sub.sent(c.size())
	}
	switch {
	case lost:
		return false, errLost
	case !ended:
		return false, nil
	case s.owner && s.Process.endedBy() == byDeadline:
		return true, context.DeadlineExceeded
	default:
		return true, s.Sink.Send(Event{Kind: EventEnd, End: *s.Process.ending()})
	}
}

// timer fires once after the idle time.
func (s *Stream) timer() (fired <-chan struct{}, stop func() bool) {
	if s.idle <= 0 {
		return nil, func() bool { return true }
	}
	c := make(chan struct{})
	return c, s.clock.AfterFunc(s.idle, func() { close(c) })
}
