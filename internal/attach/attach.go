package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/crash"
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
	// waitingControls is the number of sizes and signals that wait to be sent.
	waitingControls = 16
)

// Result is the end of a session.
type Result struct {
	// Code is the exit code of the command: 128+n if it died of signal n. It is 0 after Ctrl+], 128+n
	// after three signals n, and 141 when the reader of stdout is gone.
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
	keys     *keyboard // nil: nothing is read
	pending  []byte    // input that was not sent
	lastByte byte      // of the input
	ended    bool      // the end of the input was sent
	said     string    // the last refusal that was told
	seams    [2]seam   // of stdout and stderr
	signals  int       // in a row
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
	var senders sync.WaitGroup
	senders.Go(func() {
		defer crash.Catch()
		s.sendControls(ctx, controls, tell)
	})
	if s.keys != nil {
		senders.Go(func() {
			defer crash.Catch()
			s.sendInput(ctx, l, tell)
		})
	}
	go func() {
		defer crash.Catch()
		s.follow(l, tell)
	}()
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
	if s.ended && s.finish(ctx, l, tell) != nil { // it may not have come through
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
		default:
			return // the receiver sees why
		}
		s.lastByte = s.pending[len(s.pending)-1]
		s.pending = nil
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

// dispatcher reacts to all that happens on one link.
type dispatcher struct {
	*session
	ctx      context.Context
	link     link
	controls chan<- func() error

	later <-chan time.Time // when the remark is due
	text  string
	quiet <-chan time.Time // when stdin has been over for a while
}

func (d *dispatcher) loop(arrivals <-chan arrival) verdict {
	left, lost := (<-chan struct{})(nil), (<-chan struct{})(nil)
	if d.keys != nil {
		left, lost = d.keys.left, d.keys.lost
	}
	for {
		select {
		case a := <-arrivals:
			if v, over := d.arrived(a); over {
				return v
			}
		case <-left:
			return verdict{left: true}
		case <-lost:
			d.note("input was dropped: the command takes none")
		case sig := <-d.o.Local.Signals:
			if v, over := d.signalled(sig); over {
				return v
			}
		case <-d.o.Local.Resized:
			d.resize()
		case <-d.later:
			d.later = nil
			if d.text != d.said {
				d.said = d.text
				d.note("%s", d.text)
			}
		case <-d.quiet:
			d.quiet = nil
			d.note("stdin has ended; the command still runs. Not every gateway can tell it that stdin has ended")
		case <-d.ctx.Done():
			return verdict{left: true, err: d.ctx.Err()}
		}
	}
}

func (d *dispatcher) arrived(a arrival) (v verdict, over bool) {
	switch {
	case a.lost != nil:
		return verdict{lost: a.lost}, true
	case a.gone != nil:
		return verdict{err: &OutputError{a.gone}}, true
	case a.event.kind == eventExit:
		return verdict{code: a.event.code}, true
	case a.event.kind == eventRefusal && d.quiet != nil && strings.Contains(a.event.text, "eof"):
		d.quiet = nil
		d.remark(noEnd(a.event.text))
	case a.event.kind == eventRefusal:
		d.remark("the gateway: " + oneLine(a.event.text))
	case a.eof && d.route.socket:
		d.quiet = d.o.Clock.After(stillWaits)
	case a.later != "":
		d.remark(a.later)
	}
	return verdict{}, false
}

// remark tells a sentence in a moment, unless the command ends.
func (d *dispatcher) remark(text string) {
	if d.later == nil {
		d.later = d.o.Clock.After(afterthought)
	}
	d.text = text
}

// signalled sends a signal on. The third in a row leaves, and so does the hangup of the local terminal.
func (d *dispatcher) signalled(sig Signal) (v verdict, over bool) {
	now := d.o.Clock.Now()
	if now.Sub(d.signal) > inARow {
		d.signals = 0
	}
	d.signals++
	d.signal = now
	hangup := sig.Name == "SIGHUP" && d.o.Local.Typed
	if d.signals >= insistent || hangup && d.o.Session != "" {
		return verdict{left: true, code: codeOfSignal + sig.Number}, true
	}
	if d.o.Role == RoleViewer {
		d.note("a viewer sends no signals: %d more leave", insistent-d.signals)
		return verdict{}, false
	}
	if !d.control(func() error { return d.link.signal(d.ctx, sig) }) {
		d.note("the gateway takes nothing; a further signal leaves")
	}
	if hangup {
		return verdict{left: true, code: codeOfSignal + sig.Number}, true
	}
	return verdict{}, false
}

// resize sends the size of the terminal.
func (d *dispatcher) resize() {
	size := d.size()
	if size.Cols <= 0 || size.Rows <= 0 {
		return
	}
	d.o.Record.Resized(size)
	if d.o.Role != RoleViewer {
		d.control(func() error { return d.link.resize(d.ctx, size) })
	}
}

// control sends in the background. It returns false if too much waits.
func (d *dispatcher) control(send func() error) bool {
	select {
	case d.controls <- send:
		return true
	default:
		return false
	}
}

// OutputError is stdout or stderr that cannot be written.
type OutputError struct{ Err error }

// Error names the cause.
func (e *OutputError) Error() string { return fmt.Sprintf("the output cannot be written: %v", e.Err) }

// Unwrap returns the cause.
func (e *OutputError) Unwrap() error { return e.Err }
