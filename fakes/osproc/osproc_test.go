//go:build unix

package osproc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/fakes/osproc"
	"assay/fakes/virtual"
	"assay/internal/testkit"
)

func arrives(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %v", what, patience)
	}
}

func system(t *testing.T) *osproc.System {
	t.Helper()
	// A home of its own: a login shell would read the profile of whoever runs the tests.
	s := osproc.New(osproc.Options{Home: t.TempDir()})
	t.Cleanup(s.KillAll)
	return s
}

func start(t *testing.T, s *osproc.System, spec virtual.Spec) (*osproc.Process, *screen) {
	t.Helper()
	out := &screen{}
	spec.Output = out.output
	p, err := s.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

func sh(text string) []string { return []string{"/bin/sh", "-c", text} }

// await waits for text on the screen, and fails the test without it.
func await(t *testing.T, s *screen, text string) {
	t.Helper()
	if _, err := s.await(0, text); err != nil {
		t.Fatal(err)
	}
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestBothKindsRefuseTheSameInTheSameWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		spec virtual.Spec
		text string
	}{
		{"a missing directory", virtual.Spec{Argv: []string{"true"}, Dir: "/no/such/dir"}, "cwd '/no/such/dir' does not exist"},
		{"a path that is not clean", virtual.Spec{Argv: []string{"true"}, Dir: "/no/../no/./dir/"}, "cwd '/no/dir' does not exist"},
		{"a file as directory", virtual.Spec{Argv: []string{"true"}, Dir: "/etc/passwd"}, "not a directory"},
		{"a NUL in an argument", virtual.Spec{Argv: []string{"true", "a\x00b"}}, "invalid argument"},
		{"a NUL in the environment", virtual.Spec{Argv: []string{"true"}, Env: map[string]string{"A": "\x00"}}, "invalid argument"},
		{"a NUL in the directory", virtual.Spec{Argv: []string{"true"}, Dir: "/tmp\x00"}, "invalid argument"},
		{"an argument of 128 KiB", virtual.Spec{Argv: []string{"true", strings.Repeat("x", 128<<10)}}, "argument list too long"},
		{"an environment of 128 KiB", virtual.Spec{Argv: []string{"true"}, Env: map[string]string{"A": strings.Repeat("x", 128<<10)}}, "argument list too long"},
		{"arguments of 3 MiB", virtual.Spec{Argv: append([]string{"true"}, repeat(strings.Repeat("x", 100<<10), 31)...)}, "argument list too long"},
	} {
		for _, k := range kinds(t) {
			t.Run(k.name+"/"+row.name, func(t *testing.T) {
				_, err := k.start(row.spec)
				var spawn *virtual.SpawnError
				if !errors.As(err, &spawn) || spawn.Reason != row.text {
					t.Errorf("error %v, want %q", err, row.text)
				}
			})
		}
	}
}

func repeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func TestAnArgumentAsLongAsAllowedRuns(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		s := &screen{}
		p, err := k.start(virtual.Spec{Argv: []string{"printf", "%s", strings.Repeat("x", 128<<10-1)}, Output: s.output})
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		arrives(t, "drain", p.Drained())
		if s.out.Len() != 128<<10-1 || p.Status() != (virtual.Status{}) {
			t.Errorf("%s: %d bytes, %+v", k.name, s.out.Len(), p.Status())
		}
	}
}

func TestBothKindsAnswerCallsAfterTheEndAlike(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			ctx := context.Background()
			check := func(what string, got, want error) {
				t.Helper()
				if !errors.Is(got, want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			p, err := k.start(virtual.Spec{Argv: []string{"cat"}})
			if err != nil {
				t.Fatal(err)
			}
			check("write without stdin", p.Write(ctx, []byte("x")), virtual.ErrStdinClosed)
			check("resize without a terminal", p.Resize(virtual.Size{}), virtual.ErrNoTerminal)
			p.CloseStdin()
			arrives(t, "drain", p.Drained())
			check("signal after the end", p.Signal(syscall.SIGTERM), virtual.ErrEnded)
			check("signal 0 after the end", p.Signal(0), virtual.ErrEnded)
			check("no signal", p.Signal(65), syscall.EINVAL)
			check("no signal", p.Signal(-1), syscall.EINVAL)

			s := &screen{}
			if p, err = k.start(virtual.Spec{Argv: sh("echo r; exec <&-; trap 'exit 3' TERM; while :; do :; done"), Stdin: true, Output: s.output}); err != nil {
				t.Fatal(err)
			}
			check("signal 0", p.Signal(0), nil)
			await(t, s, "r")
			p.CloseStdin()
			p.CloseStdin()
			check("write after CloseStdin", p.Write(ctx, []byte("x")), virtual.ErrStdinClosed)
			check("signal", p.Signal(syscall.SIGTERM), nil)
			arrives(t, "drain", p.Drained())
			check("write after the end", p.Write(ctx, []byte("x")), virtual.ErrBrokenPipe)

			if p, err = k.start(virtual.Spec{Argv: []string{"true"}, PTY: &virtual.Size{}}); err != nil {
				t.Fatal(err)
			}
			arrives(t, "drain", p.Drained())
			check("resize after the end", p.Resize(virtual.Size{Cols: 1}), virtual.ErrEnded)
			check("typing after the end", p.Write(ctx, []byte("x")), virtual.ErrBrokenPipe)
		})
	}
}

