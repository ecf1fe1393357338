package attach_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/internal/command/attach"
	"assay/internal/target"
	"assay/internal/testkit"
)

// patience bounds every wait of a test.
const patience = 60 * time.Second

// surfaces are both ways to a command.
var surfaces = []string{attach.OverSocket, attach.OverProcess}

// gatewayOf starts a gateway.
func gatewayOf(t *testing.T, o gateway.Options) string {
	t.Helper()
	g, err := gateway.Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g.URL()
}

// text is output that a test waits for.
type text struct {
	mu      sync.Mutex
	all     bytes.Buffer
	changed chan struct{}
}

func newText() *text { return &text{changed: make(chan struct{})} }

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all.Write(p)
	close(x.changed)
	x.changed = make(chan struct{})
	return len(p), nil
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.String()
}

// until waits for a part.
func (x *text) until(t *testing.T, part string) {
	t.Helper()
	x.untilTimes(t, part, 1)
}

// untilTimes waits for a part that comes n times.
func (x *text) untilTimes(t *testing.T, part string, n int) {
	t.Helper()
	due := time.After(patience)
	for {
		x.mu.Lock()
		there, changed := strings.Count(x.all.String(), part) >= n, x.changed
		x.mu.Unlock()
		if there {
			return
		}
		select {
		case <-changed:
		case <-due:
			t.Fatalf("%q is not %d times in %q", part, n, x.String())
		}
	}
}

// terminal is a local terminal.
type terminal struct {
	mu     sync.Mutex
	size   attach.Size
	raw    bool
	clears int
}

func (l *terminal) Raw() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.raw = true
	return nil
}

func (l *terminal) Size() attach.Size {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

func (l *terminal) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clears++
}

func (l *terminal) set(s attach.Size) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size = s
}

// running is a session under way.
type running struct {
	t               *testing.T
	in              *io.PipeWriter
	out, err, notes *text
	terminal        *terminal
	signals         chan attach.Signal
	resized         chan struct{}
	attached        chan struct{}
	done            chan struct{}
	result          attach.Result
	failure         error
}

// run begins a session. The test ends it.
func run(t *testing.T, o attach.Options) *running {
	t.Helper()
	in, keys := io.Pipe()
	r := &running{
		t: t, in: keys, out: newText(), err: newText(), notes: newText(), signals: make(chan attach.Signal), resized: make(chan struct{}, 1),
		attached: make(chan struct{}), done: make(chan struct{}),
	}
	if o.PTY {
		r.terminal = &terminal{size: attach.Size{Cols: 80, Rows: 24}}
		o.Local.Terminal, o.Local.Typed = r.terminal, true
	}
	if o.Local.In == nil {
		o.Local.In = in
	}
	if o.Local.Out == nil {
		o.Local.Out = r.out
	}
	o.Local.Err, o.Local.Signals, o.Local.Resized = r.err, r.signals, r.resized
	o.Local.Note = func(s string) { _, _ = io.WriteString(r.notes, s+"\n") }
	o.Local.Attached = func() { close(r.attached) }
	go func() {
		defer close(r.done)
		r.result, r.failure = attach.Run(context.WithoutCancel(t.Context()), o)
	}()
	t.Cleanup(func() {
		_ = keys.Close()
		_ = in.Close()
		r.wait()
	})
	return r
}

// wait waits for the end of the session.
func (r *running) wait() {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatalf("the session does not end; stdout %q, stderr %q, notes %q", r.out, r.err, r.notes)
	}
}

// ends requires a code.
func (r *running) ends(code int) {
	r.t.Helper()
	r.wait()
	if r.failure != nil || r.result.Code != code {
		r.t.Errorf("code %d, %v; want %d; stdout %q, stderr %q, notes %q", r.result.Code, r.failure, code, r.out, r.err, r.notes)
	}
}

func (r *running) types(keys string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, keys); err != nil {
		r.t.Fatal(err)
	}
}

// sends sends a signal to this side.
func (r *running) sends(name string, number int) {
	r.t.Helper()
	select {
	case r.signals <- attach.Signal{Name: name, Number: number}:
	case <-r.done:
		r.t.Error("the session is over")
	case <-time.After(patience):
		r.t.Fatal("the session takes no signal")
	}
}

// script is a session with a shell script.
func script(url, over, text string) attach.Options {
	return attach.Options{Target: target.Options{URL: url, UserAgent: "assay/test", TimeScale: testkit.Slowdown}, Over: over, Command: "sh", Args: []string{"-c", text}}
}

// runPiped is run for a PTY whose input is a pipe.
func runPiped(t *testing.T, o attach.Options) *running {
	t.Helper()
	r := &running{t: t, out: newText(), err: newText(), notes: newText(), done: make(chan struct{})}
	o.Local.Out, o.Local.Err = r.out, r.err
	go func() {
		defer close(r.done)
		r.result, r.failure = attach.Run(context.WithoutCancel(t.Context()), o)
	}()
	return r
}
