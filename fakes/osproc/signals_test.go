//go:build unix

package osproc_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/fakes/virtual"
)

// TestChildrenHaveTheDefaultSignals covers signals that this program ignores itself and, in a separate process, signals that it
// inherited as ignored.
func TestChildrenHaveTheDefaultSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1} {
		signal.Ignore(sig)
		t.Cleanup(func() { signal.Reset(sig) })
		diesBy(t, sig)
	}
	if os.Getenv("OSPROC_IGNORES") != "" {
		return
	}
	cmd := exec.Command("/bin/sh", "-c", `trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU USR2; exec "$0" -test.run '^TestInheritedSignals$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), "OSPROC_IGNORES=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestInheritedSignals") {
		t.Errorf("with signals ignored from the start: %v\n%s", err, out)
	}
}

// TestInheritedSignals runs as a child of TestChildrenHaveTheDefaultSignals.
func TestInheritedSignals(t *testing.T) {
	if os.Getenv("OSPROC_IGNORES") == "" {
		t.Skip("runs in a process that ignores signals")
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR2} {
		diesBy(t, sig)
	}
	p, out := start(t, system(t), virtual.Spec{Argv: []string{"grep", "SigIgn", "/proc/self/status"}})
	arrives(t, "drain", p.Drained())
	// The first 31 are the signals of POSIX; those above belong to the C library of the parent process.
	fields := strings.Fields(out.out.String())
	if len(fields) != 2 {
		t.Fatalf("grep printed %q", out.out.String())
	}
	if mask, err := strconv.ParseUint(fields[1], 16, 64); err != nil || mask&(1<<31-1) != 0 {
		t.Errorf("a child ignores %q", out.out.String())
	}
}

func diesBy(t *testing.T, sig syscall.Signal) {
	t.Helper()
	p, _ := start(t, system(t), virtual.Spec{Argv: []string{"sh", "-c", fmt.Sprintf("kill -%d $$; sleep 0.1; exit 9", sig)}})
	arrives(t, "drain", p.Drained())
	if got := p.Status(); got != (virtual.Status{Signal: sig}) {
		t.Errorf("%v: ended with %+v", sig, got)
	}
}
