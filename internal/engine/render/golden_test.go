package render

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/scenarios"
)

var update = flag.Bool("update", false, "rewrite testdata/requests/engine.txt")

// everyRequest has one step for each request that a script can make with a single step.
const everyRequest = `
id: test.script
title: Every request
rules: [test.rule]
expect: {list: {start: true}}
steps:
  - start: {as: full, cmd: /bin/cat, args: ["-u", "<&>"], envs: {B: "2", A: "1"}, cwd: /tmp, tag: t, stdin: true, timeout-ms: 90000}
  - start: {as: pty, sh: "stty size >&2", pty: {cols: 80, rows: 24}}
  - start: {as: alias, via: commands, sh: "echo <", timeout-ms: 0}
  - connect: {as: connect, pid: 7}
  - connect: {as: by-tag, tag: "a<b"}
  - signal: {as: kill, pid: 7, name: SIGKILL}
  - signal: {as: number, pid: 7, name: "9"}
  - signal: {as: other, tag: t, name: SIGHUP}
  - signal: {as: alias-kill, via: commands, pid: 7, name: SIGKILL}
  - input: {as: input, pid: 7, data: "x\n"}
  - input: {as: nothing, pid: 7, data: ""}
  - input: {as: keys, pid: 7, pty: true, data: "x\n"}
  - close-stdin: {as: close, pid: 7}
  - update: {as: size, pid: 7, cols: 132, rows: 50}
  - list: {as: list}
  - list: {as: alias-list, via: commands}
`

func TestEveryRequestHasTheseBytesInEveryForm(t *testing.T) {
	to, err := target.New(target.Options{URL: "http://127.0.0.1:1", UserAgent: "assay/test"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Parse("test.yaml", []byte(everyRequest))
	if err != nil {
		t.Fatal(err)
	}
	r := Renderer{Target: to, Scenario: s.ID, Run: "run1"}
	var b strings.Builder
	for _, protocol := range []string{call.Connect, call.GRPC, call.GRPCWeb} {
		for _, codec := range []string{call.JSON, call.Proto} {
			for _, http := range []string{"1.1", "h2c"} {
				axes := bundle.Axes{Protocol: protocol, Codec: codec, HTTP: http, Compression: call.Identity}
				fmt.Fprintf(&b, "# %s\n", axes)
				writeRequests(t, &b, r, s, call.Form{Protocol: protocol, Codec: codec, HTTP: http, Compression: call.Identity})
			}
		}
	}
	testkit.Golden(t, "../../../testdata/requests/engine.txt", b.String(), *update)
}

func writeRequests(t *testing.T, b *strings.Builder, r Renderer, s *scenarios.Scenario, f call.Form) {
	t.Helper()
	for i := range s.Steps {
		plan, ok := r.Plan(&s.Steps[i])
		if !ok {
			t.Fatalf("step %d makes no request", i)
		}
		req, err := plan.Request(f)
		if err != nil {
			fmt.Fprintf(b, "%s: not in this codec\n", plan.As) // protobuf's errors differ from build to build
			continue
		}
		fmt.Fprintf(b, "%s: %s %s %s %q\n", plan.As, req.Method, req.Path, req.Shape, req.head)
		if req.HTTP2 {
			for _, h := range req.Headers {
				fmt.Fprintf(b, "  %s: %s\n", h.Name, h.Value)
			}
		}
		fmt.Fprintf(b, "  %q\n", req.Content)
	}
}
