package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/fakes/zoo"
	"assay/internal/testkit"
)

// fewestCalls is how many calls a run over everything must at least make.
const fewestCalls = 110

// token is what guarded gateways demand.
const token = "a-token-that-only-this-test-knows"

// The packages are installed, and the program built, once and when first needed.
var (
	installed = sync.OnceValue(func() error { return install(context.Background()) })
	built     = sync.OnceValues(func() (string, error) { return build(context.Background(), programs) })
	programs  string // the folder of what is built
)

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "assay-sdk-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// The SDK is the judge: every call in every mode must be right.
func TestTheSDKAcceptsTheReferenceGateway(t *testing.T) {
	program := ready(t)
	modes := []struct {
		name, mode string
		setup      setup
		uncounted  bool // the gateway has no counters of commands
	}{
		{name: "virtual processes", mode: virtual},
		{name: "real processes", mode: real, setup: setup{token: token, args: []string{"--processes", "os"}}},
		{name: "real processes without a token", mode: real, setup: setup{args: []string{"--processes", "os", "--insecure-local"}}},
		{name: "virtual processes, answered as the real daemon does", mode: virtual, setup: setup{args: []string{"--like", "envd"}}, uncounted: true},
		{name: "virtual processes over HTTP/2 and TLS", mode: virtual, setup: setup{token: token, tls: true, args: []string{"--http", "2"}}},
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			g := serve(t, program, m.setup)
			accepts(t, g, script{file: viaSDK, mode: m.mode}, fewestCalls)
			if !m.uncounted {
				balanced(t, g)
			}
		})
	}
}

// What the commands of a gateway are.
const (
	virtual = "virtual"
	real    = "os"
)

// accepts makes the calls of a script, at least fewest, each a subtest, and prints them as a table.
func accepts(t *testing.T, g gateway, s script, fewest int) {
	t.Helper()
	var calls []call
	end, err := judge(t.Context(), g, s, func(c call) {
		calls = append(calls, c)
		t.Run(c.Name, func(t *testing.T) {
			t.Logf("%.1f ms", c.MS)
			if !c.OK {
				t.Error(c.Error)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s on node %s, %s: %d calls, %d failed, %.1f s\n%s", end.Client, end.Node, t.Name(), end.Calls, end.Failed, end.MS/1000, table(calls))
	if end.Calls < fewest {
		t.Errorf("%d calls were made, want at least %d", end.Calls, fewest)
	}
}

// booksLimit is how long the gateway may take to count what was killed last.
const booksLimit = 30 * time.Second

// balanced wants the books to be closed: what was started has finished. A process that
// was killed is counted when it is dead, which nobody is told.
func balanced(t *testing.T, g gateway) {
	t.Helper()
	var started, finished int
	var active string
	for end := time.Now().Add(booksLimit); ; time.Sleep(5 * time.Millisecond) {
		started, finished, active = books(t, g)
		if started > 0 && started == finished && active == "0" {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Errorf("after all calls %d commands have started, %d have finished, and %q are active: want as many finished, and none active",
		started, finished, active)
}

// books are the counters of commands.
func books(t *testing.T, g gateway) (started, finished int, active string) {
	t.Helper()
	all, err := g.counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range all {
		n, err := strconv.Atoi(value)
		switch {
		case name == "coppice_commands_started_total" && err == nil:
			started = n
		case strings.HasPrefix(name, "coppice_commands_finished_total{") && err == nil:
			finished += n
		}
	}
	return started, finished, all["coppice_commands_active"]
}

// A judge that accepts everything is none: a gateway that is broken in one way
// fails just there.
func TestTheSDKNoticesABrokenGateway(t *testing.T) {
	program := ready(t)
	for _, f := range []struct{ fault, call string }{
		{"cwd-ignored", "cwd is where the command runs"},
		{"ended-listed", "the list has nothing that has ended"},
		{"eos-dropped", "run returns output, exit code 0 and no error"},
		{"error-code-number", "connect to a process that never was is a NotFoundError"},
		{"exit-code-zeroed", "exit codes 1, 2, 127 and 255 arrive as they are"},
		{"input-doubled", "fifty pieces of input arrive in order"},
		{"lost-reader-kills", "disconnect does not kill"},
		{"stderr-as-stdout", "stderr is kept apart from stdout"},
		{"tail-lost", "fifty thousand lines arrive whole"},
		{"files-user-ignored", "users: a relative path begins at the home of the user"},
		{"list-order-ignores-case", "files: list is depth-first and by bytes"},
		{"make-existing-ok", "files: makeDir makes parents, and says false when there is one"},
		{"metadata-merged", "files: metadata stays with the file, and an upload replaces it"},
		{"stat-missing-internal", "files: exists"},
		{"upload-as-text", "files: every byte value comes back, as bytes, blob and stream"},
		{"upload-base-name", "files: several files in one call"},
		{"upload-gzip-stored", "files: gzip in both directions changes nothing"},
		{"watch-without-entry", "watch: includeEntry brings the entry"},
	} {
		t.Run(f.fault, func(t *testing.T) {
			t.Parallel()
			calls := some(t, serve(t, program, setup{args: []string{"--fault", f.fault}}), script{viaSDK, virtual, only(f.call)})
			if calls[0].OK {
				t.Errorf("%q passed", f.call)
			}
		})
	}
}

// What Assay holds to be legal, the official client takes, also several oddities at once.
func TestTheSDKToleratesLegalVariants(t *testing.T) {
	program := ready(t)
	var ids []string
	for _, v := range zoo.Variants() {
		// A request that meets the close of an idle connection is lost: no client may repeat a POST unasked
		// (RFC 9110 section 9.2.2). The SDK then reports "fetch failed", which says nothing about it or the gateway.
		if v.ID != "idle-close" {
			ids = append(ids, v.ID)
		}
	}
	for group := range slices.Chunk(ids, 5) {
		list := strings.Join(group, ",")
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			g := serve(t, program, setup{args: []string{"--variant", list}})
			for _, c := range some(t, g, script{viaSDK, virtual, "^(run|a failing|onStdout|the list|sendStdin|a killed|a cwd|pty: what is typed)"}) {
				if !c.OK {
					t.Errorf("%s: %s", c.Name, c.Error)
				}
			}
		})
	}
}

// only is the pattern of one call.
func only(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// some makes the calls of a script; there must be one.
func some(t *testing.T, g gateway, s script) []call {
	t.Helper()
	var calls []call
	if _, err := judge(t.Context(), g, s, func(c call) { calls = append(calls, c) }); err != nil {
		t.Fatal(err)
	}
	if len(calls) == 0 {
		t.Fatalf("no call matches %q", s.pattern)
	}
	return calls
}

// ready returns the program, with the packages installed. A machine without node
// skips the test and says so where it is seen; under CI that is a failure.
func ready(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("clients run in processes of their own: nothing of them is seen by -short or -race")
	}
	switch err := installed(); {
	case errors.Is(err, testkit.ErrNoNode) && os.Getenv("CI") == "":
		fmt.Fprintf(os.Stderr, "\n*** %s is SKIPPED: %v\n*** Programs that others wrote did NOT judge this one.\n\n", t.Name(), err)
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return program
}
