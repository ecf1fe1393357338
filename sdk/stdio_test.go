package sdk_test

import "testing"

// fewestStdio is how many calls over a WebSocket a run over everything must at least make.
const fewestStdio = 55

// A client that knows the protocol from its description gets along with the gateway.
func TestAWebSocketClientAcceptsTheReferenceGateway(t *testing.T) {
	program := ready(t)
	for _, m := range []struct {
		name, mode string
		setup      setup
	}{
		{"virtual processes", virtual, setup{}},
		{"real processes", real, setup{token: token, args: []string{"--processes", "os"}}},
		{"virtual processes over TLS", virtual, setup{token: token, tls: true}},
	} {
		t.Run(m.name, func(t *testing.T) {
			g := serve(t, program, m.setup)
			accepts(t, g, script{file: viaStdio, mode: m.mode}, fewestStdio)
			balanced(t, g)
		})
	}
}
