package gateway

import (
	"strings"
	"testing"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

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

func typed(pid uint32, data string) *connect.Request[envd.SendInputRequest] {
	return connect.NewRequest(&envd.SendInputRequest{Process: gatewaytest.ByPID(pid), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Pty{Pty: []byte(data)}}})
}

func TestATerminalIsServed(t *testing.T) {
	t.Parallel()
	c := gatewaytest.Client(t, startGateway(t, Options{}))
	s := onTerminal(t, c, "stty size; read x; echo got $x; stty size; read y; echo never; exit 3")
	s.Until(t, "24 80\r\n")
	_, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(s.PID), Pty: &envd.PTY{Size: &envd.PTY_Size{Cols: 100, Rows: 30}}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SendInput(gatewaytest.Deadline(t), typed(s.PID, "word\r")); err != nil {
		t.Fatal(err)
	}
	s.Until(t, "got word\r\n30 100\r\n")
	if _, err := c.SendInput(gatewaytest.Deadline(t), typed(s.PID, "\x03")); err != nil {
		t.Fatal(err)
	}
	_, _, end, err := s.Rest()
	if end.GetExitCode() == 3 || end == nil || err != nil {
		t.Errorf("after Ctrl+C: %v, %v", end, err)
	}
}

func TestWhatATerminalIsNotForIsRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := gatewaytest.Client(t, g)
	pty, plain := onTerminal(t, c, "read x"), gatewaytest.Begin(t, c, gatewaytest.Sh("read x"))
	_, err := c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(pty.PID, "x"))
	gatewaytest.WantCode(t, "stdin for a terminal", err, connect.CodeFailedPrecondition)
	_, err = c.SendInput(gatewaytest.Deadline(t), typed(plain.PID, "x"))
	gatewaytest.WantCode(t, "pty for a pipe", err, connect.CodeFailedPrecondition)
	_, err = c.CloseStdin(gatewaytest.Deadline(t), connect.NewRequest(&envd.CloseStdinRequest{Process: gatewaytest.ByPID(pty.PID)}))
	gatewaytest.WantCode(t, "CloseStdin of a terminal", err, connect.CodeFailedPrecondition)
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 1, Rows: 1 << 16}}
	_, err = c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(pty.PID), Pty: size}))
	gatewaytest.WantCode(t, "a size that is too large", err, connect.CodeInvalidArgument)
	_, err = c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(pty.PID), Pty: &envd.PTY{}}))
	if err != nil {
		t.Errorf("no size: %v", err)
	}
	_, err = c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(plain.PID), Pty: &envd.PTY{Size: &envd.PTY_Size{}}}))
	gatewaytest.WantCode(t, "a size for a pipe", err, connect.CodeFailedPrecondition)
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
