package engine_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// exchangeOf returns the exchange of that name, and fails the test without one.
func exchangeOf(t *testing.T, o *bundle.Observation, name string) *bundle.Exchange {
	t.Helper()
	x := o.Iterations[0].Exchange(name)
	if x == nil {
		t.Fatalf("%s: no exchange %s", o.Scenario, name)
	}
	return x
}

func out(x *bundle.Exchange, stream string) string {
	if b := x.Outputs[stream]; b != nil {
		return string(b.Data)
	}
	return ""
}

func TestAScriptSpeaksOverAWebSocket(t *testing.T) {
	t.Parallel()
	os := run(t, 4, `
id: stdio.life
steps:
  - start: {as: p, via: stdio, sh: 'trap "echo caught; exit 7" USR1; read x; echo "got $x"; echo err >&2; read y'}
  - input: {to: p, via: stdio, data: "a line\n"}
  - await: {on: p, output: got a line}
  - signal: {to: p, via: stdio, name: SIGUSR1}
expect: {p: {ends: once}}`, `
id: stdio.eof
steps:
  - start: {as: p, via: stdio, sh: cat}
  - input: {to: p, via: stdio, data: {repeat: {text: "0123456789", times: 7000}}}
  - close-stdin: {to: p, via: stdio}
expect: {p: {ends: once}}`, `
id: stdio.terminal
steps:
  - start: {as: p, via: stdio, pty: {cols: 80, rows: 24}, sh: 'trap "stty size; exit 0" WINCH; echo up; read x'}
  - await: {on: p, output: up}
  - update: {to: p, via: stdio, cols: 100, rows: 30}
expect: {p: {ends: once}}`, `
id: stdio.frames
steps:
  - start: {as: p, via: stdio, sh: read x; echo "$x"}
  - write: {to: p, of: [{ws: {type: binary, of: [fr], fin: false}}, {ws: {type: ping, of: [hello]}}, {ws: {type: continuation, of: [{hex: "616d650a"}], length-bytes: 2}}], split: every-byte}
  - await: {on: p, ws: pong}
expect: {p: {ends: once}}`, `
id: stdio.refused
steps:
  - start: {as: p, via: stdio, sh: echo never, headers: {Sec-WebSocket-Version: "12"}, query: {sandbox: other}}
expect: {p: {status: 426}}`)
	for i, want := range []struct {
		stdout, stderr string
		code           int32
	}{{"got a line\ncaught\n", "err\n", 7}, {"", "", 0}, {"up\r\n30 100\r\n", "", 0}, {"frame\n", "", 0}} {
		x := exchangeOf(t, os[i], "p")
		end := x.Events[len(x.Events)-1]
		if i != 1 && out(x, "stdout") != want.stdout || out(x, "stderr") != want.stderr || end.Kind != bundle.EventEnd || end.Exit.Code != want.code {
			t.Errorf("%s: stdout %.80q, stderr %q, end %+v", os[i].Scenario, out(x, "stdout"), out(x, "stderr"), end)
		}
		if x.Response.Status != 101 || x.Closing == nil || x.Closing.Code != 1000 || x.Outcome != bundle.OutcomeComplete || len(x.Violations) > 0 {
			t.Errorf("%s: %+v, close %+v, %s, %+v", os[i].Scenario, x.Response, x.Closing, x.Outcome, x.Violations)
		}
	}
	if b := exchangeOf(t, os[1], "p").Outputs["stdout"]; b == nil || b.Len != 70_000 {
		t.Errorf("of 70,000 bytes came %+v", b)
	}
	pong := exchangeOf(t, os[3], "p").Frames[0]
	if wire.WSOpcode(pong.Flags&0xf) != wire.WSPong || string(pong.Head) != "hello" {
		t.Errorf("the first frame is %x %q", pong.Flags, pong.Head)
	}
	refused := exchangeOf(t, os[4], "p")
	if refused.Response.Status != 426 || !strings.Contains(refused.Request.Path, "&sandbox=other") {
		t.Errorf("%d for %s", refused.Response.Status, refused.Request.Path)
	}
}

func TestAProcessOfAWebSocketIsFoundInTheList(t *testing.T) {
	t.Parallel()
	os := run(t, 4, `
id: stdio.found
steps:
  - start: {as: p, via: stdio, sh: read x}
  - signal: {to: p, name: SIGKILL}
expect: {p: {ends: once}}`, `
id: stdio.left
steps:
  - start: {as: p, via: stdio, sh: 'trap "" TERM; echo up; while :; do sleep 0.05; done'}
  - await: {on: p, output: up}
  - list: {as: l}
expect: {l: {lists: [p]}}`, `
id: stdio.short
steps:
  - start: {as: p, via: stdio, sh: exit 0, wait: end}
  - signal: {as: k, to: p, name: SIGKILL}
expect: {k: {error: "*"}}`)
	found := os[0].Iterations[0]
	if len(found.Processes) != 1 || found.Processes[0].PID == 0 || found.Processes[0].Ended == nil || found.Vars["p.pid"] == "" {
		t.Errorf("processes %+v, variables %v", found.Processes, found.Vars)
	}
	// run checks that the second process, which nothing looked for, is gone: it is found by its mark.
	awaits := os[2].Iterations[0].Awaits
	if len(awaits) != 1 || awaits[0].Met || awaits[0].What.Kind != bundle.WaitListed {
		t.Errorf("awaits %+v", awaits)
	}
}

func TestARawWebSocketAnswersNothing(t *testing.T) {
	t.Parallel()
	o := run(t, 1, `
id: stdio.raw
steps:
  - open: {as: c, http: "1.1", raw: true}
  - start: {as: p, via: stdio, on: c, sh: exit 3, wait: end}
  - await: {on: c, silence: 100ms}
  - write: {to: p, of: {ws: {type: close, code: 1000}}}
  - await: {on: c, closed: true}
expect: {p: {ends: once}}`)[0]
	x, conn := exchangeOf(t, o, "p"), o.Iterations[0].Conns[0]
	if x.Closing == nil || x.Closing.Answer || conn.Ended == nil || conn.Ended.By != "peer" {
		t.Errorf("close %+v, connection %+v", x.Closing, conn.Ended)
	}
	if !strings.HasSuffix(hex.EncodeToString(conn.Sent.Data), "888237fa213d"+"3412") {
		t.Errorf("sent %x", conn.Sent.Data[max(0, len(conn.Sent.Data)-20):])
	}
}
