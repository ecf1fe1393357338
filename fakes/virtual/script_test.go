package virtual

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// script is one row: a script and its expected result, which the machine's dash must share unless
// ours is set.
type script struct {
	name   string
	text   string
	stdin  string
	stdout string
	stderr string // a pattern; "" means no stderr
	code   int
	signal syscall.Signal
	ours   bool // not compared with the machine's dash
}

func TestScriptsBehaveAsInDash(t *testing.T) {
	t.Parallel()
	for _, row := range allScripts() {
		t.Run(row.name, func(t *testing.T) {
			got := run(t, system(t), Spec{Argv: sh(row.text), Dir: "/tmp"}, row.stdin)
			if got.stdout != row.stdout {
				t.Errorf("stdout of %q\n got %q\nwant %q", row.text, got.stdout, row.stdout)
			}
			if want := (Status{Code: row.code, Signal: row.signal}); got.status != want {
				t.Errorf("%q ended with %+v, want %+v", row.text, got.status, want)
			}
			if row.stderr == "" && got.stderr != "" || !regexp.MustCompile(row.stderr).MatchString(got.stderr) {
				t.Errorf("stderr of %q is %q, want %q", row.text, got.stderr, row.stderr)
			}
		})
	}
}

// TestTheTableIsTrueOfTheRealDash runs the same table through the machine's shell.
func TestTheTableIsTrueOfTheRealDash(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil || filepath.Base(real) != "dash" {
		t.Skipf("SKIPPED: /bin/sh is %q, not dash: the table is not compared with the real one", real)
	}
	compared := 0
	for _, row := range allScripts() {
		if row.ours {
			continue
		}
		compared++
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/bin/sh", "-c", row.text)
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"PATH=" + defaultPath, "HOME=/root", "USER=root", "LC_ALL=C"}
			cmd.Stdin = strings.NewReader(row.stdin)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			status := Status{Code: ws.ExitStatus()}
			if ws.Signaled() {
				status = Status{Signal: ws.Signal()}
			}
			if stdout.String() != row.stdout {
				t.Errorf("stdout of %q\ndash %q\nours %q", row.text, stdout.String(), row.stdout)
			}
			if want := (Status{Code: row.code, Signal: row.signal}); status != want {
				t.Errorf("%q: dash ended with %+v, ours with %+v", row.text, status, want)
			}
			if row.stderr == "" && stderr.Len() > 0 || !regexp.MustCompile(row.stderr).MatchString(stderr.String()) {
				t.Errorf("stderr of %q in dash is %q, want %q", row.text, stderr.String(), row.stderr)
			}
		})
	}
	if compared < 60 {
		t.Errorf("only %d rows were compared", compared)
	}
}

// TestMain prints to stderr when the comparison is impossible.
func TestMain(m *testing.M) {
	if real, err := filepath.EvalSymlinks("/bin/sh"); err != nil || filepath.Base(real) != "dash" {
		_, _ = os.Stderr.WriteString("virtual: /bin/sh is not dash: differential tests are SKIPPED\n")
	}
	os.Exit(m.Run())
}
