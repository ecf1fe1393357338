package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
)

// shown is one kind of failure: the fault, the scenario and rule that show it, and the test of
// the output of its reproducer.
type shown struct {
	name, fault, selection string
	rule                   string
	kind                   bundle.ReproducerKind
	// broken reports whether the printed output shows the failure.
	broken func(printed []byte) bool
}

func kinds() []shown {
	has := func(text string) func([]byte) bool {
		return func(p []byte) bool { return bytes.Contains(p, []byte(text)) }
	}
	not := func(f func([]byte) bool) func([]byte) bool {
		return func(p []byte) bool { return len(p) > 0 && !f(p) }
	}
	return []shown{
		{"a unary error with another status", "error-as-500", "connect.compression.unary-refused,axis:connect/json/1.1/identity", "connect.unary.error-status", bundle.ReproduceCurl, has("HTTP/1.1 500")},
		{"a stream without its end", "eos-dropped", "connect.error.details,axis:connect/json/1.1/identity", "connect.stream.end-stream-once", bundle.ReproduceShell, not(has("\x02\x00\x00"))},
		{"a gRPC response without a status", "grpc-status-missing", "grpc.metadata.binary,axis:grpc/json/h2c/identity", "grpc.status.present", bundle.ReproduceShell, not(statusTrailers)},
		{"an HTTP/2 frame of trailers", "http-trailers", "connect.compression.corrupt-message,axis:h2c", "connect.route.no-http-trailers", bundle.ReproduceShell, statusTrailers},
		{"NDJSON without one line", "line-dropped", "commands.large-output,axis:1.1", "commands.stream.output", bundle.ReproduceShell, nil},
	}
}

// statusTrailers reports HEADERS that end a stream, which trailers do.
func statusTrailers(p []byte) bool {
	const header = 9
	for len(p) >= header {
		n := header + int(p[0])<<16 + int(p[1])<<8 + int(p[2])
		if p[3] == 1 && p[4]&1 != 0 {
			return true
		}
		if n > len(p) {
			break
		}
		p = p[n:]
	}
	return false
}

// patience is the time scale of a run that must try all its reproducers, even on a busy machine.
const patience = 20 * testkit.Slowdown

func faulty(t *testing.T, faults ...string) *gateway.Gateway {
	t.Helper()
	return gatewayWith(t, zoo.Options{Faults: faults})
}

func gatewayWith(t *testing.T, o zoo.Options) *gateway.Gateway {
	t.Helper()
	g, err := zoo.Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// need skips a test whose program is not installed; a CI has all of them.
func (k shown) need(t *testing.T) {
	t.Helper()
	program := "nc"
	if k.kind == bundle.ReproduceCurl {
		program = "curl"
	}
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not on this machine: a CI needs it", program)
	}
	t.Skipf("NOT TESTED: %s is not on this machine", program)
}

func TestAReproducerOfTheBundleShowsTheFailureByItself(t *testing.T) {
	t.Parallel()
	right := faulty(t)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.need(t)
			wrong := faulty(t, k.fault)
			dir := t.TempDir()
			_, err := Run(t.Context(), Options{Target: target.Options{URL: wrong.URL(), TimeScale: patience}, Profile: "full", Select: k.selection, Out: dir, Reproduce: 2, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			r := stored(t, dir, k.rule, k.kind)
			if !r.Ran || !r.Shown {
				t.Errorf("the run says ran %v, shown %v: %s", r.Ran, r.Shown, r.Output)
			}
			k.compare(t, r.Text, elsewhere(r.Text, wrong.URL(), right.URL()))
		})
	}
}

// compare runs a text against the gateway with the fault, and against a correct one. Each keeps its
// connection for some seconds, so that they run at the same time.
func (k shown) compare(t *testing.T, wrong, right string) {
	t.Helper()
	var broken, whole []byte
	var failed [2]error
	var both sync.WaitGroup
	both.Go(func() { broken, failed[0] = runText(t, wrong) })
	both.Go(func() { whole, failed[1] = runText(t, right) })
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	if k.broken == nil {
		if len(broken) >= len(whole) {
			t.Errorf("%d bytes arrived, and %d from a correct gateway", len(broken), len(whole))
		}
		return
	}
	if !k.broken(broken) {
		t.Errorf("it does not show the failure: %q\n%s", broken, wrong)
	}
	if k.broken(whole) {
		t.Errorf("it shows a failure of a correct gateway: %q", whole)
	}
}

