package attach

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
)

const (
	// insistent is the number of signals in a row, each within inARow of the one before, that end a
	// session whose command does not end.
	insistent = 3
	inARow    = 3 * time.Second
	// afterthought is how long a refusal waits before it is told: the end of the command explains many.
	afterthought = time.Second
	// stillWaits is how long after the end of stdin a silent command is told of.
	stillWaits = 10 * time.Second
	// mostRemarks bounds the sentences that are told together.
	mostRemarks = 4
	// waitingControls is the number of sizes and signals that wait to be sent.
	waitingControls = 16
)

// Result is the end of a session.
type Result struct {
	// Code is the exit code of the command: 128+n if it died of signal n. It is 0 after Ctrl+], and
	// 128+n after three signals n.
	Code int
}

// LostError is a connection that was cut and did not come back.
type LostError struct{ URL, Reason, Mend string }

// Error says what was cut, why, and what to do.
func (e *LostError) Error() string {
	s := fmt.Sprintf("the connection to %s is lost: %s.", e.URL, e.Reason)
	if e.Mend != "" {
		s += "\n  " + e.Mend
	}
	return s
}

// Run runs a session until its command ends, the user leaves, or the connection is lost. The errors are
// mistakes in the options; a *target.UnreachableError when there is nothing to attach to; a *LostError; those of
// the local terminal and of stdout; and that of ctx, which ends the session as leaving does.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.Check(); err != nil {
		return Result{}, err
	}
	o.Clock = o.Clock.orReal()
	routes, err := o.routes()
	if err != nil {
		return Result{}, err
	}
	s := &session{o: &o}
	r, l, err := o.dial(ctx, routes, s.size())
	if err != nil {
		return Result{}, err
	}
	s.route = r
	return s.run(ctx, l)
}

// session is a session under way.
type session struct {
	o        *Options
	route    route
	keys     *keyboard    // nil: nothing is read
	pending  []byte       // input that was not sent
	lastByte byte         // of the input
	ended    bool         // the end of the input was sent
	said     string       // the last refusal that was told
	seams    [2]seam      // of stdout and stderr
	pieces   atomic.Int64 // of output
	signals  int          // in a row
	signal   time.Time
}

// verdict is how a connection ended.
type verdict struct {
	code int
	left bool
	lost *cut
	err  error
}

// arrival is what the receiver and the senders tell the session.
type arrival struct {
	event event
	lost  *cut
	gone  error  // stdout cannot be written
	later string // a note, unless the command ends in a moment
	eof   bool   // the end of the input was sent
}

func (s *session) size() Size {
	if s.o.Local.Terminal == nil {
		return Size{}
	}
	return s.o.Local.Terminal.Size()
}

func (s *session) note(format string, args ...any) {
	if s.o.Local.Note != nil {
		s.o.Local.Note(fmt.Sprintf(format, args...))
	}
}

// run runs the session on its first link, and on others after cuts.
func (s *session) run(ctx context.Context, l link) (Result, error) {
	local := &s.o.Local
	if local.Attached != nil {
		local.Attached()
	}
	if local.Terminal != nil {
		if err := local.Terminal.Raw(); err != nil {
			l.close(true)
			return Result{}, fmt.Errorf("the terminal cannot be switched to raw mode: %w", err)
		}
	}
	if s.o.Role != RoleViewer || local.Typed {
		s.keys = newKeyboard(local.In, local.Typed, local.Terminal != nil)
		defer close(s.keys.done)
	}
	for again := false; ; again = true {
		v := s.serve(ctx, l, again)
		if v.lost == nil {
			l.close(v.left || v.err != nil)
			if v.left {
				s.farewell()
			}
			return Result{v.code}, v.err
		}
		l.close(false)
		next, v := s.reconnect(ctx, l, v.lost)
		if next == nil {
			return Result{v.code}, v.err
		}
		l = next
	}
}

// farewell says what becomes of the command.
func (s *session) farewell() {
	if s.o.Session != "" {
		s.note("left; session %s goes on without this client", s.o.Session)
		return
	}
	s.note("left; the command was told to end")
}

// serve runs the session on one link.
func (s *session) serve(ctx context.Context, l link, again bool) verdict {
	ctx, cancel := context.WithCancel(ctx)
	arrivals, controls := make(chan arrival), make(chan func() error, waitingControls)
	tell := func(a arrival) bool {
		select {
		case arrivals <- a:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var senders crash.Group
	senders.Go(func() {
		s.sendControls(ctx, controls, tell)
	})
	if s.keys != nil {
		senders.Go(func() {
			s.sendInput(ctx, l, tell)
		})
	}
	crash.Go(func() {
		s.follow(l, tell)
	})
	d := &dispatcher{session: s, ctx: ctx, link: l, controls: controls}
	if again {
		d.resize()
	}
	v := d.loop(arrivals)
	cancel()
	if v.lost != nil {
		senders.Wait() // the next link has senders of its own
	}
	return v
}

// follow shows what comes, until the end.
func (s *session) follow(l link, tell func(arrival) bool) {
	for {
		e, err := l.receive()
		var lost *cut
		switch {
		case errors.As(err, &lost):
			tell(arrival{lost: lost})
			return
		case e.kind == eventOutput:
			gap, err := s.show(e)
			if err != nil {
				tell(arrival{gone: err})
				return
			}
			if gap {
				tell(arrival{later: "output is missing between what came before the cut and what follows"})
			}
		case !tell(arrival{event: e}) || e.kind == eventExit:
			return
		}
	}
}

// show writes output where it belongs. gap says that it does not continue that of before the cut.
func (s *session) show(e event) (gap bool, err error) {
	to, seam := s.o.Local.Out, &s.seams[0]
	if e.stderr {
		to, seam = s.o.Local.Err, &s.seams[1]
	}
	s.pieces.Add(1)
	data := e.data
	if s.o.Local.Terminal == nil && s.rejoins() {
		data, gap = seam.next(data)
	}
	s.o.Record.Output(data)
	_, err = to.Write(data)
	return gap, err
}

// rejoins reports whether a gateway replays output after a cut.
func (s *session) rejoins() bool { return s.route.socket && s.o.Session != "" }

// OutputError is stdout or stderr that cannot be written.
type OutputError struct{ Err error }

// Error names the cause.
func (e *OutputError) Error() string { return fmt.Sprintf("the output cannot be written: %v", e.Err) }

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }
