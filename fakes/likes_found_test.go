package fakes

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
)

// seamedTable is a stub table with the seams of some options, as the surfaces see it.
func seamedTable(t *testing.T, o Options) (processTable, *table, *stubBox) {
	t.Helper()
	s, err := newSeams(&o)
	if err != nil {
		t.Fatal(err)
	}
	box := &stubBox{}
	tab := newTable(box, Options{}, s, &books{}, wallClock{})
	return apply[processTable](s.table, tab), tab, box
}

// bash is a Start of a login shell.
func bash(script string) *connect.Request[envd.StartRequest] {
	return connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-l", "-c", script}}})
}

func TestBashOnlyRunsLoginShellsWithoutStdin(t *testing.T) {
	g := startGateway(t, Options{Like: "bash-only"})
	c := client(t, g)
	out, _, end, err := begin(t, c, bash("cat; echo at the end")).rest()
	if out != "at the end\n" || end.GetExitCode() != 0 || err != nil {
		t.Errorf("stdin left open: %q %v %v", out, end, err)
	}
	open := bash("read x; echo got $x")
	open.Msg.Stdin = new(true)
	s := begin(t, c, open)
	if _, err := c.SendInput(deadline(t), stdin(s.pid, "it\n")); err != nil {
		t.Error(err)
	}
	if out, _, _, err := s.rest(); out != "got it\n" || err != nil {
		t.Errorf("stdin asked for: %q %v", out, err)
	}
	a := roundTrip(t, g, "POST", startPath, envelope(0, shell("true")), streaming)
	if a.status != 200 || a.code != "invalid_argument" || len(a.frames) != 1 {
		t.Errorf("another shell: %d %q, %d frames", a.status, a.code, len(a.frames))
	}
}

func TestBashOnlyAnswersWhatItDoesNotKnowInJSON(t *testing.T) {
	g := startGateway(t, Options{Like: "bash-only"})
	for _, c := range []struct{ method, path, contentType string }{
		{"POST", "/x", unaryJSON},
		{"POST", "/process.Process/NoSuchMethod", unaryJSON},
		{"POST", "/process.Process/NoSuchMethod", "Content-Type: application/grpc-web"},
		{"GET", listPath, unaryJSON},
		{"PUT", startPath, streaming},
		{"POST", "/commands", unaryJSON},
		{"GET", "/metrics", unaryJSON},
		{"POST", "/health", unaryJSON},
		{"POST", "/assay.v1.Probe/Unary", unaryJSON},
	} {
		a := roundTrip(t, g, c.method, c.path, []byte("{}"), c.contentType)
		want := fmt.Sprintf(`{"code":"not_found","message":"route %s %s not found"}`, c.method, c.path)
		if a.status != http.StatusNotFound || a.header.Get("Content-Type") != "application/json" || string(a.body) != want {
			t.Errorf("%s %s: %d %q %s, want 404 and %s", c.method, c.path, a.status, a.header.Get("Content-Type"), a.body, want)
		}
	}
	for _, typ := range []string{"application/grpc", "application/grpc-web+json"} {
		if a := roundTrip(t, g, "POST", listPath, envelope(0, ""), "Content-Type: "+typ); a.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d", typ, a.status)
		}
	}
	conn := dial(t, g)
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if a := conn.answer("GET"); a.status != http.StatusNotFound || a.code != "not_found" {
		t.Errorf("the preface of HTTP/2: %d %s", a.status, a.body)
	}
	if b, err := conn.r.ReadByte(); err == nil {
		t.Errorf("after the preface: %q, want the end of the connection", b)
	}
}