// stored returns the first reproducer of a rule and a kind in a bundle.
func stored(t *testing.T, dir, rule string, kind bundle.ReproducerKind) bundle.Reproducer {
	t.Helper()
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Reproducers {
		if r.Rule == rule && r.Kind == kind {
			return r
		}
	}
	t.Fatalf("no reproducer of kind %s for %s among %d", kind, rule, len(b.Reproducers))
	return bundle.Reproducer{}
}

// elsewhere returns the text for another gateway.
func elsewhere(text, from, to string) string {
	text = strings.ReplaceAll(text, from, to)
	_, oldPort, _ := strings.Cut(strings.TrimPrefix(from, "http://"), ":")
	_, newPort, _ := strings.Cut(strings.TrimPrefix(to, "http://"), ":")
	return strings.ReplaceAll(text, "port=${2:-"+oldPort+"}", "port=${2:-"+newPort+"}")
}

func runText(t *testing.T, text string) ([]byte, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-c", text)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // curl would read the .curlrc of whoever runs the tests
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return out, nil
}

func TestARaceHasItsReplayAlone(t *testing.T) {
	t.Parallel()
	wrong := faulty(t, "kill-counted-twice")
	out, err := Run(t.Context(), Options{Target: target.Options{URL: wrong.URL(), TimeScale: patience}, Profile: "full", Select: "coppice.kill-races-exit", Reproduce: 1, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Reproducers) == 0 {
		t.Fatal("there is none")
	}
	for _, r := range out.Reproducers {
		if r.Kind != bundle.ReproduceReplay || !r.Ran || !r.Shown || !strings.Contains(r.Output, "No script: ") {
			t.Errorf("got %+v", r)
		}
	}
}

func TestALargeInputIsMadeSmallerWhereItStillFails(t *testing.T) {
	t.Parallel()
	wrong := faulty(t, "input-doubled")
	out, err := Run(t.Context(), Options{Target: target.Options{URL: wrong.URL(), TimeScale: patience}, Profile: "full", Select: "rule:process.input.*,axis:connect/json/1.1/identity", Reproduce: 5, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	smaller := 0
	for _, r := range out.Reproducers {
		if r.Kind == bundle.ReproduceReplay && strings.Contains(r.Text, "--set gen.bytes=64") && r.Shown {
			smaller++
		}
	}
	if smaller == 0 {
		t.Errorf("no input was made smaller: %+v", out.Reproducers)
	}
}

func TestNothingIsTriedWhenNotAskedFor(t *testing.T) {
	t.Parallel()
	wrong := faulty(t, "eos-dropped")
	out, err := Run(t.Context(), Options{Target: target.Options{URL: wrong.URL(), TimeScale: patience}, Select: "connect.error.details,axis:connect/json/1.1/identity", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Reproducers {
		if r.Ran || !strings.HasPrefix(r.Output, "not tried: ") || r.Text == "" {
			t.Errorf("got %+v", r)
		}
	}
	if len(out.Reproducers) < 2 {
		t.Errorf("%d texts, want a replay and a script", len(out.Reproducers))
	}
}

func TestSecretsThatLookTheSameLoseNoReport(t *testing.T) {
	t.Parallel()
	wrong := faulty(t, "eos-dropped")
	headers := []bundle.Header{{Name: "X-Key", Value: "aaaaaaaa11"}, {Name: "X-Key", Value: "bbbbbbbb22"}}
	out, err := Run(t.Context(), Options{Target: target.Options{URL: wrong.URL(), TimeScale: patience, Token: "topsecret", Headers: headers}, Select: "connect.error.details,axis:connect/json/1.1/identity", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, r := range out.Reproducers {
		if r.Kind != bundle.ReproduceReplay {
			texts++
			if !strings.Contains(r.Text, "$ASSAY_SECRET_X_KEY\"") || !strings.Contains(r.Text, "$ASSAY_SECRET_X_KEY_2\"") {
				t.Errorf("it lacks a variable:\n%s", r.Text)
			}
		}
	}
	if texts == 0 {
		t.Errorf("there is no text with the two: %+v", out.Reproducers)
	}
}

// TestWhatACorrectGatewayAnswersTooIsNotShown has scripts that a correct gateway fails: their
// requests break the rule again, but prove nothing.
func TestWhatACorrectGatewayAnswersTooIsNotShown(t *testing.T) {
	t.Parallel()
	scripts := filepath.Join(t.TempDir(), "scripts", "wrong")
	if err := os.MkdirAll(scripts, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"unary":  "id: wrong.unary\ntitle: t\nrules: [connect.unary.error-status]\nneeds: [process.list]\nsend: {rpc: process.Process/List, message: {}}\nexpect: {stream: {status: 418}}\n",
		"stream": "id: wrong.stream\ntitle: t\nrules: [process.end.exit-code]\nneeds: [process.start]\nsteps:\n  - start: {as: p, sh: \"exit 3\", wait: end}\nexpect: {p: {end: {code: 4}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(scripts, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := Run(t.Context(), Options{Target: target.Options{URL: faulty(t).URL(), TimeScale: patience}, Scenarios: filepath.Dir(scripts), Reproduce: 5, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	tried := map[bundle.ReproducerKind]int{}
	for _, r := range out.Reproducers {
		if !r.Ran {
			continue // without nc
		}
		tried[r.Kind]++
		if first, _, _ := strings.Cut(r.Output, "\n"); r.Shown || first != "the reference gateway responds the same" {
			t.Errorf("%s %s: shown %v: %s", r.Scenario, r.Kind, r.Shown, r.Output)
		}
	}
	if tried[bundle.ReproduceReplay] != 2 {
		t.Errorf("tried are %v: %+v", tried, out.Reproducers)
	}
}

// TestTheReferenceIsSpokenToAsTheTargetIs has a target that differs in every option from a
// gateway started without options.
func TestTheReferenceIsSpokenToAsTheTargetIs(t *testing.T) {
	t.Parallel()
	const token = "s3cr$t 'token'"
	wrong := gatewayWith(t, zoo.Options{
		Faults:  []string{"error-as-500", "exit-code-zeroed"},
		Options: gateway.Options{Token: token, TLS: true, Prefix: "/sand/box", Shell: []string{"/bin/bash", "-l", "-c"}},
	})
	out, err := Run(t.Context(), Options{
		Target:    target.Options{URL: wrong.URL(), Insecure: true, Token: token, TimeScale: patience},
		Select:    "connect.compression.unary-refused,connect.stream.bytes-look-like-frames,axis:connect/json/1.1/identity",
		Reproduce: 5, Seed: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := map[bundle.ReproducerKind]int{}
	for _, r := range out.Reproducers {
		if strings.Contains(r.Text+r.Output, token) {
			t.Errorf("it contains the token: %+v", r)
		}
		if !strings.Contains(r.Text, "${ASSAY_TOKEN:?set it to the access token}") {
			t.Errorf("it does not ask for the token:\n%s", r.Text)
		}
		if r.Shown {
			shown[r.Kind]++
		} else if !strings.HasSuffix(r.Output, "is not on this machine") {
			t.Errorf("%s %s: not shown: %s", r.Scenario, r.Kind, r.Output)
		}
	}
	if shown[bundle.ReproduceReplay] == 0 || os.Getenv("CI") != "" && (shown[bundle.ReproduceCurl] == 0 || shown[bundle.ReproduceShell] == 0) {
		t.Errorf("shown are %v: %+v", shown, out.Reproducers)
	}
	t.Logf("shown are %v", shown)
}

func TestWhatNeedsAProcessOfAnotherCallHasItsReplayAlone(t *testing.T) {
	t.Parallel()
	out, err := Run(t.Context(), Options{
		Target: target.Options{URL: faulty(t, "input-doubled").URL(), TimeScale: patience},
		Select: "process.input.echo,axis:connect/json/1.1/identity", Reproduce: 1, Seed: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Reproducers {
		if r.Kind != bundle.ReproduceReplay || !r.Shown {
			t.Errorf("got %+v", r)
		}
	}
	if len(out.Reproducers) == 0 {
		t.Error("there is none")
	}
}