func TestAWriteToAFullPipeCanBeGivenUp(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			p, err := k.start(virtual.Spec{Argv: []string{"sleep", "100"}, Stdin: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Write(context.Background(), make([]byte, 64<<10)); err != nil {
				t.Fatalf("64 KiB do not fit: %v", err)
			}
			gaveUp := errors.New("gave up")
			for range 2 {
				ctx, cancel := context.WithCancelCause(context.Background())
				done := make(chan error, 1)
				go func() { done <- p.Write(ctx, []byte("x")) }()
				select {
				case err := <-done:
					t.Fatalf("a full pipe took more: %v", err)
				case <-time.After(20 * time.Millisecond):
				}
				cancel(gaveUp)
				if err := <-done; !errors.Is(err, gaveUp) {
					t.Errorf("write ended with %v", err)
				}
			}
			done := make(chan error, 1)
			go func() { done <- p.Write(context.Background(), []byte("x")) }()
			if err := p.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			if err := <-done; !errors.Is(err, virtual.ErrBrokenPipe) {
				t.Errorf("write to an ended process: %v", err)
			}
			arrives(t, "drain", p.Drained())
		})
	}
}

func TestAProcessHasExitedBeforeItsChildrenLetGo(t *testing.T) {
	t.Parallel()
	p, out := start(t, system(t), virtual.Spec{Argv: sh("seq 1 5000; (read x <&3; echo late) 3<&0 & exit 3"), Stdin: true})
	arrives(t, "exit", p.Exited())
	out.mu.Lock()
	got := out.out.String()
	out.mu.Unlock()
	if !strings.Contains(got, "\n5000\n") || p.Status() != (virtual.Status{Code: 3}) {
		t.Errorf("at the exit the output ends %q, status %+v", got[max(0, len(got)-10):], p.Status())
	}
	arrives(t, "drain", p.Drained()) // stdin is closed at the exit, so the child continues
	if !strings.HasSuffix(out.out.String(), "5000\nlate\n") {
		t.Errorf("the output ends %q", out.out.String()[out.out.Len()-10:])
	}
}

func TestExitedWaitsForWhatWasWritten(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	var once sync.Once
	out := &screen{}
	p, err := system(t).Start(virtual.Spec{Argv: sh("seq 1 5; sleep 0.05; seq 6 5000; sleep 1000 & exit 3"), Output: func(s virtual.Stream, b []byte) {
		once.Do(func() { entered <- struct{}{} })
		<-release
		out.output(s, b)
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	testkit.Eventually(t, func() error {
		if alive(int(p.PID())) {
			return errors.New("the process lives")
		}
		return nil
	})
	select {
	case <-p.Exited():
		t.Error("exited before its output was delivered")
	case <-time.After(50 * time.Millisecond): // longer than the path from the end of the process to Exited
	}
	close(release)
	arrives(t, "exit", p.Exited())
	out.mu.Lock()
	defer out.mu.Unlock()
	if got := out.out.String(); !strings.HasSuffix(got, "\n5000\n") {
		t.Errorf("at the exit the output ends %q", got[max(0, len(got)-10):])
	}
}

func TestABlockedOutputDoesNotKeepAKilledProcessAlive(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	var once sync.Once
	s := system(t)
	p, err := s.Start(virtual.Spec{Argv: []string{"yes"}, Output: func(virtual.Stream, []byte) {
		once.Do(func() { entered <- struct{}{} })
		<-release
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	arrives(t, "exit", p.Exited())
	select {
	case <-p.Drained():
		t.Error("drained during a delivery")
	default:
	}
	close(release)
	arrives(t, "drain", p.Drained())
}

func TestHomeAndWorkingDirectory(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := osproc.New(osproc.Options{Home: home})
	t.Cleanup(s.KillAll)
	for _, row := range []struct{ user, dir, want string }{
		{"", "", home + " " + home}, {"someone", "sub", home + " " + home + "/sub someone someone"}, {"someone", "/", home + " / someone someone"},
	} {
		p, out := start(t, s, virtual.Spec{Argv: sh("echo $HOME $(pwd) $USER $LOGNAME"), User: row.user, Dir: row.dir})
		arrives(t, "drain", p.Drained())
		if got := out.out.String(); !strings.HasPrefix(got, row.want) {
			t.Errorf("user %q, dir %q: %q, want %q", row.user, row.dir, got, row.want)
		}
	}
	p, out := start(t, system(t), virtual.Spec{Argv: sh("cd && pwd; echo $USER"), User: "nobody-of-that-name"})
	arrives(t, "drain", p.Drained())
	if !strings.HasSuffix(out.out.String(), "\nnobody-of-that-name\n") {
		t.Errorf("an unknown user: %q, stderr %q", out.out.String(), out.err.String())
	}
}

func TestAScriptWithoutAnInterpreterIsRunByTheShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"plain": "echo plain $1\n", "lost": "#!/no/such/interpreter\n", "marked": "#!/bin/sh\necho marked $1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, out, err string
		code           int
	}{
		{"./plain", "plain x\n", "", 0}, {"./marked", "marked x\n", "", 0}, {"./lost", "", "sh: 1: ./lost: not found\n", 127},
	} {
		p, out := start(t, system(t), virtual.Spec{Argv: []string{row.name, "x"}, Dir: dir})
		arrives(t, "drain", p.Drained())
		if out.out.String() != row.out || out.err.String() != row.err || p.Status().Code != row.code {
			t.Errorf("%s: %q, %q, %+v", row.name, out.out.String(), out.err.String(), p.Status())
		}
	}
}