// TestLossyLosesTheLastChunkOfThreeInTen has processes that write and exit at once;
// the time of the bubble stands still meanwhile.
func TestLossyLosesTheLastChunkOfThreeInTen(t *testing.T) {
	for _, o := range []Options{{Like: "lossy"}, {Like: "lossy", Seed: 4}, {Faults: []string{"tail-lost-often"}}} {
		for _, size := range []int{5, lossyChunk + 5} {
			synctest.Test(t, func(t *testing.T) {
				tab, own, box := seamedTable(t, o)
				defer own.close()
				lost := 0
				for i := range 20 {
					p, sub, err := tab.start(spec{config: &envd.ProcessConfig{}})
					if err != nil {
						t.Fatal(err)
					}
					box.at(i).print(strings.Repeat("a", size))
					box.at(i).exit(virtual.Status{Code: 3})
					events, err := follow(own, p, sub, false)
					if end := events[len(events)-1]; err != nil || end.end.code != 3 {
						t.Errorf("end %+v, %v", end, err)
					}
					switch out := written(events); out {
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

// written is the output among events.
func written(events []event) string {
	var out strings.Builder
	for _, e := range events {
		out.Write(e.chunk.data)
	}
	return out.String()
}

func TestLossyConnectsWithoutDataAndClosesNoStdin(t *testing.T) {
	g := startGateway(t, Options{Like: "lossy"})
	c := client(t, g)
	s := begin(t, c, sh("read x; echo heard; sleep 0.1; exit 2"))
	late, err := c.Connect(deadline(t), connect.NewRequest(&envd.ConnectRequest{Process: byPID(s.pid)}))
	if err != nil || !late.Receive() || late.Msg().GetEvent().GetStart() == nil {
		t.Fatalf("Connect: %v, %v", late.Msg(), err)
	}
	_, err = c.CloseStdin(deadline(t), connect.NewRequest(&envd.CloseStdinRequest{Process: byPID(s.pid)}))
	wantCode(t, "CloseStdin", err, connect.CodeUnimplemented)
	if _, err := c.SendInput(deadline(t), stdin(s.pid, "\n")); err != nil {
		t.Error(err)
	}
	if !late.Receive() || late.Msg().GetEvent().GetEnd().GetExitCode() != 2 || late.Receive() || late.Err() != nil {
		t.Errorf("after start: %v, %v, want the end alone", late.Msg(), late.Err())
	}
	if out, _, _, err := s.rest(); out != "heard\n" || err != nil {
		t.Errorf("the stream of Start: %q %v", out, err)
	}
}

func TestGatewaysAsTheyAreFoundHaveTheProcessServiceAlone(t *testing.T) {
	for _, like := range []string{"bash-only", "http-errors", "lossy"} {
		g := startGateway(t, Options{Like: like})
		for path, want := range map[string]int{"/commands": 404, "/metrics": 404, "/assay.v1.Probe/Unary": 404, listPath: 415} {
			a := roundTrip(t, g, "POST", path, envelope(0, ""), "Content-Type: application/grpc-web")
			if a.status != want {
				t.Errorf("%s: %s: %d, want %d", like, path, a.status, want)
			}
		}
		if a := roundTrip(t, g, "POST", listPath, []byte("{}"), unaryJSON); a.status != 200 {
			t.Errorf("%s: List: %d", like, a.status)
		}
	}
}

func TestHTTPErrorsHaveTheStatusOfTheirCode(t *testing.T) {
	for _, o := range []Options{{Like: "http-errors"}, {Faults: []string{"stream-errors-as-http"}}} {
		g := startGateway(t, o)
		for _, c := range []struct {
			name, path, body string
			headers          []string
			status           int
			code             string
		}{
			{"refused by the handler", startPath, `{"process":{"cmd":"/bin/true","cwd":"/no/such"}}`, nil, 400, "invalid_argument"},
			{"refused before it", startPath, `{}`, []string{"Connect-Timeout-Ms: abc"}, 400, "invalid_argument"},
			{"an unknown process", "/process.Process/Connect", `{"process":{"pid":4000000000}}`, nil, 404, "not_found"},
			{"compressed", "/process.Process/Connect", `{"process":{"pid":4000000000}}`, []string{"Connect-Accept-Encoding: gzip"}, 404, "not_found"},
			{"a message that is none", startPath, `{`, nil, 400, "invalid_argument"},
		} {
			a := roundTrip(t, g, "POST", c.path, envelope(0, c.body), append(c.headers, streaming)...)
			if a.status != c.status || a.code != c.code || a.header.Get("Content-Type") != "application/json" {
				t.Errorf("%+v: %s: %d %q %s", o, c.name, a.status, a.header.Get("Content-Type"), a.body)
			}
			for _, name := range []string{"Connect-Accept-Encoding", "Connect-Content-Encoding"} {
				if a.header.Get(name) != "" {
					t.Errorf("%+v: %s: %v", o, c.name, a.header)
				}
			}
		}
		a := roundTrip(t, g, "POST", startPath, envelope(0, shell("echo x; exit 3")), streaming)
		if a.status != 200 || a.code != "" || len(a.events(t)) != 3 {
			t.Errorf("%+v: a success: %d %s", o, a.status, a.body)
		}
	}
}

func TestHTTPErrorsReplaysOnConnect(t *testing.T) {
	for _, o := range []Options{{Like: "http-errors"}, {Faults: []string{"attach-replays"}}} {
		g := startGateway(t, o)
		c := client(t, g)
		s := begin(t, c, sh("echo before; read x; echo after; exit 3"))
		if !s.Receive() || string(s.Msg().GetEvent().GetData().GetStdout()) != "before\n" {
			t.Fatalf("%v", s.Msg())
		}
		attached := func() string {
			var out strings.Builder
			late, err := c.Connect(deadline(t), connect.NewRequest(&envd.ConnectRequest{Process: byPID(s.pid)}))
			for err == nil && late.Receive() {
				data := late.Msg().GetEvent().GetData().GetStdout()
				out.Write(data)
				if string(data) == "before\n" {
					_, _ = c.SendInput(deadline(t), stdin(s.pid, "\n")) // the second time it has ended
				}
			}
			return out.String()
		}
		for _, when := range []string{"while it runs", "behind its end"} {
			if out := attached(); out != "before\nafter\n" {
				t.Errorf("%+v: %s: %q", o, when, out)
			}
		}
	}
}

func TestAReplayIsBounded(t *testing.T) {
	h := newHub(wallClock{}, hubPolicy{replays: true})
	first := h.subscribe()
	line := strings.Repeat("a", maxLine-1) + "\n"
	for range 3 * maxReplay / maxLine {
		h.write(virtual.Stdout, []byte(line))
		_, _ = taken(first)
	}
	if out, lost := taken(h.subscribe()); len(out) != maxReplay || lost {
		t.Errorf("%d bytes, lost %v, want the last %d", len(out), lost, maxReplay)
	}
}

func TestHTTPErrorsIgnoresDeadlines(t *testing.T) {
	g := startGateway(t, Options{Like: "http-errors"})
	a := roundTrip(t, g, "POST", startPath, envelope(0, shell("sleep 0.3; echo beyond")), streaming, "Connect-Timeout-Ms: 100")
	if a.code != "" || len(a.events(t)) != 3 {
		t.Errorf("%q %s", a.code, a.body)
	}
}

// TestEnvdLosesTheTailOfEveryFifthTrap has processes that write after SIGTERM and
// exit at once. What they write fits the pipe of a daemon that waits for its readers.
func TestEnvdLosesTheTailOfEveryFifthTrap(t *testing.T) {
	for _, o := range []Options{{Like: "envd"}, {Like: "envd", Seed: 3}, {Faults: []string{"term-output-lost"}}} {
		synctest.Test(t, func(t *testing.T) {
			tab, own, box := seamedTable(t, o)
			defer own.close()
			lost := 0
			for i := range 10 {
				p, sub, err := tab.start(spec{config: &envd.ProcessConfig{}})
				if err != nil {
					t.Fatal(err)
				}
				stub := box.at(i)
				stub.print("ready\n")
				stub.onSignal = func(syscall.Signal) {
					stub.print(strings.Repeat("a", termChunk+1))
					stub.exit(virtual.Status{Code: 5})
				}
				if err := tab.terminate(selector{pid: p.pid}); err != nil {
					t.Fatal(err)
				}
				events, err := follow(own, p, sub, false)
				if end := events[len(events)-1]; err != nil || end.end.code != 5 {
					t.Errorf("end %+v, %v", end, err)
				}
				switch out := len(written(events)) - len("ready\n"); out {
				case termChunk + 1:
				case termChunk:
					lost++
				default:
					t.Errorf("%d bytes", out)
				}
			}
			if lost != 2 {
				t.Errorf("%+v: %d of 10 lost their tail, want 2", o, lost)
			}
		})
	}
}

func TestSomeTerminalsBeginLate(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{{Options{Like: "envd"}, 2}, {Options{Like: "envd", Seed: 11}, 2}, {Options{Faults: []string{"terminal-begins-late"}}, 20}} {
		tab, own, box := seamedTable(t, c.o)
		lost := 0
		for i := range 40 {
			p, sub, err := tab.start(spec{config: &envd.ProcessConfig{}, pty: &virtual.Size{}})
			if err != nil {
				t.Fatal(err)
			}
			box.at(i).spec.Output(virtual.PTY, []byte("first"))
			box.at(i).spec.Output(virtual.PTY, []byte("second"))
			box.at(i).exit(virtual.Status{})
			events, err := follow(own, p, sub, false)
			switch out := written(events); {
			case err == nil && out == "firstsecond":
			case err == nil && out == "second":
				lost++
			default:
				t.Errorf("%q, %v", out, err)
			}
		}
		own.close()
		if lost != c.want {
			t.Errorf("%+v: %d of 40 terminals began late, want %d", c.o, lost, c.want)
		}
	}
}
