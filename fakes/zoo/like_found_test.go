package zoo

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"assay/fakes/gateway"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// bash returns a Start of a login shell.
func bash(script string) *connect.Request[envd.StartRequest] {
	return connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-l", "-c", script}}})
}

func TestBashOnlyRunsLoginShellsWithoutStdin(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "bash-only"})
	c := gatewaytest.Client(t, g)
	out, _, end, err := gatewaytest.Begin(t, c, bash("cat; echo at the end")).Rest()
	if out != "at the end\n" || end.GetExitCode() != 0 || err != nil {
		t.Errorf("stdin left open: %q %v %v", out, end, err)
	}
	open := bash("read x; echo got $x")
	open.Msg.Stdin = new(true)
	s := gatewaytest.Begin(t, c, open)
	if _, err := c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(s.PID, "it\n")); err != nil {
		t.Error(err)
	}
	if out, _, _, err := s.Rest(); out != "got it\n" || err != nil {
		t.Errorf("stdin asked for: %q %v", out, err)
	}
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming)
	if a.Status != 200 || a.Code != "invalid_argument" || len(a.Frames) != 1 {
		t.Errorf("another shell: %d %q, %d frames", a.Status, a.Code, len(a.Frames))
	}
}

func TestBashOnlyAnswersWhatItDoesNotKnowInJSON(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "bash-only"})
	for _, c := range []struct{ method, path, contentType string }{
		{"POST", "/x", gatewaytest.UnaryJSON},
		{"POST", "/process.Process/NoSuchMethod", gatewaytest.UnaryJSON},
		{"POST", "/process.Process/NoSuchMethod", "Content-Type: application/grpc-web"},
		{"GET", gatewaytest.ListPath, gatewaytest.UnaryJSON},
		{"PUT", gatewaytest.StartPath, gatewaytest.Streaming},
		{"POST", "/commands", gatewaytest.UnaryJSON},
		{"GET", "/metrics", gatewaytest.UnaryJSON},
		{"POST", "/health", gatewaytest.UnaryJSON},
		{"POST", "/assay.v1.Probe/Unary", gatewaytest.UnaryJSON},
	} {
		a := gatewaytest.RoundTrip(t, g, c.method, c.path, []byte("{}"), c.contentType)
		want := fmt.Sprintf(`{"code":"not_found","message":"route %s %s not found"}`, c.method, c.path)
		if a.Status != http.StatusNotFound || a.Header.Get("Content-Type") != "application/json" || string(a.Body) != want {
			t.Errorf("%s %s: %d %q %s, want 404 and %s", c.method, c.path, a.Status, a.Header.Get("Content-Type"), a.Body, want)
		}
	}
	for _, typ := range []string{"application/grpc", "application/grpc-web+json"} {
		if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, gatewaytest.Envelope(0, ""), "Content-Type: "+typ); a.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d", typ, a.Status)
		}
	}
	conn := gatewaytest.Dial(t, g)
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if a := conn.Answer("GET"); a.Status != http.StatusNotFound || a.Code != "not_found" {
		t.Errorf("the preface of HTTP/2: %d %s", a.Status, a.Body)
	}
	if b, err := conn.R.ReadByte(); err == nil {
		t.Errorf("after the preface: %q, want the end of the connection", b)
	}
}

// TestLossyLosesTheLastChunkOfThreeInTen uses processes that write and exit at once;
// the time of the bubble does not advance meanwhile.
func TestLossyLosesTheLastChunkOfThreeInTen(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Like: "lossy"}, {Like: "lossy", Seed: 4}, {Faults: []string{"tail-lost-often"}}} {
		for _, size := range []int{5, lossyChunk + 5} {
			synctest.Test(t, func(t *testing.T) {
				c, box, done := boxed(t, o)
				defer done()
				lost := 0
				for i := range 20 {
					s := gatewaytest.Begin(t, c, gatewaytest.Sh(""))
					box.At(i).Print(strings.Repeat("a", size))
					box.At(i).Exit(virtual.Status{Code: 3})
					out, _, end, err := s.Rest()
					if err != nil || end.GetExitCode() != 3 {
						t.Errorf("end %v, %v", end, err)
					}
					switch out {
					case strings.Repeat("a", size):
					case strings.Repeat("a", size/lossyChunk*lossyChunk):
						lost++
					default:
						t.Errorf("%d of %d bytes", len(out), size)
					}
				}
				if lost != 6 {
					t.Errorf("%+v: %d of 20 commands lost their tail of %d bytes, want 6", o, lost, size)
				}
			})
		}
	}
}

