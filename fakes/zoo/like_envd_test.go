package zoo

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

	"assay/fakes/gateway"
	"assay/fakes/virtual"

	"assay/fakes/gatewaytest"

	"connectrpc.com/connect"

	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

func TestEveryDeviationIsDescribedOnce(t *testing.T) {
	t.Parallel()
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
	if !slices.IsSorted(likes) {
		t.Errorf("not sorted: %v", likes)
	}
}

func TestEnvdTakesAndRefusesWhatTheDaemonDoes(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	echo := gatewaytest.Envelope(0, gatewaytest.Shell("echo x"))
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
		{"end-of-stream behind the message", slices.Concat(echo, gatewaytest.Envelope(2, "{}")), nil, ""},
		{"end-of-stream alone", gatewaytest.Envelope(2, "{}"), nil, "unimplemented"},
		{"end-of-stream before the message", slices.Concat(gatewaytest.Envelope(2, "{}"), echo), nil, "internal"},
		{"reserved bits", gatewaytest.Envelope(4, gatewaytest.Shell("true")), nil, "internal"},
		{"an empty JSON message", gatewaytest.Envelope(0, ""), nil, ""},
		{"4 GiB promised", []byte{0, 0xff, 0xff, 0xff, 0xff, '{'}, nil, "invalid_argument"},
		{"a plus sign", echo, []string{"Connect-Timeout-Ms: +5000"}, ""},
		{"no number", echo, []string{"Connect-Timeout-Ms: abc"}, "invalid_argument"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			headers := append([]string{}, c.headers...)
			if !strings.Contains(strings.Join(headers, "\n"), "Content-Type:") {
				headers = append(headers, gatewaytest.Streaming)
			}
			a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, c.body, headers...)
			got := a.Code
			if a.Status == http.StatusUnsupportedMediaType {
				got = "415"
			}
			if got != c.want {
				t.Errorf("%d %q (%s), want %q", a.Status, got, a.Text, c.want)
			}
			if _, empty := a.Header["Connect-Content-Encoding"]; empty != strings.Contains(c.name, "capitals") {
				t.Errorf("Connect-Content-Encoding: %v", a.Header)
			}
		})
	}
}

func TestEnvdStartsWhatHasATimeoutOfZero(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	begun := 0
	for i := range 8 {
		timeout := []string{"0", "-5"}[i%2]
		a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("read x; sleep 100")), gatewaytest.Streaming, "Connect-Timeout-Ms: "+timeout)
		events := a.Events(t)
		if a.Code != "deadline_exceeded" || len(events) > 1 || len(events) == 1 && events[0]["start"] == nil {
			t.Errorf("%s: %q, events %v", timeout, a.Code, events)
		}
		begun += len(events)
	}
	if n := len(listed(t, gatewaytest.Client(t, g))); n != 8 || begun != 2 {
		t.Errorf("%d of 8 processes run, and %d had their start event, want 2", n, begun)
	}
	pid := listed(t, gatewaytest.Client(t, g))[0].GetPid()
	a := gatewaytest.RoundTrip(t, g, "POST", "/process.Process/Connect", gatewaytest.Envelope(0, fmt.Sprintf(`{"process":{"pid":%d}}`, pid)), gatewaytest.Streaming, "Connect-Timeout-Ms: 0")
	if a.Code != "deadline_exceeded" {
		t.Errorf("Connect: %q %v", a.Code, a.Events(t))
	}
	if a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON, "Connect-Timeout-Ms: 0"); a.Status != 504 {
		t.Errorf("unary: %d", a.Status)
	}
}

