package fakes

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// terminal starts a script on a terminal of 80 by 24.
func terminal(t *testing.T, c processconnect.ProcessClient, script string) *stream {
	t.Helper()
	req := sh(script)
	req.Msg.Pty = &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	return begin(t, c, req)
}

// until reads terminal output until it contains a text.
func (s *stream) until(t *testing.T, text string) {
	t.Helper()
	var out strings.Builder
	for !strings.Contains(out.String(), text) {
		if !s.Receive() {
			t.Fatalf("the stream ended (%v) after %q, want %q", s.Err(), out.String(), text)
		}
		out.Write(s.Msg().GetEvent().GetData().GetPty())
	}
}

func typed(pid uint32, data string) *connect.Request[envd.SendInputRequest] {
	return connect.NewRequest(&envd.SendInputRequest{Process: byPID(pid), Input: &envd.ProcessInput{Input: &envd.ProcessInput_Pty{Pty: []byte(data)}}})
}

func TestATerminalIsServed(t *testing.T) {
	c := client(t, startGateway(t, Options{}))
	s := terminal(t, c, "stty size; read x; echo got $x; stty size; read y; echo never; exit 3")
	s.until(t, "24 80\r\n")
	_, err := c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(s.pid), Pty: &envd.PTY{Size: &envd.PTY_Size{Cols: 100, Rows: 30}}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SendInput(deadline(t), typed(s.pid, "word\r")); err != nil {
		t.Fatal(err)
	}
	s.until(t, "got word\r\n30 100\r\n")
	if _, err := c.SendInput(deadline(t), typed(s.pid, "\x03")); err != nil {
		t.Fatal(err)
	}
	_, _, end, err := s.rest()
	if end.GetExitCode() == 3 || end == nil || err != nil {
		t.Errorf("after Ctrl+C: %v, %v", end, err)
	}
}

func TestWhatATerminalIsNotForIsRefused(t *testing.T) {
	g := startGateway(t, Options{})
	c := client(t, g)
	pty, plain := terminal(t, c, "read x"), begin(t, c, sh("read x"))
	_, err := c.SendInput(deadline(t), stdin(pty.pid, "x"))
	wantCode(t, "stdin for a terminal", err, connect.CodeFailedPrecondition)
	_, err = c.SendInput(deadline(t), typed(plain.pid, "x"))
	wantCode(t, "pty for a pipe", err, connect.CodeFailedPrecondition)
	_, err = c.CloseStdin(deadline(t), connect.NewRequest(&envd.CloseStdinRequest{Process: byPID(pty.pid)}))
	wantCode(t, "CloseStdin of a terminal", err, connect.CodeFailedPrecondition)
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 1, Rows: 1 << 16}}
	_, err = c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(pty.pid), Pty: size}))
	wantCode(t, "a size that is too large", err, connect.CodeInvalidArgument)
	_, err = c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(pty.pid), Pty: &envd.PTY{}}))
	if err != nil {
		t.Errorf("no size: %v", err)
	}
	_, err = c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(plain.pid), Pty: &envd.PTY{Size: &envd.PTY_Size{}}}))
	wantCode(t, "a size for a pipe", err, connect.CodeFailedPrecondition)
}

func TestTerminalOutputIsNotCutByLine(t *testing.T) {
	c := client(t, startGateway(t, Options{}))
	s := terminal(t, c, "printf 'one\\ntwo\\nthree'")
	var out strings.Builder
	for s.Receive() {
		out.Write(s.Msg().GetEvent().GetData().GetPty())
	}
	if out.String() != "one\r\ntwo\r\nthree" || s.Err() != nil {
		t.Errorf("%q, %v", out.String(), s.Err())
	}
}
