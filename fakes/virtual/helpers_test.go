package virtual

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/testkit"
)

// patience limits the wait for what must happen; it expires only when something is broken.
const patience = testkit.Limit

// recorder collects output.
type recorder struct {
	mu      sync.Mutex
	out     bytes.Buffer
	err     bytes.Buffer
	changed chan struct{}
}

func (r *recorder) output(s Stream, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == Stdout {
		r.out.Write(p)
	} else {
		r.err.Write(p)
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *recorder) texts() (out, err string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String(), r.err.String()
}

// await blocks until stdout is want.
func (r *recorder) await(t *testing.T, want string) {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		got := r.out.String()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if got == want {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("stdout is %q, still not %q", got, want)
		}
	}
}

func arrives(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %v", what, patience)
	}
}

func start(t *testing.T, s *System, spec Spec) (*Process, *recorder) {
	t.Helper()
	rec := &recorder{}
	spec.Output = rec.output
	p, err := s.Start(spec)
	if err != nil {
		t.Fatalf("start %q: %v", spec.Argv, err)
	}
	return p, rec
}

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

// outcome is how a script ended.
type outcome struct {
	stdout, stderr string
	status         Status
}

// run runs a command until its output has drained, with stdin unless it is empty.
func run(t *testing.T, s *System, spec Spec, stdin string) outcome {
	t.Helper()
	spec.Stdin = stdin != ""
	p, rec := start(t, s, spec)
	if spec.Stdin {
		// A process that does not read may have ended already.
		if err := p.Write(context.Background(), []byte(stdin)); err != nil && !errors.Is(err, ErrBrokenPipe) {
			t.Fatalf("write stdin: %v", err)
		}
		p.CloseStdin()
	}
	arrives(t, "the end of "+spec.Argv[len(spec.Argv)-1], p.Drained())
	out, errText := rec.texts()
	return outcome{out, errText, p.Status()}
}

// waitsForInput waits until the process, or one that shares its stdin, waits for input.
func waitsForInput(t *testing.T, p *Process) {
	t.Helper()
	testkit.Eventually(t, func() error {
		p.stdin.mu.Lock()
		defer p.stdin.mu.Unlock()
		if p.stdin.changed == nil {
			return errors.New("nobody reads stdin")
		}
		return nil
	})
}

func system(t *testing.T) *System {
	t.Helper()
	s := New(Options{})
	t.Cleanup(s.KillAll)
	return s
}

func signalOf(t *testing.T, p *Process, sig syscall.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil {
		t.Fatalf("signal %v: %v", sig, err)
	}
}
