package attach

import (
	"context"
	"fmt"
	"time"
)

// reconnect connects again after a cut. It returns no link if that is impossible, or the user leaves.
func (s *session) reconnect(ctx context.Context, old link, lost *cut) (link, verdict) {
	switch {
	case lost.final:
		return nil, verdict{err: s.lostFor(lost.reason, "")}
	case s.route.socket && s.o.Session == "":
		return nil, verdict{err: s.lostFor(lost.reason, "A session can be joined again after a cut: name one with --session.")}
	}
	s.note("%s; reconnecting (Ctrl+] leaves)", lost.reason)
	last := lost.reason
	for i, wait := range patience {
		if v, over := s.pause(ctx, wait); over {
			return nil, v
		}
		l, err := s.route.open(ctx, s.o, old, s.size())
		switch {
		case err == nil:
			s.resume()
			return l, verdict{}
		case ctx.Err() != nil:
			return nil, verdict{err: ctx.Err()}
		case isMiss(err):
			return nil, verdict{err: s.lostFor(fmt.Sprintf("%s; coming back failed: %v", lost.reason, err), "The session is over, and its exit code unknown.")}
		}
		last = err.Error()
		if i == 4 {
			s.note("still no connection: trying for another minute")
		}
	}
	return nil, verdict{err: s.lostFor(fmt.Sprintf("%s; %d attempts to reconnect failed, the last: %s", lost.reason, len(patience), last), "")}
}

func (s *session) lostFor(reason, mend string) error {
	return &LostError{URL: s.o.Target.URL, Reason: s.route.target.Redactor().Text(reason), Mend: mend}
}

// pause waits, and ends early when the user leaves.
func (s *session) pause(ctx context.Context, d time.Duration) (v verdict, over bool) {
	left := (<-chan struct{})(nil)
	if s.keys != nil {
		left = s.keys.left
	}
	for due := s.o.Clock.After(d); ; {
		select {
		case <-due:
			return verdict{}, false
		case <-left:
			s.note("left while the connection was cut")
			return verdict{}, true
		case sig := <-s.o.Local.Signals:
			return verdict{code: codeOfSignal + sig.Number}, true
		case <-s.o.Local.Resized: // the new link gets the size
		case <-ctx.Done():
			return verdict{err: ctx.Err()}, true
		}
	}
}

// resume prepares this side for what comes on a new link.
func (s *session) resume() {
	s.o.Record.Mark("reconnected")
	dropped := s.o.Local.Typed && s.keys != nil && s.keys.drop()
	switch {
	case s.route.socket && s.o.Local.Terminal != nil:
		s.o.Local.Terminal.Clear() // the gateway replays what the screen showed
	case s.route.socket:
		for i := range s.seams {
			s.seams[i].again()
		}
		s.note("connected again")
	default:
		s.note("connected again; output of the meantime is lost")
	}
	if dropped {
		s.note("what was typed meanwhile is lost")
	}
}
