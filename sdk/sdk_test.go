package sdk_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assay/fakes/gateway"
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
	// Most tests wait for node. -parallel overrides it.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	code := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// The SDK is the judge: every call in every mode must be right.
func TestTheSDKAcceptsTheReferenceGateway(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, m := range []struct {
		name, mode string
		options    zoo.Options
		uncounted  bool // the gateway has no counters of commands
	}{
		{name: "virtual processes", mode: virtual},
		{name: "real processes", mode: real, options: zoo.Options{Options: gateway.Options{Token: token, Processes: gateway.ProcessesOS}}},
		{name: "real processes without a token", mode: real, options: zoo.Options{Options: gateway.Options{Processes: gateway.ProcessesOS, InsecureLocal: true}}},
		{name: "virtual processes, answered as the real daemon does", mode: virtual, options: zoo.Options{Like: "envd"}, uncounted: true},
		{name: "virtual processes over HTTP/2 and TLS", mode: virtual, options: zoo.Options{Options: gateway.Options{Token: token, TLS: true, HTTP: []string{"2"}}}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, m.options)
			accepts(t, g, script{file: viaSDK, mode: m.mode}, fewestCalls)
			if !m.uncounted {
				balanced(t, g)
			}
		})
	}
}

// balanced wants the books to be closed: what was started has finished. A process that
// was killed is counted when it is dead, which nobody is told.
func balanced(t *testing.T, g endpoint) {
	t.Helper()
	testkit.Eventually(t, func() error {
		started, finished, active := books(t, g)
		if started > 0 && started == finished && active == "0" {
			return nil
		}
		return fmt.Errorf("after all calls %d commands have started, %d have finished, and %q are active: want as many finished, and none active",
			started, finished, active)
	})
}

// books are the counters of commands.
func books(t *testing.T, g endpoint) (started, finished int, active string) {
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
	t.Parallel()
	ready(t)
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
			notices(t, serve(t, faulty(f.fault)), viaSDK, virtual, f.call)
		})
	}
}

// What Assay holds to be legal, the official client takes, also several oddities at once.
func TestTheSDKToleratesLegalVariants(t *testing.T) {
	t.Parallel()
	ready(t)
	var ids []string
	for _, v := range zoo.Variants() {
		// A request that meets the close of an idle connection is lost: no client may repeat a POST unasked
		// (RFC 9110 section 9.2.2). The SDK then reports "fetch failed", which says nothing about it or the gateway.
		if v.ID != "idle-close" {
			ids = append(ids, v.ID)
		}
	}
	for group := range slices.Chunk(ids, 5) {
		t.Run(strings.Join(group, ","), func(t *testing.T) {
			t.Parallel()
			s := script{viaSDK, virtual, "^(run|a failing|onStdout|the list|sendStdin|a killed|a cwd|pty: what is typed)"}
			tolerates(t, serve(t, zoo.Options{Variants: group}), s)
		})
	}
}

// ready has the packages installed. A machine without node
// skips the test and says so where it is seen; under CI that is a failure.
func ready(t *testing.T) {
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
}

// program returns the path of the program.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
