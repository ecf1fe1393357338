//go:build !race

package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit"
)

// The bounds that a command of 4 KB must keep.
const (
	killerHeap   = 512 << 20        // growth of the heap, garbage included
	killerHealth = 30 * time.Second // for a machine with much other work; the gateway takes milliseconds
	killerTime   = 5 * time.Minute
)

// doubled makes x a quarter of a megabyte of a character.
func doubled(char string) string {
	return "x='" + char + "'; while [ ${#x} -lt 200000 ]; do x=$x$x; done; "
}

// killers are commands that took the memory of the gateway, and what they print when they fail.
func killers() []struct{ name, cmd, stderr string } {
	const space = "Out of space"
	many := func(text string) string { return strings.Repeat(text, 2000) }
	bash := func(script string) string { return "bash -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'" }
	return []struct{ name, cmd, stderr string }{
		{"a variable that doubles", "x=a; while :; do x=$x$x; done", space},
		{"a replacement that squares", bash(doubled("a") + "y=${x//a/$x}"), space},
		{"a replacement of nothing much", bash(doubled("a") + `for i in 1 2 3; do y="$y${x//a/bcdefghijklmnop}"; done; y=$y$y$y$y$y$y$y$y`), space},
		{"one word of many values", doubled("a") + "y=" + many("$x"), space},
		{"many words of values", doubled("a") + "true " + many(" $x"), space},
		{"a value that splits", "x='a '; while [ ${#x} -lt 4000000 ]; do x=$x$x; done; for i in $x; do :; done", space},
		{"a here-document", doubled("a") + "cat <<E\n" + many("$x") + "\nE", space},
		{"here-documents that stay open", doubled("a") + "f() { f <<E\n$x$x$x$x\nE\n}; f", space},
		{"many variables", doubled("a") + `i=0; while :; do eval "v$i=\$x\$i"; i=$((i+1)); done`, space},
		{"local variables", doubled("a") + "f() { local x=$x$1; f a; }; f", space},
		{"parameters", "set -- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; while :; do set -- $* $*; done", space},
		{"parameters of functions", `f() { f "$1$1"; }; f aaaaaaaaaaaaaaaa`, space},
		{"functions", `i=0; while :; do eval "f$i() { :;:;:;:;:;:;:;:;:;:;:;:;:;:;:;:; }"; i=$((i+1)); done`, space},
		{"a script in a variable", `x=':;'; while :; do x="$x$x"; eval "if false; then $x fi"; done`, space},
		{"printf of wide fields", "x=$(printf '" + many("%65536d") + "')", space},
		{"the output of a command", "x=$(cat /dev/zero | tr '\\0' x)", space},
		{"a line", "cat /dev/zero | tr '\\0' x | { read x; }", space},
		{"the end of a stream", "head -c 2000000000 /dev/zero | tail -c 1000000000 >/dev/null", "exhausted"},
		{"empty files", "cd /tmp; touch $(seq 1 80000)", "No space left on device"},
		{"directories", "cd /tmp; mkdir $(seq 1 80000)", "No space left on device"},
		{"a list of files", "cd /tmp; touch $(seq 1 60000); echo * * * * * * * * * *", space},
		{"removed files", "for i in 3 4 5 6 7 8 9; do eval \"exec $i>/tmp/f\"; rm /tmp/f; head -c 30000000 /dev/zero >&$i || exit 9; done", "No space left on device"},
		{"a pattern of directories", "cd /; mkdir a b c d e f; echo " + strings.Repeat("*/../", 300) + "*", space},
		{"a long pattern", doubled("*") + "case a in $x) ;; esac", space},
		{"a long prefix", doubled("?") + "echo ${x#$x}", space},
		{"a script that runs itself", "echo 'sh /tmp/a || exit' >/tmp/a; sh /tmp/a", "Cannot fork"},
		{"a script that becomes itself", "echo 'exec sh /tmp/a' >/tmp/a; sh /tmp/a", "Argument list too long"},
		{"env that becomes itself", "set -- env; while [ $# -lt 20000 ]; do set -- $* $*; done; $* x", "Argument list too long"},
		{"subshells with copies", doubled("a") + strings.Repeat("(:;", 600) + ":" + strings.Repeat(")", 600), "Cannot fork"},
		{"background jobs", "trap 'echo no more jobs >&2' EXIT; i=0; while [ $i -lt 1000 ]; do (while :; do :; done) & i=$((i+1)); done", orphaning},
	}
}

func TestNoCommandTakesTheGatewayAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills the memory that a command may take")
	}
	if !testkit.Alone(t) {
		return
	}
	before := runtime.NumGoroutine()
	for i, k := range killers() {
		t.Run(k.name, func(t *testing.T) {
			if os.Getenv("ASSAY_NIGHTLY") == "" && i%4 != 0 {
				t.Skip("only every fourth runs without ASSAY_NIGHTLY=1")
			}
			g := startGateway(t, Options{})
			debug.FreeOSMemory()
			started := time.Now()
			watch := watchHealth(t, g)
			stderr, code := runKiller(t, g, k.cmd)
			heap, slowest := watch()
			t.Logf("%v, heap %d MB, slowest answer %v", time.Since(started).Round(time.Millisecond), heap>>20, slowest)
			if !strings.Contains(stderr, k.stderr) || code == 0 {
				t.Errorf("exit code %d, stderr %.200q, want %q", code, stderr, k.stderr)
			}
			if heap > killerHeap {
				t.Errorf("the heap grew by %d MB, want at most %d", heap>>20, killerHeap>>20)
			}
			if slowest > killerHealth {
				t.Errorf("/health took %v, want at most %v", slowest, killerHealth)
			}
		})
	}
	testkit.Eventually(t, func() error { // goleak cannot read the deep stacks of commands that are still ending
		if n := runtime.NumGoroutine(); n > before {
			return fmt.Errorf("%d goroutines run, %d before", n, before)
		}
		return nil
	})
}

// orphaning is the error of a command that leaves jobs that go on.
const orphaning = "no more jobs"

// askHealth asks for /health, and watchHealth sees how long that takes.
func askHealth(t *testing.T, g *Gateway, times int) {
	t.Helper()
	for range times {
		res, err := http.Get(g.URL() + "/health")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
}

// runKiller runs a command until its end, or until it has printed an error where it leaves jobs that go on.
func runKiller(t *testing.T, g *Gateway, cmd string) (stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killerTime)
	defer cancel()
	body, err := json.Marshal(map[string]any{"cmd": cmd, "timeout_ms": 0})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL()+"/commands", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for dec := json.NewDecoder(res.Body); ; {
		var l struct {
			Type string `json:"type"`
			Data string `json:"data"`
			Code int    `json:"exit_code"`
		}
		if err := dec.Decode(&l); err != nil {
			t.Errorf("the command did not end: %v, stderr %.200q", err, stderr)
			return stderr, -1
		}
		switch l.Type {
		case "stderr":
			stderr = (stderr + l.Data)[:min(len(stderr)+len(l.Data), 64<<10)]
			if strings.Contains(stderr, orphaning) { // its jobs hold the output
				askHealth(t, g, 100)
				return stderr, -1
			}
		case "end":
			return stderr, l.Code
		}
	}
}

// watchHealth asks for /health all the time. stop returns how much the heap grew at most, and the longest wait for an answer.
func watchHealth(t *testing.T, g *Gateway) (stop func() (heap uint64, slowest time.Duration)) {
	t.Helper()
	heapNow := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	before := heapNow()
	ended, done := make(chan struct{}), make(chan struct{})
	var heap uint64
	var slowest time.Duration
	go func() {
		defer close(done)
		for {
			began := time.Now()
			res, err := http.Get(g.URL() + "/health")
			if err != nil {
				t.Errorf("/health: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			slowest = max(slowest, time.Since(began))
			if now := heapNow(); now > before {
				heap = max(heap, now-before)
			}
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() (uint64, time.Duration) {
		close(ended)
		<-done
		return heap, slowest
	}
}
