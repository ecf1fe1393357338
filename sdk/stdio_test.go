package sdk_test

import (
	"strings"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
)

// fewestStdio is how many calls over a WebSocket a run over everything must at least make.
const fewestStdio = 55

// A client that knows the protocol from its description gets along with the gateway.
func TestAWebSocketClientAcceptsTheReferenceGateway(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, m := range []struct {
		name, mode string
		options    gateway.Options
	}{
		{"virtual processes", virtual, gateway.Options{}},
		{"real processes", real, gateway.Options{Token: token, Processes: gateway.ProcessesOS}},
		{"virtual processes over TLS", virtual, gateway.Options{Token: token, TLS: true}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, zoo.Options{Options: m.options})
			accepts(t, g, script{file: viaStdio, mode: m.mode}, fewestStdio)
			balanced(t, g)
		})
	}
}

// A gateway that is broken in one way fails just there.
func TestAWebSocketClientNoticesABrokenGateway(t *testing.T) {
	t.Parallel()
	ready(t)
	for _, f := range []struct{ fault, call string }{
		{"stdio-accept-wrong", "a command without output has none"},
		{"stdio-arguments-split", "arguments arrive as they are"},
		{"stdio-close-1011", "every exit code comes with close code 1000"},
		{"stdio-empty-is-eof", "an empty message is nothing"},
		{"stdio-exit-early", "fifty thousand lines arrive whole and in order"},
		{"stdio-extension-unasked", "no subprotocol and no extension is selected"},
		{"stdio-fragments-dropped", "a message in fragments with a ping between them is one message"},
		{"stdio-frames-masked", "stdout and stderr are kept apart, and the exit code comes"},
		{"stdio-message-after-exit", "stdout and stderr are kept apart, and the exit code comes"},
		{"stdio-signal-always-term", "INT, TERM, HUP and USR1 reach the process"},
		{"stdio-tail-lost-often", "three hundred kilobytes and exit 3 arrive whole forty times"},
		{"stdio-unlisted", "the list has a process while it runs"},
	} {
		t.Run(f.fault, func(t *testing.T) {
			t.Parallel()
			notices(t, serve(t, faulty(f.fault)), viaStdio, virtual, f.call)
		})
	}
}

// What Assay holds to be legal, a common client takes. It gives up when pings come faster than it can answer
// them, so output is not cut into messages of one byte and fragments with pings between at the same time.
func TestAWebSocketClientToleratesLegalVariants(t *testing.T) {
	t.Parallel()
	ready(t)
	var whole, cut []string
	for _, v := range zoo.Variants() {
		switch {
		case v.ID == "stdio-one-byte-messages":
			cut = append(cut, v.ID)
		case strings.HasPrefix(v.ID, "stdio-"):
			whole = append(whole, v.ID)
		}
	}
	for _, group := range [][]string{whole, cut} {
		t.Run(strings.Join(group, ","), func(t *testing.T) {
			t.Parallel()
			pattern := "^(stdout and|every|what looks|fifty|output comes|a command that|JSON in|an empty|a message in|INT|an unknown|text that|a size|pings|an unmasked|no subprotocol|a client that closes|eof ends|session: a client|panes: each)"
			tolerates(t, serve(t, zoo.Options{Variants: group}), script{viaStdio, virtual, pattern})
		})
	}
}
