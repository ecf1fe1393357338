//go:build unix

package osproc_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/fakes/osproc"
	"assay/fakes/virtual"
	"assay/internal/testkit"
)

// patience limits one step; it expires only when something is broken.
const patience = testkit.Limit

// row is one script and the result that both kinds of processes must produce.
type row struct {
	name  string
	argv  []string // default: /bin/sh -c text
	text  string
	env   map[string]string
	stdin bool
	pty   *virtual.Size
	steps []step

	out    string // stdout, or all output of a terminal
	err    string // a pattern for all of stderr; "" means no stderr
	code   int
	signal syscall.Signal
	strip  string // a pattern of output that is not compared
}

// step is one action on the process.
type step struct {
	await  string // first, wait until the output contains this, after the matches of earlier steps
	write  string
	close  bool
	signal syscall.Signal
	resize *virtual.Size
	exited bool // first, wait for the end of the process itself
}

// process is the common interface of both kinds.
type process interface {
	PID() uint32
	Exited() <-chan struct{}
	Drained() <-chan struct{}
	Status() virtual.Status
	Write(ctx context.Context, b []byte) error
	CloseStdin()
	Signal(sig syscall.Signal) error
	Resize(to virtual.Size) error
}

var (
	_ process = (*virtual.Process)(nil)
	_ process = (*osproc.Process)(nil)
)

// kind is one kind of process.
type kind struct {
	name  string
	start func(spec virtual.Spec) (process, error)
	end   func()
}

func kinds(t *testing.T) []kind {
	t.Helper()
	v := virtual.New(virtual.Options{})
	// A home of its own: a login shell would read the profile of whoever runs the tests.
	o := osproc.New(osproc.Options{Home: t.TempDir()})
	t.Cleanup(o.KillAll)
	t.Cleanup(v.KillAll)
	return []kind{
		{"virtual", func(spec virtual.Spec) (process, error) { return v.Start(spec) }, v.KillAll},
		{"os", func(spec virtual.Spec) (process, error) { return o.Start(spec) }, o.KillAll},
	}
}

// screen collects output.
type screen struct {
	mu      sync.Mutex
	out     bytes.Buffer
	err     bytes.Buffer
	changed chan struct{}
}

func (s *screen) output(stream virtual.Stream, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream == virtual.Stderr {
		s.err.Write(p)
	} else {
		s.out.Write(p)
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// await waits until the output contains text from an offset on, and returns the end of
// the match.
func (s *screen) await(from int, text string) (int, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		s.mu.Lock()
		got := s.out.String()
		if at := strings.Index(got[from:], text); at >= 0 {
			s.mu.Unlock()
			return from + at + len(text), nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-limit.C:
			return 0, fmt.Errorf("output is %q and never contains %q after %d bytes", got, text, from)
		}
	}
}

func (r row) run(t *testing.T, k kind, dir string) {
	t.Helper()
	argv := r.argv
	if argv == nil {
		argv = []string{"/bin/sh", "-c", r.text}
	}
	s := &screen{}
	p, err := k.start(virtual.Spec{Argv: argv, Env: r.env, Dir: dir, Stdin: r.stdin, PTY: r.pty, Output: s.output})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for i, st := range r.steps {
		if at, err = st.do(p, s, at); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	select {
	case <-p.Drained():
	case <-time.After(patience):
		t.Fatalf("does not end; so far %q, stderr %q", s.out.String(), s.err.String())
	}
	out, errText := s.out.String(), s.err.String()
	if r.strip != "" {
		out = regexp.MustCompile(r.strip).ReplaceAllString(out, "")
	}
	if out != r.out {
		t.Errorf("output\n got %q\nwant %q", out, r.out)
	}
	if r.err == "" && errText != "" || !regexp.MustCompile("^(?:"+r.err+")$").MatchString(errText) {
		t.Errorf("stderr %q does not match %q", errText, r.err)
	}
	if got, want := p.Status(), (virtual.Status{Code: r.code, Signal: r.signal}); got != want {
		t.Errorf("ended with %+v, want %+v", got, want)
	}
}

func (st step) do(p process, s *screen, at int) (int, error) {
	if st.await != "" {
		var err error
		if at, err = s.await(at, st.await); err != nil {
			return at, err
		}
	}
	if st.exited {
		select {
		case <-p.Exited():
		case <-time.After(patience):
			return at, fmt.Errorf("the process does not end")
		}
	}
	if st.write != "" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Write(ctx, []byte(st.write)); err != nil {
			return at, fmt.Errorf("write %q: %w", st.write, err)
		}
	}
	switch {
	case st.close:
		p.CloseStdin()
	case st.signal != 0:
		return at, p.Signal(st.signal)
	case st.resize != nil:
		return at, p.Resize(*st.resize)
	}
	return at, nil
}

// TestBothKindsOfProcessesAgree runs every row as a virtual and as a real process.
func TestBothKindsOfProcessesAgree(t *testing.T) {
	t.Parallel()
	if real, err := filepath.EvalSymlinks("/bin/sh"); err != nil || filepath.Base(real) != "dash" {
		t.Skipf("SKIPPED: /bin/sh is %q, not dash: the two kinds are not compared", real)
	}
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("SKIPPED: no pseudo-terminals here")
	}
	rows := allRows()
	terminals := 0
	for _, r := range rows {
		if r.pty != nil {
			terminals++
		}
	}
	if len(rows) < 60 || terminals < 15 {
		t.Errorf("%d rows, %d on a terminal; want at least 60 and 15", len(rows), terminals)
	}
	t.Run("rows", func(t *testing.T) {
		for i, name := range []string{"virtual", "os"} {
			for _, r := range rows {
				t.Run(name+"/"+r.name, func(t *testing.T) {
					t.Parallel()
					dir := "/tmp" // every virtual system has its own
					if name == "os" {
						dir = t.TempDir()
					}
					r.run(t, kinds(t)[i], dir)
				})
			}
		}
	})
}
