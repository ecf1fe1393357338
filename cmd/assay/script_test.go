package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"assay/docs/examples/plugin-handshake/service"
	"assay/fakes/hostile"
	"assay/internal/testkit"
)

// beProgram makes the test binary run as the program: tests that need signals or pipes
// start it themselves.
const beProgram = "ASSAY_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "assay" && os.Getenv(beProgram) == "" { // see binWithProgram
		_ = os.Setenv(beProgram, "1") // its workers are the program too
	}
	switch os.Getenv(beProgram) {
	case "":
	case answerCalls:
		answer()
		os.Exit(0)
	default:
		panicOnSignal()
		main()
	}
	// Most tests wait for a server.
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	os.Exit(m.Run())
}

// scriptDir has the scripts.
const scriptDir = "testdata/script"

// binWithProgram returns a folder in which assay is the program.
func binWithProgram(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "assay")); err != nil {
		t.Fatal(err)
	}
	return bin
}

// smoke are the scripts of the commands whose goroutines share most. With -short, as under the race detector, only they run.
var smoke = []string{"attach", "conform_embedded", "load", "load_ws", "replay", "serve", "serve_control", "service"}

// TestScripts runs testdata/script through the real program.
func TestScripts(t *testing.T) {
	dir, files := scriptDir, []string(nil)
	if testing.Short() {
		for _, name := range smoke {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	open, err := filepath.Abs("testdata/open.sh")
	if err != nil {
		t.Fatal(err)
	}
	notice, err := filepath.Abs("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs("../../docs/examples/plugin-handshake")
	if err != nil {
		t.Fatal(err)
	}
	bin := binWithProgram(t)
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		Files:              files,
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("GOGC", os.Getenv("GOGC"))
			env.Setenv("COLUMNS", "100")
			env.Setenv("NO_COLOR", "1")
			env.Setenv("OPEN", open) // assay load with --rate
			env.Setenv("NOTICE", notice)
			env.Setenv("EXAMPLE", example)
			env.Setenv("ASSAY_TIME_SCALE", strconv.Itoa(testkit.Slowdown))
			env.Values["caller"] = &caller{names: variables(env.Vars)}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"assay":   cmdAssay,
			"exits":   cmdExits,
			"serve":   cmdServe,
			"hostile": cmdHostile,
			"bus":     cmdBus,
			"product": cmdProduct,

			"handshake": cmdHandshake,
			"valid":     cmdValid,

			"onejson": cmdOneJSON,
			"widest":  cmdWidest,

			"printable": cmdPrintable,
		},
	})
}

// cmdExits runs a program and requires this exit code: exits 2 assay list extra, or exits 2 exec assay list extra in a
// process of its own.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if args[1] == "assay" {
		if got := ts.Value("caller").(*caller).call(ts, args[2:]); got != want {
			ts.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, ts.Stdout(), ts.Stderr())
		}
		return
	}
	if args[1] == "exec" {
		args = args[1:]
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdServe starts `assay serve` on a free port and puts its URL into a variable:
// serve URL --fault eos-dropped. The file URL.err has its messages. With --issuer, the variable
// URL_ISSUER has the URL of the issuer. URL_WS is the address of the stdio surface, and URL_HOST that of the
// gateway without a scheme. It is interrupted when the script ends.
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	c := exec.Command(os.Args[0], append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)...) //nolint:gosec // the test's own binary
	c.Env = append(os.Environ(), beProgram+"=1", "HOME="+ts.Getenv("HOME"))
	c.Dir = ts.MkAbs(".")
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	c.Stderr = stderr
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		defer stderr.Close()
		_ = c.Process.Signal(os.Interrupt)
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				ts.Logf("serve ended with %v:\n%s", err, ts.ReadFile(args[0]+".err"))
			}
		case <-time.After(10 * time.Second):
			_ = c.Process.Kill()
			ts.Logf("serve did not end after an interrupt")
		}
	})
	names := []string{args[0]}
	if slices.Contains(args, "--issuer") {
		names = append(names, args[0]+"_ISSUER")
	}
	lines := bufio.NewReader(out)
	for _, name := range names {
		line, err := lines.ReadString('\n')
		if err != nil {
			ts.Fatalf("serve printed no URL: %v\n%s", err, ts.ReadFile(args[0]+".err"))
		}
		ts.Setenv(name, strings.TrimSpace(line))
	}
	ts.Setenv(args[0]+"_HOST", strings.TrimPrefix(ts.Getenv(args[0]), "http://"))
	ts.Setenv(args[0]+"_WS", "ws"+strings.TrimPrefix(ts.Getenv(args[0]), "http")+"/attach")
}

