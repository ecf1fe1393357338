package fakes

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestEveryDeviationIsDescribedOnce(t *testing.T) {
	var likes []string
	everywhere := map[string]Deviation{}
	for _, l := range Likes() {
		likes = append(likes, l.ID)
		if l.ID == "" || l.Title == "" || len(l.Deviations) == 0 {
			t.Errorf("%+v is not described", l)
		}
		seen := map[string]bool{}
		for _, d := range l.Deviations {
			if d.ID == "" || d.Title == "" || seen[d.ID] {
				t.Errorf("%s: %+v is not described, or twice", l.ID, d)
			}
			if other, ok := everywhere[d.ID]; ok && !reflect.DeepEqual(other, d) {
				t.Errorf("%s: %+v is %+v elsewhere", l.ID, d, other)
			}
			seen[d.ID], everywhere[d.ID] = true, d
		}
	}
	if want := []string{"bash-only", "envd", "http-errors", "lossy"}; !slices.Equal(likes, want) {
		t.Errorf("likes %v, want %v, sorted", likes, want)
	}
}

func TestEnvdTakesAndRefusesWhatTheDaemonDoes(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	echo := envelope(0, shell("echo x"))
	cases := []struct {
		name    string
		body    []byte
		headers []string
		want    string
	}{
		{"a good request", echo, nil, ""},
		{"another parameter", echo, []string{"Content-Type: application/connect+json; foo=bar"}, "415"},
		{"charset", echo, []string{"Content-Type: application/connect+json; charset=utf-8"}, ""},
		{"an encoding in capitals", echo, []string{"Connect-Content-Encoding: GZIP"}, "unimplemented"},
		{"end-of-stream behind the message", join(echo, envelope(2, "{}")), nil, ""},
		{"end-of-stream alone", envelope(2, "{}"), nil, "unimplemented"},
		{"end-of-stream before the message", join(envelope(2, "{}"), echo), nil, "internal"},
		{"reserved bits", envelope(4, shell("true")), nil, "internal"},
		{"an empty JSON message", envelope(0, ""), nil, ""},
		{"4 GiB promised", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "invalid_argument"},
		{"a plus sign", echo, []string{"Connect-Timeout-Ms: +5000"}, ""},
		{"no number", echo, []string{"Connect-Timeout-Ms: abc"}, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			headers := append([]string{}, c.headers...)
			if !strings.Contains(strings.Join(headers, "\n"), "Content-Type:") {
				headers = append(headers, streaming)
			}
			a := roundTrip(t, g, "POST", startPath, c.body, headers...)
			got := a.code
			if a.status == http.StatusUnsupportedMediaType {
				got = "415"
			}
			if got != c.want {
				t.Errorf("%d %q (%s), want %q", a.status, got, a.text, c.want)
			}
			if _, empty := a.header["Connect-Content-Encoding"]; empty != strings.Contains(c.name, "capitals") {
				t.Errorf("Connect-Content-Encoding: %v", a.header)
			}
		})
	}
}

func TestEnvdStartsWhatHasATimeoutOfZero(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	begun := 0
	for i := range 8 {
		timeout := []string{"0", "-5"}[i%2]
		a := roundTrip(t, g, "POST", startPath, envelope(0, shell("read x; sleep 100")), streaming, "Connect-Timeout-Ms: "+timeout)
		events := a.events(t)
		if a.code != "deadline_exceeded" || len(events) > 1 || len(events) == 1 && events[0]["start"] == nil {
			t.Errorf("%s: %q, events %v", timeout, a.code, events)
		}
		begun += len(events)
	}
	if n := len(g.table.list()); n != 8 || begun != 2 {
		t.Errorf("%d of 8 processes run, and %d had their start event, want 2", n, begun)
	}
	pid := g.table.list()[0].pid
	a := roundTrip(t, g, "POST", "/process.Process/Connect", envelope(0, fmt.Sprintf(`{"process":{"pid":%d}}`, pid)), streaming, "Connect-Timeout-Ms: 0")
	if a.code != "deadline_exceeded" {
		t.Errorf("Connect: %q %v", a.code, a.events(t))
	}
	if a := roundTrip(t, g, "POST", listPath, []byte("{}"), unaryJSON, "Connect-Timeout-Ms: 0"); a.status != 504 {
		t.Errorf("unary: %d", a.status)
	}
}