func TestEnvdHasTheErrorsOfTheDaemon(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	c := gatewaytest.Client(t, g)
	s := gatewaytest.Begin(t, c, connect.NewRequest(&envd.StartRequest{
		Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "sleep 30"}}, Stdin: new(bool),
	}))
	pty := gatewaytest.Begin(t, c, connect.NewRequest(&envd.StartRequest{
		Process: &envd.ProcessConfig{Cmd: "/bin/sh", Args: []string{"-c", "stty size; sleep 30"}}, Pty: &envd.PTY{Size: &envd.PTY_Size{Cols: 70_000, Rows: 24}},
	}))
	if pty.Receive() {
		if got := string(pty.Msg().GetEvent().GetData().GetPty()); !strings.HasPrefix(got, "24 4464") {
			t.Errorf("the size is %q", got)
		}
	}
	size := &envd.PTY{Size: &envd.PTY_Size{Cols: 80, Rows: 24}}
	_, err := c.Update(gatewaytest.Deadline(t), connect.NewRequest(&envd.UpdateRequest{Process: gatewaytest.ByPID(s.PID), Pty: size}))
	gatewaytest.WantCode(t, "Update without a terminal", err, connect.CodeInternal)
	_, err = c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(s.PID, "x"))
	gatewaytest.WantCode(t, "SendInput without stdin", err, connect.CodeInternal)
	_, err = c.SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(pty.PID, "x"))
	gatewaytest.WantCode(t, "stdin for a terminal", err, connect.CodeInternal)
	_, err = c.CloseStdin(gatewaytest.Deadline(t), connect.NewRequest(&envd.CloseStdinRequest{Process: gatewaytest.ByPID(pty.PID)}))
	gatewaytest.WantCode(t, "CloseStdin of a terminal", err, connect.CodeUnknown)
	_, err = c.SendSignal(gatewaytest.Deadline(t), connect.NewRequest(&envd.SendSignalRequest{}))
	gatewaytest.WantCode(t, "no selector", err, connect.CodeUnimplemented)
	_, err = c.SendSignal(gatewaytest.Deadline(t), gatewaytest.Signal(s.PID, envd.Signal_SIGNAL_UNSPECIFIED))
	gatewaytest.WantCode(t, "no signal", err, connect.CodeUnimplemented)
	_, err = c.SendInput(gatewaytest.Deadline(t), connect.NewRequest(&envd.SendInputRequest{Process: gatewaytest.ByPID(s.PID)}))
	gatewaytest.WantCode(t, "no input", err, connect.CodeUnimplemented)
	in := c.StreamInput(gatewaytest.Deadline(t))
	_ = in.Send(&envd.StreamInputRequest{Event: &envd.StreamInputRequest_Data{Data: &envd.StreamInputRequest_DataEvent{}}})
	if _, err = in.CloseAndReceive(); err == nil || strings.Contains(err.Error(), "data before start") {
		t.Errorf("data before start: %v, want a cut connection", err)
	}
}

func TestEnvdHasOnlyTheSurfacesOfTheDaemon(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd", Options: gateway.Options{Token: "secret"}})
	const token = "X-Access-Token: secret"
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
		contentType        string
	}{
		{"the alias", "POST", "/commands", []string{token}, 404, "text/plain; charset=utf-8"},
		{"the probe", "POST", "/assay.v1.Probe/Unary", []string{token, gatewaytest.UnaryJSON}, 404, "text/plain; charset=utf-8"},
		{"a gRPC method that is unknown", "POST", "/no.Such/Method", []string{token, "Content-Type: application/grpc-web"}, 404, "text/plain; charset=utf-8"},
		{"metrics", "GET", "/metrics", []string{token}, 200, "application/json"},
		{"health", "GET", "/health", nil, 204, ""},
		{"HEAD of health", "HEAD", "/health", nil, 405, ""},
		{"health of an unknown user", "GET", "/health", []string{"Authorization: Basic Z2hvc3Q6"}, 401, "application/json"},
		{"a stream without token", "POST", gatewaytest.StartPath, []string{gatewaytest.Streaming}, 401, "application/json; charset=utf-8"},
		{"an unknown HTTP method", "CONNECTX", gatewaytest.ListPath, []string{token}, 405, ""},
	} {
		a := gatewaytest.RoundTrip(t, g, c.method, c.path, nil, c.headers...)
		if a.Status != c.status || a.Header.Get("Content-Type") != c.contentType {
			t.Errorf("%s: %d %q, want %d %q", c.name, a.Status, a.Header.Get("Content-Type"), c.status, c.contentType)
		}
		if c.method == "CONNECTX" && a.Header.Get("Allow") != "" {
			t.Errorf("%s: Allow %q", c.name, a.Header.Get("Allow"))
		}
	}
	conn := gatewaytest.Dial(t, startGateway(t, Options{Like: "envd"}))
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if a := conn.Answer("GET"); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("the preface of HTTP/2: %d %v", a.Status, a.Header)
	}
	if _, err := conn.R.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the preface of HTTP/2: %v, want the end of the connection", err)
	}
}

