package attach

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sendControls sends sizes and signals.
func (s *session) sendControls(ctx context.Context, controls <-chan func() error, tell func(arrival) bool) {
	for {
		select {
		case <-ctx.Done():
			return
		case send := <-controls:
			if err := send(); err != nil && ctx.Err() == nil {
				tell(arrival{later: err.Error()})
			}
		}
	}
}

// sendInput sends the input, in order. Only one runs at a time.
func (s *session) sendInput(ctx context.Context, l link, tell func(arrival) bool) {
	if s.ended { // it may not have come through
		_ = s.finish(ctx, l, tell)
		return
	}
	for {
		if len(s.pending) == 0 {
			var open bool
			select {
			case <-ctx.Done():
				return
			case s.pending, open = <-s.keys.chunks:
			}
			if !open {
				_ = s.finish(ctx, l, tell)
				return
			}
			s.pending = s.keys.more(s.pending)
		}
		if s.o.Role == RoleViewer {
			s.pending = nil
			tell(arrival{later: "a viewer sends no input; Ctrl+] leaves"})
			continue
		}
		err := l.input(ctx, s.pending)
		var no *refusal
		switch {
		case err == nil:
		case errors.As(err, &no):
			if !tell(arrival{later: no.text}) {
				return
			}
		case !s.retry(ctx, err, tell):
			return
		default:
			continue
		}
		s.lastByte = s.pending[len(s.pending)-1]
		s.pending = nil
	}
}

// retryInput is the pause before input is sent again.
const retryInput = 250 * time.Millisecond

// retry waits before input is sent again that did not get through. It returns false once the connection
// is over: the next link sends it.
func (s *session) retry(ctx context.Context, err error, tell func(arrival) bool) bool {
	if !tell(arrival{later: fmt.Sprintf("input cannot be sent: %v; trying again", rootOf(err))}) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.o.Clock.After(retryInput):
		return true
	}
}

// finish sends the end of the input: Ctrl+D to a terminal, twice behind an unfinished line.
func (s *session) finish(ctx context.Context, l link, tell func(arrival) bool) error {
	var err error
	switch {
	case s.o.PTY && s.ended: // a second Ctrl+D could end another program
		return nil
	case s.o.PTY && s.lastByte != '\n' && s.lastByte != 0:
		err = l.input(ctx, []byte{endKey, endKey})
	case s.o.PTY:
		err = l.input(ctx, []byte{endKey})
	default:
		err = l.end(ctx)
	}
	s.ended = true
	var no *refusal
	if errors.As(err, &no) {
		tell(arrival{later: noEnd(no.text)})
		return nil
	}
	if err == nil && !s.o.PTY {
		tell(arrival{eof: true})
	}
	return err
}

// noEnd says that a gateway cannot end stdin.
func noEnd(why string) string {
	return "this gateway has no end of stdin (" + oneLine(why) + "): waiting for the command to exit"
}