func TestEnvdHasTheErrorsOfTheDaemon(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	c := client(t, g)
	s := begin(t, c, connect.NewRequest(&envd.StartRequest{
		Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "sleep 30"}}, Stdin: new(bool),
	}))
	pty := begin(t, c, connect.NewRequest(&envd.StartRequest{
		Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "stty size; sleep 30"}}, Pty: &envd.PTY{Size: &envd.PTY_Size{Cols: 70_000, Rows: 24}},
	}))
	if pty.Receive() {
		if got := string(pty.Msg().GetEvent().GetData().GetPty()); !strings.HasPrefix(got, "24 4464") {
			t.Errorf("the size is %q", got)
		}
	}
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	_, err := c.Update(deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: byPID(s.pid), Pty: size}))
	wantCode(t, "Update of what is no terminal", err, connect.CodeInternal)
	_, err = c.SendInput(deadline(t), stdin(s.pid, "x"))
	wantCode(t, "SendInput without stdin", err, connect.CodeInternal)
	_, err = c.SendInput(deadline(t), stdin(pty.pid, "x"))
	wantCode(t, "stdin for a terminal", err, connect.CodeInternal)
	_, err = c.CloseStdin(deadline(t), connect.NewRequest(&envd.CloseStdinRequest{Process: byPID(pty.pid)}))
	wantCode(t, "CloseStdin of a terminal", err, connect.CodeUnknown)
	_, err = c.SendSignal(deadline(t), connect.NewRequest(&envd.SendSignalRequest{}))
	wantCode(t, "no selector", err, connect.CodeUnimplemented)
	_, err = c.SendSignal(deadline(t), signal(s.pid, envd.Signal_SIGNAL_UNSPECIFIED))
	wantCode(t, "no signal", err, connect.CodeUnimplemented)
	_, err = c.SendInput(deadline(t), connect.NewRequest(&envd.SendInputRequest{Process: byPID(s.pid)}))
	wantCode(t, "no input", err, connect.CodeUnimplemented)
	in := c.StreamInput(deadline(t))
	_ = in.Send(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Data{Data: &envd.StreamInputRequest_DataEvent{}}})
	if _, err = in.CloseAndReceive(); err == nil || strings.Contains(err.Error(), "data before start") {
		t.Errorf("data before start: %v, want a cut connection", err)
	}
}

func wantCode(t *testing.T, what string, err error, code connect.Code) {
	t.Helper()
	if connect.CodeOf(err) != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
}

func TestEnvdHasOnlyTheSurfacesOfTheDaemon(t *testing.T) {
	g := startGateway(t, Options{Like: "envd", Token: "secret"})
	const token = "X-Access-Token: secret"
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		contentType        string
	}{
		{"the alias", "POST", "/commands", []string{token}, 404, "text/plain; charset=utf-8"},
		{"the probe", "POST", "/assay.v1.Probe/Unary", []string{token, unaryJSON}, 404, "text/plain; charset=utf-8"},
		{"a gRPC method that is unknown", "POST", "/no.Such/Method", []string{token, "Content-Type: application/grpc-web"}, 404, "text/plain; charset=utf-8"},
		{"metrics", "GET", "/metrics", []string{token}, 200, "application/json"},
		{"health", "GET", "/health", nil, 204, ""},
		{"HEAD of health", "HEAD", "/health", nil, 405, ""},
		{"health of an unknown user", "GET", "/health", []string{"Authorization: Basic Z2hvc3Q6"}, 401, "application/json"},
		{"a stream without token", "POST", startPath, []string{streaming}, 401, "application/json; charset=utf-8"},
		{"a verb that nobody knows", "CONNECTX", listPath, []string{token}, 405, ""},
	} {
		a := roundTrip(t, g, c.method, c.path, nil, c.headers...)
		if a.status != c.status || a.header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: %d %q, want %d %q", c.name, a.status, a.header.Get("Content-Type"), c.status, c.contentType)
		}
		if c.method == "CONNECTX" && a.header.Get("Allow") != "" {
			t.Errorf("%s: Allow %q", c.name, a.header.Get("Allow"))
		}
	}
	conn := dial(t, startGateway(t, Options{Like: "envd"}))
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if a := conn.answer("GET"); a.status != http.StatusMethodNotAllowed {
		t.Errorf("the preface of HTTP/2: %d %v", a.status, a.header)
	}
	if _, err := conn.r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the preface of HTTP/2: %v, want the end of the connection", err)
	}
}