func TestGatewaysAsTheyAreFoundHaveTheProcessServiceAlone(t *testing.T) {
	t.Parallel()
	for _, like := range []string{"bash-only", "http-errors", "lossy"} {
		g := startGateway(t, Options{Like: like})
		for path, want := range map[string]int{"/commands": 404, "/metrics": 404, "/assay.v1.Probe/Unary": 404, gatewaytest.ListPath: 415} {
			a := gatewaytest.RoundTrip(t, g, "POST", path, gatewaytest.Envelope(0, ""), "Content-Type: application/grpc-web")
			if a.Status != want {
				t.Errorf("%s: %s: %d, want %d", like, path, a.Status, want)
			}
		}
		if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON); a.Status != 200 {
			t.Errorf("%s: List: %d", like, a.Status)
		}
	}
}

func TestAReplayIsBounded(t *testing.T) {
	t.Parallel()
	f := replays(anyFanout{})
	chunk := gateway.Chunk{Data: make([]byte, 32<<10)}
	for range 3 * maxReplay / len(chunk.Data) {
		f.Publish(chunk)
	}
	if n := len(f.Join(gateway.Reader{Late: true})) * len(chunk.Data); n != maxReplay {
		t.Errorf("%d bytes, want the last %d", n, maxReplay)
	}
	if n := len(f.Join(gateway.Reader{})); n != 0 {
		t.Errorf("the first reader gets %d chunks", n)
	}
}

// anyFanout gives every reader everything.
type anyFanout struct{ gateway.Fanout }

func (anyFanout) Join(gateway.Reader) []gateway.Chunk      { return nil }
func (anyFanout) Publish(gateway.Chunk)                    {}
func (anyFanout) Copies(gateway.Reader, gateway.Chunk) int { return 1 }

// TestEnvdLosesTheTailOfEveryFifthTrap uses processes that write after SIGTERM and
// exit at once. Their output fits into the pipe of a daemon that waits for its
// readers.
func TestEnvdLosesTheTailOfEveryFifthTrap(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Like: "envd"}, {Like: "envd", Seed: 3}, {Faults: []string{"term-output-lost"}}} {
		synctest.Test(t, func(t *testing.T) {
			c, box, done := boxed(t, o)
			defer done()
			lost := 0
			for i := range 10 {
				s := gatewaytest.Begin(t, c, gatewaytest.Sh(""))
				stub := box.At(i)
				stub.Print("ready\n")
				stub.OnSignal = func(syscall.Signal) {
					stub.Print(strings.Repeat("a", termChunk+1))
					stub.Exit(virtual.Status{Code: 5})
				}
				if _, err := c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_SIGTERM)); err != nil {
					t.Fatal(err)
				}
				out, _, end, err := s.Rest()
				if err != nil || end.GetExitCode() != 5 {
					t.Errorf("end %v, %v", end, err)
				}
				switch n := len(out) - len("ready\n"); n {
				case termChunk + 1:
				case termChunk:
					lost++
				default:
					t.Errorf("%d bytes", n)
				}
			}
			if lost != 2 {
				t.Errorf("%+v: %d of 10 lost their tail, want 2", o, lost)
			}
		})
	}
}

func TestSomeTerminalsBeginLate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		o    Options
		want int
	}{{Options{Like: "envd"}, 2}, {Options{Like: "envd", Seed: 11}, 2}, {Options{Faults: []string{"terminal-begins-late"}}, 20}} {
		c, box, done := boxed(t, tc.o)
		lost := 0
		for i := range 40 {
			req := gatewaytest.Sh("")
			req.Msg.Pty = &envd.PTY{}
			s := gatewaytest.Begin(t, c, req)
			box.At(i).Spec.Output(virtual.PTY, []byte("first"))
			box.At(i).Spec.Output(virtual.PTY, []byte("second"))
			box.At(i).Exit(virtual.Status{})
			var out strings.Builder
			for s.Receive() {
				out.Write(s.Msg().GetEvent().GetData().GetPty())
			}
			switch {
			case s.Err() == nil && out.String() == "firstsecond":
			case s.Err() == nil && out.String() == "second":
				lost++
			default:
				t.Errorf("%q, %v", out.String(), s.Err())
			}
		}
		done()
		if lost != tc.want {
			t.Errorf("%+v: %d of 40 terminals began late, want %d", tc.o, lost, tc.want)
		}
	}
}
