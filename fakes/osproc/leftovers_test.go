//go:build unix

package osproc_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"assay/fakes/osproc"
	"assay/fakes/virtual"
	"assay/internal/testkit"
)

func TestKillAllReachesWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := system(t)
	quiet, out := start(t, s, virtual.Spec{Argv: sh("sleep 1000 >/dev/null 2>&1 & echo $!")})
	arrives(t, "drain", quiet.Drained())
	left, err := strconv.Atoi(strings.TrimSpace(out.out.String()))
	if err != nil || !alive(left) {
		t.Fatalf("%q does not live", out.out.String())
	}
	loud, _ := start(t, s, virtual.Spec{Argv: sh("sleep 1000 & exit")})
	shell, typed := start(t, s, virtual.Spec{Argv: []string{"sh"}, PTY: &virtual.Size{}, Env: map[string]string{"PS1": "> "}})
	await(t, typed, "> ")
	if err := shell.Write(context.Background(), []byte("trap '' HUP; sleep 1000 & echo =$!=\n")); err != nil {
		t.Fatal(err)
	}
	await(t, typed, "=\r\n> ")
	_, rest, _ := strings.Cut(typed.out.String(), "\n=")
	job, err := strconv.Atoi(rest[:strings.IndexByte(rest, '=')])
	if err != nil || !alive(job) {
		t.Fatalf("%q does not live", rest)
	}
	arrives(t, "exit", loud.Exited())
	s.KillAll()
	for name, pid := range map[string]int{"a child without output": left, "a job of a shell": job} {
		if alive(pid) {
			t.Errorf("%s lives", name)
		}
	}
	for _, p := range []*osproc.Process{loud, shell} {
		arrives(t, "drain", p.Drained())
	}
	s.KillAll()
}

func TestKillAllDoesNotWaitForWhoHasLeftTheSession(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("SKIPPED: no setsid here")
	}
	s := system(t)
	p, out := start(t, s, virtual.Spec{Argv: sh(`setsid sh -c 'echo $$; exec sleep 1000' & wait`)})
	await(t, out, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(out.out.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	s.KillAll()
	arrives(t, "drain", p.Drained())
	if !alive(pid) {
		t.Error("a process outside of the session was killed")
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("SKIPPED: descriptors cannot be counted here: %v", err)
	}
	return len(entries)
}

func TestNothingIsLeftOfManyProcesses(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	s := system(t)
	batch := func() {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				spec := virtual.Spec{Argv: sh("seq 1 2000; cat; exit 5"), Stdin: true}
				switch i % 5 {
				case 1:
					spec.PTY = &virtual.Size{Cols: 80, Rows: 24}
				case 2:
					spec.Argv = []string{"no-such-command-here"}
				case 3:
					spec.Stdin = false
				}
				out := &screen{}
				spec.Output = out.output
				p, err := s.Start(spec)
				if err != nil {
					t.Error(err)
					return
				}
				if spec.PTY != nil {
					_ = p.Write(context.Background(), []byte{4})
				}
				p.CloseStdin()
				arrives(t, "drain", p.Drained())
				want := virtual.Status{Code: 5}
				if i%5 == 2 {
					want.Code = 127
				} else if got := bytes.Count(out.out.Bytes(), []byte("\n")); got != 2000 {
					t.Errorf("%d lines, want 2000", got)
				}
				if p.Status() != want {
					t.Errorf("ended with %+v, want %+v", p.Status(), want)
				}
				if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID())); err == nil && !alive(int(p.PID())) {
					t.Errorf("%d is a zombie", p.PID())
				}
			})
		}
		all.Wait()
	}
	batch()
	before := descriptors(t)
	batch()
	testkit.Eventually(t, func() error {
		if n := descriptors(t); n > before {
			return fmt.Errorf("%d descriptors are open, %d before", n, before)
		}
		return nil
	})
}

func TestAFailedStartLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	s := system(t)
	before := descriptors(t)
	for range 20 {
		for _, pty := range []*virtual.Size{nil, {}} {
			if _, err := s.Start(virtual.Spec{Argv: append([]string{"true"}, repeat(strings.Repeat("x", 100<<10), 20)...), PTY: pty, Stdin: true,
				Env: map[string]string{"A": strings.Repeat("x", 40<<10)}}); err == nil {
				t.Skip("SKIPPED: this host takes longer argument lists than Linux does by default")
			}
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
