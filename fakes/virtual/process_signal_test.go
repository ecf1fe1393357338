package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/testkit"
)

func TestASignalReachesOnlyTheProcess(t *testing.T) {
	t.Parallel()
	s := system(t)
	p, rec := start(t, s, Spec{Argv: sh("(" + until("/tmp/go") + "; echo late) & echo $!; sleep 100; echo no")})
	// The foreground command begins after the pid of the background job is printed.
	testkit.Eventually(t, func() error {
		out, _ := rec.texts()
		number, _, whole := strings.Cut(out, "\n")
		if whole && slices.ContainsFunc(s.group(p.PID()), func(child *Process) bool {
			return child.ppid == p.PID() && strconv.FormatUint(uint64(child.PID()), 10) != number
		}) {
			return nil
		}
		return errors.New("the foreground command has not begun")
	})
	signalOf(t, p, syscall.SIGTERM)
	arrives(t, "exit", p.Exited())
	if got := p.Status(); got != (Status{Signal: syscall.SIGTERM}) {
		t.Errorf("status %+v", got)
	}
	select {
	case <-p.Drained():
		t.Error("drained although a child holds the output")
	default:
	}
	if err := p.Signal(syscall.SIGKILL); !errors.Is(err, ErrEnded) {
		t.Errorf("signal after the end: %v, want ErrEnded", err)
	}
	out, _ := rec.texts()
	run(t, s, Spec{Argv: sh(": >/tmp/go")}, "")
	rec.await(t, out+"late\n")
	testkit.Eventually(t, func() error { // the foreground sleep survives
		if n := len(s.group(p.PID())); n != 1 {
			return fmt.Errorf("%d processes live on, want 1", n)
		}
		return nil
	})
	s.KillAll()
	arrives(t, "drain", p.Drained())
}

func TestALoopWithoutCommandsCanBeKilled(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"while":        "while :; do :; done",
		"assignments":  "while x=1; do x=2; done",
		"functions":    "f() { :; }; while f; do f; done",
		"forever":      "for ((;;)); do :; done",
		"writes":       "while echo x; do :; done >/dev/null",
		"substitution": "while :; do x=$(echo y); done",
		"pipelines":    "while :; do echo x | cat >/dev/null; done",
		"background":   "while :; do : & wait; done",
		"yes":          "yes >/dev/null",
		"trap loop":    "trap 'kill $$' TERM; kill $$; while :; do :; done",
		"seq":          "seq 1 1000000000000 >/dev/null",
		"braces":       "echo {1..1000000000}",
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, system(t), Spec{Argv: []string{"bash", "-c", text}})
			time.AfterFunc(20*time.Millisecond, func() { _ = p.Signal(sigKILL) })
			arrives(t, "exit", p.Exited())
			if got := p.Status().Signal; got != sigKILL && name != "braces" {
				t.Errorf("status %+v", p.Status())
			}
			arrives(t, "drain", p.Drained())
		})
	}
}

func TestSignalsEndUntrappedProcesses(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{"sleep", "100"}, {"cat"}, sh("sleep 100"), sh("read x"), sh("sleep 100 & wait"), sh("x=$(sleep 100)"), sh("sleep 100 | cat")} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
			s := system(t)
			p, _ := start(t, s, Spec{Argv: argv, Stdin: true})
			signalOf(t, p, syscall.Signal(19))
			signalOf(t, p, syscall.Signal(18))
			signalOf(t, p, 0)
			signalOf(t, p, sig)
			arrives(t, "exit", p.Exited())
			if got := p.Status(); got != (Status{Signal: sig}) {
				t.Errorf("%q by %v ended with %+v", argv, sig, got)
			}
			s.KillAll()
			arrives(t, "drain", p.Drained())
		}
	}
	p, _ := start(t, system(t), Spec{Argv: []string{"sleep", "100"}})
	if err := p.Signal(99); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("signal 99: %v", err)
	}
}

func TestATrapRunsWhenTheForegroundCommandEnds(t *testing.T) {
	t.Parallel()
	p, rec := start(t, system(t), Spec{Argv: sh(`trap 'echo trapped; exit 5' TERM; echo ready; cat; echo no`), Stdin: true})
	want := "ready\n"
	rec.await(t, want)
	for _, line := range []string{"cat\n", "still cat\n"} {
		if err := p.Write(context.Background(), []byte(line)); err != nil {
			t.Fatal(err)
		}
		want += line
		rec.await(t, want)
		if line == "cat\n" { // it runs
			signalOf(t, p, syscall.SIGTERM)
		}
	}
	p.CloseStdin()
	arrives(t, "drain", p.Drained())
	out, _ := rec.texts()
	if want += "trapped\n"; out != want || p.Status() != (Status{Code: 5}) {
		t.Errorf("out %q, status %+v", out, p.Status())
	}
}

func TestReadIsInterruptedByATrappedSignal(t *testing.T) {
	t.Parallel()
	p, rec := start(t, system(t), Spec{Argv: sh(`trap 'echo t' USR1; echo ready; read x; echo $?`), Stdin: true})
	rec.await(t, "ready\n")
	waitsForInput(t, p)
	signalOf(t, p, syscall.Signal(10))
	rec.await(t, "ready\nt\n1\n")
	arrives(t, "drain", p.Drained())
}

func TestABlockedOutputHoldsTheWriterAndNotASignal(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	p, err := system(t).Start(Spec{Argv: []string{"yes"}, Output: func(Stream, []byte) {
		entered <- struct{}{}
		<-release
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	signalOf(t, p, sigKILL)
	arrives(t, "exit", p.Exited())
	select {
	case <-p.Drained():
		t.Error("drained during a delivery")
	default:
	}
	close(release)
	arrives(t, "drain", p.Drained())
	if len(entered) != 0 {
		t.Errorf("%d deliveries after the kill", len(entered))
	}
}

// The signal of a group reaches parents first: a shell that it ends never sees that its child was ended.
func TestAGroupIsSignalledFromParentsToChildren(t *testing.T) {
	t.Parallel()
	s := system(t)
	p, rec := start(t, s, Spec{Argv: sh(strings.Repeat("sleep 100 & ", 12) + "echo started; sleep 100; echo no")})
	rec.await(t, "started\n")
	var pids []uint32
	testkit.Eventually(t, func() error {
		pids = nil
		for _, member := range s.group(p.PID()) {
			pids = append(pids, member.PID())
		}
		if len(pids) != 14 {
			return fmt.Errorf("%d processes, want 14", len(pids))
		}
		return nil
	})
	if pids[0] != p.PID() || !slices.IsSorted(pids) {
		t.Errorf("the group is %v, want parents first", pids)
	}
	s.KillAll()
}