// cmdHostile starts a server that misbehaves: hostile URL html.
func cmdHostile(ts *testscript.TestScript, _ bool, args []string) {
	s, err := startHostile(args[1])
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

func startHostile(mode string) (*hostile.Server, error) {
	m, err := hostile.Find(mode)
	if err != nil {
		return nil, err
	}
	return m.Start(context.Background(), false)
}

// cmdHandshake starts the plugin host of the example, which is no gateway, and puts its URL into a
// variable: handshake URL --bug all-plugins --team blue.
func cmdHandshake(ts *testscript.TestScript, _ bool, args []string) {
	given := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	host := service.NewServer(given["--bug"], given["--team"])
	s := httptest.NewUnstartedServer(host.Handler)
	s.Config.ConnContext = host.ConnContext
	s.Start()
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// cmdBus starts a NATS server with JetStream, and puts its URL into a variable: bus BUS, or bus BUS TOKEN for one that
// demands a token. It ends with the script.
func cmdBus(ts *testscript.TestScript, _ bool, args []string) {
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: ts.MkAbs(args[0] + ".store"), NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
	}
	if len(args) > 1 {
		o.Authorization = args[1]
	}
	s, err := server.NewServer(o)
	ts.Check(err)
	ts.Defer(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		ts.Fatalf("the bus did not start")
	}
	ts.Setenv(args[0], s.ClientURL())
}

// productDir has a product, and the smallest profile with a load and a soak.
const productDir = "testdata/product"

// selftested returns the report of the self-test of that profile. It tries every variant, so all scripts share one report.
var selftested = sync.OnceValues(func() ([]byte, error) {
	c := exec.Command(os.Args[0], "selftest", "--profile", "tiny.yaml", "--format", "json") //nolint:gosec // the test's own binary
	c.Env, c.Dir = append(os.Environ(), beProgram+"=1"), productDir
	return c.Output()
})

// cmdProduct writes what a certification needs: PRODUCT.yaml, the profile tiny.yaml and selftest.json.
func cmdProduct(ts *testscript.TestScript, _ bool, _ []string) {
	report, err := selftested()
	ts.Check(err)
	ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(productDir)))
	ts.Check(os.WriteFile(ts.MkAbs("selftest.json"), report, 0o600))
}

// cmdOneJSON requires exactly one JSON value in a file (or stdout).
func cmdOneJSON(ts *testscript.TestScript, _ bool, args []string) {
	if err := oneJSON(ts.ReadFile(args[0])); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// oneJSON requires exactly one JSON value and nothing after it.
func oneJSON(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Errorf("no JSON value: %w", err)
	}
	if _, err := d.Token(); err == nil {
		return errors.New("more than one JSON value")
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON value: %w", err)
	}
	return nil
}

// cmdPrintable requires that a file (or stdout, stderr) has nothing that a terminal would obey,
// and some text: printable stderr.
func cmdPrintable(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	for n, line := range strings.Split(text, "\n") {
		odd := func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }
		if !utf8.ValidString(line) || strings.ContainsFunc(line, odd) {
			ts.Fatalf("%s:%d: a terminal would obey %q", args[0], n+1, line)
		}
	}
}

// cmdWidest limits the width of the lines of a file: widest 60 stdout.
func cmdWidest(ts *testscript.TestScript, _ bool, args []string) {
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	for n, line := range strings.Split(ts.ReadFile(args[1]), "\n") {
		if w := len([]rune(line)); w > most {
			ts.Fatalf("line %d is %d columns wide, want at most %d: %q", n+1, w, most, line)
		}
	}
}
