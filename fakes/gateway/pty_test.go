package gateway

import (
	"strings"
	"testing"

	"assay/fakes/gatewaytest"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// onTerminal starts a script on a terminal of 80 by 24.
func onTerminal(t *testing.T, c processconnect.ProcessClient, script string) *gatewaytest.Stream {
	t.Helper()
	req := gatewaytest.Sh(script)
	req.Msg.Pty = &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	return gatewaytest.Begin(t, c, req)
}

func TestTerminalOutputIsNotCutByLine(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Client(t, startGateway(t, Options{}))
	s := onTerminal(t, c, "printf 'one\\ntwo\\nthree'")
	var out strings.Builder
	for s.Receive() {
		out.Write(s.Msg().GetEvent().GetData().GetPty())
	}
	if out.String() != "one\r\ntwo\r\nthree" || s.Err() != nil {
		t.Errorf("%q, %v", out.String(), s.Err())
	}
}
