package target

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite testdata/requests/target.txt")

func TestEveryRequestHasTheseBytesInEveryForm(t *testing.T) {
	tgt, err := New(Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	c := tgt.newClient(transport.NewClock(), "probe", time.Second, 2*time.Second)
	defer c.close()
	var b strings.Builder
	for _, protocol := range []string{"connect", "grpc", "grpc-web"} {
		for _, codec := range []string{"json", "proto"} {
			on := c.on(bundle.Axes{Protocol: protocol, Codec: codec, HTTP: transport.H2C, Compression: "identity"})
			fmt.Fprintf(&b, "# %s\n", on.way)
			writeRequests(t, &b, on)
		}
	}
	testkit.Golden(t, "../../testdata/requests/target.txt", b.String(), *update)
}

func writeRequests(t *testing.T, b *strings.Builder, c *client) {
	t.Helper()
	write := func(name string, r request) {
		if r.err != nil {
			t.Fatal(r.err)
		}
		fmt.Fprintf(b, "%s: %s %q %s %s\n", name, r.method, r.surface, r.path, r.shape)
		for _, h := range r.headers {
			fmt.Fprintf(b, "  %s: %s\n", h.Name, h.Value)
		}
		fmt.Fprintf(b, "  %q %q\n", r.body, r.message)
	}
	for _, p := range []struct {
		name string
		command
	}{
		{"start", command{text: "echo <&>", stdin: true}},
		{"start with a tag", command{text: "true", tag: "t<", headers: []bundle.Header{{Name: "keepalive-ping-interval", Value: "1"}}}},
		{"start of a terminal", command{text: "true", shell: []string{"/bin/bash", "-l", "-c"}, pty: true, stdin: true, tag: "t"}},
	} {
		write(p.name, c.startRequest(p.command))
	}
	run := &running{client: c, pid: 7}
	for _, p := range []struct {
		name    string
		message call.Message
	}{
		{"list", call.List{}},
		{"connect", call.Attach{Process: run.selector()}},
		{"connect by tag", call.Attach{Process: call.ByTag("assay-probe")}},
		{"signal", call.Kill(run.selector())},
		{"signal by tag", call.Kill(call.ByTag("assay-probe"))},
		{"input", run.line()},
		{"close-stdin", call.CloseStdin{Process: run.selector()}},
		{"update", run.resize()},
		{"stream-input", call.OpenInput{Start: call.Attach{Process: run.selector()}}},
		{"stat", call.Text{RPC: call.FilesystemStat, JSON: []byte(`{"path":"/"}`)}},
		{"probe", call.Text{RPC: call.ProbeUnary, JSON: []byte("{}")}},
	} {
		r := c.rpcRequest(p.message)
		write(p.name, r)
		if p.name == "signal" || p.name == "connect" {
			write(p.name+", packed", r.packed([]byte("garbage")))
		}
	}
}
