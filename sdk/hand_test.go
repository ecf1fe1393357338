package sdk_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"assay/fakes/zoo"
)

// Each program runs alone, as the README says, also against the program `assay serve`.
func TestTheProgramsRunByHand(t *testing.T) {
	t.Parallel()
	ready(t)
	// Each has a gateway of its own, because a program takes what still runs there for what its own call has left.
	served := func() endpoint {
		urls := start(t, exec.Command(program(t), "serve", "--listen", "127.0.0.1:0", "--token-file", secret(t, token), "--processes", "os"), 1)
		return endpoint{url: urls[0], token: token}
	}
	broken := func() endpoint { return serve(t, faulty("stdio-accept-wrong")) }
	for _, h := range []struct {
		name     string
		gateway  endpoint
		file     string
		mode     string
		pattern  string
		exitCode int
	}{
		{"the SDK", served(), viaSDK, real, "^(run|sendStdin|pty: what|files: (text|exists)|signed)", 0},
		{"sandboxes", serve(t, plane(zoo.Options{}, apiKey)), viaSandboxes, virtual, "^(run|sandbox: create)", 0},
		{"the interpreter", broken(), viaInterpreter, "own", "^a language", 0},
		{"a WebSocket", served(), viaStdio, real, "^(stdout|every|pty: what)", 0},
		{"a broken gateway", broken(), viaStdio, virtual, only("a command without output has none"), 1},
		{"an unknown mode", broken(), viaSDK, "unknown", "", 2},
	} {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			node := exec.CommandContext(t.Context(), "node", h.file, h.gateway.url, h.mode, h.pattern)
			node.Env = append(clean(), "ASSAY_TOKEN="+h.gateway.token)
			var stderr bytes.Buffer
			node.Stderr = &stderr
			out, err := node.Output()
			if code := node.ProcessState.ExitCode(); code != h.exitCode {
				t.Fatalf("%s ended with %v, want exit code %d:\n%s%s", h.file, err, h.exitCode, out, &stderr)
			}
			if h.exitCode > 1 {
				return
			}
			lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
			var last line
			if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.Summary == nil {
				t.Fatalf("%s has no summary: %v:\n%s", h.file, err, out)
			}
			if s := last.Summary; s.Calls != len(lines)-1 || s.Calls == 0 || s.Failed > 0 != (h.exitCode == 1) {
				t.Errorf("%d calls, %d failed and exit code %d:\n%s", s.Calls, s.Failed, h.exitCode, out)
			}
		})
	}
}
