package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assay/fakes/gateway"
)

// A gateway that lets no stream of HTTP/2 begin fails, whichever engine asks it: the streams
// wait for nothing of ours.
func TestAGatewayThatOpensNoStreamFails(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"h2-rst": "outcomes    reset ", "silent": "accept_stall 2", "h2-silent": "stall 2",
	} {
		for _, engine := range []string{"fast", "portable"} {
			t.Run(kind+" "+engine, func(t *testing.T) {
				t.Parallel()
				s, err := startHostile(kind)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(s.Close)
				// The run is shorter than any deadline of its streams.
				text, code := ran(t, t.TempDir(), "load", s.URL, "--http", "h2c", "--engine", engine, "--streams", "2", "--duration", "200ms")
				if code != 1 || !strings.Contains(text, want) {
					t.Errorf("exit code %d, want 1 and %q\n%s", code, want, text)
				}
			})
		}
	}
}

// Processes of others that ran before the run began, and end during it, move the counters:
// that proves nothing against the gateway.
func TestProcessesOfOthersThatRanBeforeProveNothing(t *testing.T) {
	t.Parallel()
	g := gatewayFor(t, gateway.Options{})
	const others = 7
	var pids []int
	for range others {
		pids = append(pids, startOther(t, g.URL()))
	}
	c, out, stderr := started(t, "load", g.URL(), "--streams", "2", "--duration", "2s", "--out", "run")
	stderr.after(t, "") // the plan: the counters were read
	for _, pid := range pids {
		resp, err := http.Post(fmt.Sprintf("%s/commands/%d/kill", g.URL(), pid), "", nil) //nolint:gosec // the test's own server
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	wantExit(t, c.Wait(), exitInconclusive, stderr)
	want := fmt.Sprintf("foreign traffic: %d processes of others ran before the run, 0 started and %d ended during it", others, others)
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
		t.Errorf("the report lacks %q:\n%s", want, out)
	}
	for _, format := range []string{"json", "junit", "markdown"} {
		if text, code := ran(t, c.Dir, "report", "run", "--format", format); code != exitInconclusive || !strings.Contains(text, "processes of others ran before the run") {
			t.Errorf("%s: exit code %d\n%s", format, code, text)
		}
	}
}

// startOther starts a process that runs until it is killed, and returns its pid.
func startOther(t *testing.T, url string) (pid int) {
	t.Helper()
	resp, err := http.Post(url+"/commands", "application/json", strings.NewReader(`{"cmd":"sleep 3600"}`)) //nolint:gosec // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	var first struct{ PID int }
	if err := json.NewDecoder(resp.Body).Decode(&first); err != nil || first.PID == 0 {
		t.Fatalf("first line %+v: %v", first, err)
	}
	return first.PID
}
