package target

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/bundle"
	"assay/internal/testkit"
	"assay/internal/transport"
)

var update = flag.Bool("update", false, "write testdata/requests/target.txt anew")

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
	write := func(name string, r request, err error) {
		if err != nil {
			t.Fatal(err)
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
		r, err := c.startRequest(p.command)
		write(p.name, r, err)
	}
	run := &running{client: c, pid: 7}
	for _, p := range []struct{ name, rpc, message string }{
		{"list", rpcList, "{}"},
		{"connect", rpcConnect, run.message("")},
		{"connect by tag", rpcConnect, `{"process":{"tag":"assay-probe"}}`},
		{"signal", rpcSendSignal, run.message(sigKill)},
		{"signal by tag", rpcSendSignal, `{"process":{"tag":"assay-probe"}` + sigKill + "}"},
		{"input", rpcSendInput, run.message(aLine)},
		{"close-stdin", rpcCloseStdin, run.message("")},
		{"update", rpcUpdate, run.message(size)},
		{"stream-input", rpcStreamInput, `{"start":` + run.message("") + `}`},
		{"stat", rpcStat, `{"path":"/"}`},
		{"probe", rpcUnaryProbe, "{}"},
	} {
		r, err := c.rpcRequest(p.rpc, p.message)
		write(p.name, r, err)
		if p.name == "signal" || p.name == "connect" {
			write(p.name+", packed", r.packed([]byte("garbage")), nil)
		}
	}
}