func TestEnvdServesGRPCOverHTTP1(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	c := dial(t, g)
	c.request("POST", listPath, envelope(0, "{}"), "Content-Type: application/grpc+json")
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	for {
		if _, err := resp.Body.Read(make([]byte, 100)); err != nil {
			break
		}
	}
	if resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("trailers %v", resp.Trailer)
	}
}

func TestEnvdDiesOfAKeepaliveOfZero(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	c := dial(t, g)
	c.request("POST", startPath, envelope(0, shell("true")), streaming, "Keepalive-Ping-Interval: 0")
	_, _ = c.r.ReadByte() // the connection is cut, sooner or later
	if conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://")); err == nil {
		_ = conn.Close()
		t.Error("the gateway still listens")
	}
}

func TestEnvdTimeoutsOfGRPCLeaveTheProcess(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	c := processconnect.NewProcessClient(httpClient(t, g, "1.1"), g.URL(), connect.WithGRPCWeb())
	req := sh("sleep 100")
	req.Header().Set("Grpc-Timeout", late+"m")
	if _, _, _, err := begin(t, c, req).rest(); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("%v, want deadline_exceeded", err)
	}
	if n := len(g.table.list()); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
}

func TestEnvdAnswersGzipByGzip(t *testing.T) {
	g := startGateway(t, Options{Like: "envd"})
	a := roundTrip(t, g, "POST", listPath, gzipped([]byte("{}")), unaryJSON, "Content-Encoding: gzip", "Accept-Encoding: identity")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("C33: %v", a.header)
	}
	a = roundTrip(t, g, "POST", listPath, []byte("{}"), unaryJSON, "Accept-Encoding: identity, gzip")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("C32: %v", a.header)
	}
}

func TestEnvdListsWhatHasExitedWhileItsOutputIsHeld(t *testing.T) {
	s, err := newSeams(&Options{Like: "envd"})
	if err != nil {
		t.Fatal(err)
	}
	box, b := &stubBox{}, &books{}
	tab := newTable(box, Options{}, s, b, wallClock{})
	t.Cleanup(tab.close)
	p, sub, err := tab.start(spec{config: &envd.ProcessConfig{}})
	if err != nil {
		t.Fatal(err)
	}
	stub := box.at(0)
	stub.holders = 1
	stub.exit(stub.status)
	if _, err := tab.find(selector{pid: p.pid}); err != nil {
		t.Errorf("after the exit: %v", err)
	}
	stub.letGo()
	for ended := false; !ended; _, ended, _ = sub.take() {
		<-sub.ready
	}
	if _, err := tab.find(selector{pid: p.pid}); err == nil {
		t.Error("it is listed after the end")
	}
}

func TestEnvdStopsLookingAtAnotherTag(t *testing.T) {
	tab := &table{policy: processPolicy{tagLookupStops: true}}
	one, two := "one", "two"
	from := map[uint32]*process{1: {spec: spec{tag: &one}}, 2: {spec: spec{tag: &two}}, 3: {}}
	lost := false
	for range 1000 {
		_, err := tab.pick(from, selector{tag: &one})
		lost = lost || err != nil
	}
	if !lost {
		t.Error("a tag is always found beside another")
	}
	delete(from, 2)
	if _, err := tab.pick(from, selector{tag: &one}); err != nil {
		t.Errorf("the only tag: %v", err)
	}
}
