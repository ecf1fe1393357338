package sdk_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bare is what the commands of a server with the basic protocol alone are, and fewestBare how many calls
// a run over everything must at least make to it.
const (
	bare       = "bare"
	fewestBare = 35
)

// serveStdio starts server.mjs until the test ends: a server with each oddity, in their order, or one without any.
func serveStdio(t *testing.T, token string, oddities ...string) []endpoint {
	t.Helper()
	c := exec.Command("node", append([]string{"server.mjs"}, oddities...)...)
	c.Env = []string{"ASSAY_TOKEN=" + token}
	var all []endpoint
	for _, url := range start(t, c, max(1, len(oddities))) {
		all = append(all, endpoint{url: url, token: token})
	}
	return all
}

// page is the address of the same server for HTTP.
func (g endpoint) page() endpoint {
	g.url = "http" + strings.TrimSuffix(strings.TrimPrefix(g.url, "ws"), "/attach")
	return g
}

// result is what the report of a run says.
type result struct {
	Verdict string         `json:"verdict"`
	Exit    int            `json:"exit"`
	Counts  map[string]int `json:"counts"`
	Causes  []struct {
		Rule string `json:"rule"`
	} `json:"causes"`
}

// causes returns the ids of the rules whose breach explains all others.
func (r result) causes() []string {
	var ids []string
	for _, c := range r.Causes {
		ids = append(ids, c.Rule)
	}
	return ids
}

// conform runs the scenarios that match selection, all if it is "", against a server, with further flags, and returns the
// report and what was printed. Broken should rules fail too.
func conform(t *testing.T, g endpoint, selection string, flags ...string) (result, string) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	c := exec.CommandContext(t.Context(), program(t), "conform", g.url, "--strict", "--reproduce", "0", "--report", "json="+report)
	if selection != "" {
		c.Args = append(c.Args, "--select", selection)
	}
	c.Args = append(c.Args, flags...)
	c.Env = append(clean(), "ASSAY_TOKEN="+g.token)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if code := c.ProcessState.ExitCode(); code != r.Exit {
		t.Errorf("the exit code is %d, and %d in the report", code, r.Exit)
	}
	return r, string(out)
}

// A server that was not made after ours, and decides what the protocol leaves open, is conformant.
func TestAWebSocketServerIsConformant(t *testing.T) {
	t.Parallel()
	ready(t)
	plain, odd := serveStdio(t, "")[0], serveStdio(t, "", "compressing", "silent")
	for _, s := range []struct {
		name      string
		server    endpoint
		selection string
	}{
		{"as it is", plain, ""},
		{"with a token", serveStdio(t, token)[0], "stdio.auth.*,stdio.handshake.*"},
		{"compressing", odd[0], "stdio.handshake.*,stdio.frame.*"},
		{"silent", odd[1], "stdio.handshake.*,stdio.control.*,stdio.resize.*,stdio.session.*,stdio.shared.*"},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r, out := conform(t, s.server, s.selection)
			t.Logf("%v", r.Counts)
			if r.Exit != 0 || r.Verdict != "conformant" || r.Counts["pass"] == 0 || r.Counts["inconclusive"] > 0 || r.Counts["advisory"] > 0 {
				t.Errorf("exit %d, %s:\n%s", r.Exit, r.Verdict, out)
			}
		})
	}
	t.Run("for a client", func(t *testing.T) {
		t.Parallel()
		accepts(t, plain.page(), script{file: viaStdio, mode: bare}, fewestBare)
	})
}

// Each mistake fails by its rule and by no other cause, and if a client need not wait for what never comes, by its call.
func TestABrokenWebSocketServerFailsByTheRule(t *testing.T) {
	t.Parallel()
	ready(t)
	const nothing = ""
	broken := []struct {
		bug, selection, call, rule string
	}{
		{"close-without-code", "stdio.exit.code", "every exit code comes with close code 1000", "stdio.close.normal"},
		{"code-of-a-signal-null", "stdio.exit.signal", "a signal that kills gives an exit code other than 0", "stdio.message.valid"},
		{"control-in-binary", "stdio.input.not-control", "JSON in a binary message is input", "stdio.input.not-control"},
		{"exit-missing", "stdio.exit.code", "a command without output has none", "stdio.exit.once"},
		{"exit-on-exit", "rule:stdio.output.complete", "three hundred kilobytes and exit 3 arrive whole forty times", "stdio.output.complete"},
		{"exit-twice", "stdio.exit.code", "stdout and stderr are kept apart, and the exit code comes", "stdio.exit.once"},
		{"lives-on", "rule:stdio.end.client-closes", nothing, "stdio.end.client-closes"},
		{"output-as-text", "stdio.output.bytes", "every byte value comes out as it was written", "stdio.output.bytes"},
		{"output-at-the-end", "rule:stdio.output.prompt", nothing, "stdio.output.prompt"},
		{"shell", "rule:stdio.start.arguments", "arguments arrive as they are", "stdio.start.arguments"},
		{"signal-unknown-fatal", "rule:stdio.signal.unknown", "an unknown signal does nothing", "stdio.signal.unknown"},
		{"stderr-as-stdout", "stdio.output.streams", "stdout and stderr are kept apart, and the exit code comes", "stdio.output.streams"},
		{"stdin-as-text", "stdio.input.bytes", "every byte value arrives as it was sent", "stdio.input.bytes"},
		{"text-as-stdin", "rule:stdio.control.malformed", "text that is no message is no input", "stdio.control.malformed"},
	}
	var bugs []string
	for _, b := range broken {
		bugs = append(bugs, b.bug)
	}
	servers := serveStdio(t, "", bugs...)
	for i, b := range broken {
		t.Run(b.bug, func(t *testing.T) {
			t.Parallel()
			r, out := conform(t, servers[i], b.selection)
			if causes := r.causes(); r.Exit != 1 || !slices.Equal(causes, []string{b.rule}) {
				t.Errorf("exit %d, the causes are %q, want %s:\n%s", r.Exit, causes, b.rule, out)
			}
			if b.call != nothing {
				notices(t, servers[i].page(), viaStdio, bare, b.call)
			}
		})
	}
}
