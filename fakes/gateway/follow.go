package gateway

import (
	"context"
	"errors"
	"time"
)

// errLost says that a subscriber was given up because it was too slow.
var errLost = errors.New("the reader is too slow: output beyond a backlog of 8 MiB was not kept for it")

// Follow sends the events of a process to a stream of the process service: start,
// the output, and the end. It returns the error that ends the stream.
type Follow func(ctx context.Context, s *Stream) error

// Stream is one subscriber of a process, and where its events go.
type Stream struct {
	Process *Process
	Table   Table
	Sink    EventSink
	// Started says that the stream started the process, by Start; Connect did not.
	Started bool

	sub *Subscriber // nil before its time: Follow subscribes then
	// clock sends a keepalive event after idle; 0 sends none.
	clock clock
	idle  time.Duration
	// owner says that the deadline of the stream is also that of the process, and
	// ends the stream with an error instead of an end event.
	owner bool
}

// Close ends the subscription. It may be called again.
func (s *Stream) Close() {
	if s.sub != nil {
		s.sub.close()
	}
}

// follow is the Follow of the reference. Its error is that of the context, of the
// sink, or errLost.
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
			s.Table.Expire(s.Process) // what it has written still comes, then the end
			done = nil
		}
		stop()
		if err != nil {
			return err
		}
	}
}

// drain sends the queued chunks, and the end after the last.
func (s *Stream) drain() (ended bool, err error) {
	batch, ended, lost := s.sub.take()
	for i, c := range batch {
		e := Event{Kind: EventData, Chunk: c, More: ended || i < len(batch)-1}
		if err := s.Sink.Send(e); err != nil {
			return false, err
		}
		s.sub.sent(len(c.Data))
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