func TestEnvdServesGRPCOverHTTP1(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	c := gatewaytest.Dial(t, g)
	c.Request("POST", gatewaytest.ListPath, gatewaytest.Envelope(0, "{}"), "Content-Type: application/grpc+json")
	resp, err := http.ReadResponse(c.R, nil)
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
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	c := gatewaytest.Dial(t, g)
	c.Request("POST", gatewaytest.StartPath, gatewaytest.Envelope(0, gatewaytest.Shell("true")), gatewaytest.Streaming, "Keepalive-Ping-Interval: 0")
	_, _ = c.R.ReadByte() // the connection is cut, sooner or later
	if conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://")); err == nil {
		_ = conn.Close()
		t.Error("the gateway still listens")
	}
}

func TestEnvdTimeoutsOfGRPCLeaveTheProcess(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	c := processconnect.NewProcessClient(gatewaytest.HTTPClient(t, g, "1.1"), g.URL(), connect.WithGRPCWeb())
	req := gatewaytest.Sh("sleep 100")
	req.Header().Set("Grpc-Timeout", gatewaytest.Late+"m")
	if _, _, _, err := gatewaytest.Begin(t, c, req).Rest(); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
		t.Errorf("%v, want deadline_exceeded", err)
	}
	if n := len(listed(t, gatewaytest.Client(t, g))); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
}

func TestEnvdAnswersGzipByGzip(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	a := gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, gatewaytest.Gzipped([]byte("{}")), gatewaytest.UnaryJSON, "Content-Encoding: gzip", "Accept-Encoding: identity")
	if a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("C33: %v", a.Header)
	}
	a = gatewaytest.RoundTrip(t, g, "POST", gatewaytest.ListPath, []byte("{}"), gatewaytest.UnaryJSON, "Accept-Encoding: identity, gzip")
	if a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("C32: %v", a.Header)
	}
}

func TestEnvdListsWhatHasExitedWhileItsOutputIsHeld(t *testing.T) {
	t.Parallel()
	c, box, done := boxed(t, Options{Like: "envd"})
	defer done()
	s := gatewaytest.Begin(t, c, gatewaytest.Sh(""))
	stub := box.At(0)
	stub.Hold(1)
	stub.Exit(virtual.Status{})
	if n := len(listed(t, c)); n != 1 {
		t.Errorf("after the exit: %d processes are listed", n)
	}
	stub.LetGo()
	if _, _, _, err := s.Rest(); err != nil {
		t.Error(err)
	}
	if n := len(listed(t, c)); n != 0 {
		t.Errorf("after the end: %d processes are listed", n)
	}
}

func TestEnvdStopsLookingAtAnotherTag(t *testing.T) {
	t.Parallel()
	one, two := "one", "two"
	p1, p2 := &gateway.Process{Spec: gateway.Spec{Tag: &one}}, &gateway.Process{Spec: gateway.Spec{Tag: &two}}
	if got := stopAtAnotherTag([]*gateway.Process{p2, p1}, one); got != nil {
		t.Error("a tag is found behind another")
	}
	for _, all := range [][]*gateway.Process{{p1, p2}, {{}, p1}} {
		if got := stopAtAnotherTag(all, one); got != p1 {
			t.Errorf("of %v: %v", all, got)
		}
	}
}

// The SDK of E2B uploads forms, whose content type has a boundary.
func TestEnvdAcceptsForms(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{Like: "envd"})
	body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nx\r\n--b--\r\n"
	resp, err := http.Post(g.URL()+"/files", "multipart/form-data; boundary=b", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a form got %s, want 200", resp.Status)
	}
}
