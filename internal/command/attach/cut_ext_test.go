package attach_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/internal/command/attach"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// clockThatSkips fires every timer at once, but those of pings never.
func clockThatSkips() attach.Clock {
	return attach.Clock{Now: time.Now, After: func(d time.Duration) <-chan time.Time {
		c := make(chan time.Time, 1)
		if d != 15*time.Second {
			c <- time.Now()
		}
		return c
	}}
}

func (r *running) loses(parts ...string) {
	r.t.Helper()
	r.wait()
	var lost *attach.LostError
	if !errors.As(r.failure, &lost) {
		r.t.Fatalf("code %d, %v; want a lost connection", r.result.Code, r.failure)
	}
	for _, part := range parts {
		if !strings.Contains(lost.Error(), part) {
			r.t.Errorf("%q has no %q", lost.Error(), part)
		}
	}
}

func TestASessionIsJoinedAgainAfterACut(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	o := script(p.url, attach.OverSocket, "echo begun; while read x; do echo again-$x; stty size; done; exit 3")
	o.PTY, o.Session = true, "cut"
	r := run(t, o)
	r.out.until(t, "begun")
	r.terminal.set(attach.Size{Cols: 100, Rows: 40})
	p.cut()
	r.notes.until(t, "reconnecting (Ctrl+] leaves)")
	r.out.untilTimes(t, "begun", 2) // the gateway replays it
	if r.terminal.clears != 1 {
		t.Errorf("the screen was cleared %d times before the replay", r.terminal.clears)
	}
	for n := 1; !strings.Contains(r.out.String(), "40 100"); n++ { // the size is sent again
		r.types("1\r")
		r.out.untilTimes(t, "again-1\r\n", n)
	}
	r.types("\x04")
	r.ends(3)
}

// A pipe gets the output of a session once, although the gateway replays it.
func TestAPipeGetsNothingTwiceAfterACut(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	o := script(p.url, attach.OverSocket, "seq 1 20000; echo problem >&2; while read x; do echo again-$x; done; echo more >&2; exit 3")
	o.Session = "piped"
	r := run(t, o)
	r.out.until(t, "\n20000\n")
	r.err.until(t, "problem\n")
	for _, x := range []string{"1", "2"} {
		p.cut()
		r.notes.untilTimes(t, "connected again\n", int(x[0]-'0'))
		r.types(x + "\n")
		r.out.until(t, "again-"+x+"\n")
	}
	_ = r.in.Close()
	r.ends(3)
	var want strings.Builder
	for i := range 20000 {
		want.WriteString(strconv.Itoa(i+1) + "\n")
	}
	want.WriteString("again-1\nagain-2\n")
	if got := r.out.String(); got != want.String() {
		t.Errorf("%d bytes, want %d; the last: %q", len(got), want.Len(), got[max(0, len(got)-60):])
	}
	if got := r.err.String(); got != "problem\nmore\n" {
		t.Errorf("stderr %q", got)
	}
}

func TestAProcessIsConnectedToAgainAfterACut(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	r := run(t, script(p.url, attach.OverProcess, "echo begun; while read x; do echo again-$x; done; exit 3"))
	r.out.until(t, "begun")
	p.cut()
	r.notes.until(t, "connected again; output of the meantime is lost")
	r.types("1\n")
	r.out.until(t, "again-1")
	_ = r.in.Close()
	r.ends(3)
}

// The exit code is known although the command ended during the cut.
func TestTheExitCodeOfTheMeantimeIsKnown(t *testing.T) {
	t.Parallel()
	url := gatewayOf(t, gateway.Options{})
	p := proxyTo(t, url)
	r := run(t, script(p.url, attach.OverProcess, "echo begun; while [ ! -e /tmp/end ]; do sleep 0.01; done; exit 8"))
	r.out.until(t, "begun")
	p.set(false, true)
	p.cut()
	r.notes.until(t, "reconnecting")
	other := run(t, script(url, attach.OverProcess, "touch /tmp/end"))
	other.ends(0)
	p.set(false, false)
	r.ends(8)
}

func TestACutWithoutASessionIsTheEnd(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	r := run(t, script(p.url, attach.OverSocket, "printf 'half a li'; read x"))
	r.out.until(t, "half a li")
	p.cut()
	r.loses("the connection to http://127.0.0.1:", "the gateway ended the connection without a word", "name one with --session")
}

func TestASessionThatIsGoneIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	first, second := gatewayOf(t, gateway.Options{}), gatewayOf(t, gateway.Options{})
	p := proxyTo(t, first)
	for _, over := range surfaces {
		t.Run(over, func(t *testing.T) {
			p.mu.Lock()
			p.to = strings.TrimPrefix(first, "http://")
			p.mu.Unlock()
			o := script(p.url, over, "echo begun; read x")
			o.PTY, o.Session = true, "gone"
			r := run(t, o)
			r.out.until(t, "begun")
			p.mu.Lock()
			p.to = strings.TrimPrefix(second, "http://")
			p.mu.Unlock()
			p.cut()
			r.loses("coming back failed", "The session is over, and its exit code unknown")
		})
	}
}

func TestReconnectingEnds(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	for _, over := range surfaces {
		t.Run(over, func(t *testing.T) {
			p.set(false, false)
			o := script(p.url, over, "echo begun; read x")
			o.PTY, o.Session, o.Clock = true, "never-"+over, clockThatSkips()
			r := run(t, o)
			r.out.until(t, "begun")
			p.set(false, true)
			p.cut()
			r.loses("11 attempts to reconnect failed")
			if !strings.Contains(r.notes.String(), "still no connection") {
				t.Errorf("notes %q", r.notes)
			}
		})
	}
}

func TestCtrlBracketLeavesDuringACut(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	o := script(p.url, attach.OverSocket, "echo begun; read x")
	o.PTY, o.Session = true, "left"
	r := run(t, o)
	r.out.until(t, "begun")
	p.set(false, true)
	p.cut()
	r.notes.until(t, "reconnecting")
	r.types("lost\x1d")
	r.ends(0)
	if !strings.Contains(r.notes.String(), "left while the connection was cut") {
		t.Errorf("notes %q", r.notes)
	}
}

func TestASignalDuringACutLeaves(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, gatewayOf(t, gateway.Options{}))
	o := script(p.url, attach.OverProcess, "echo begun; read x")
	r := run(t, o)
	r.out.until(t, "begun")
	p.set(false, true)
	p.cut()
	r.notes.until(t, "reconnecting")
	r.sends("SIGINT", 2)
	r.ends(130)
}

// A connection that neither ends nor carries anything is given up after a minute of silence.
func TestAHalfOpenSocketIsCut(t *testing.T) {
	t.Parallel()
	p, clock := proxyTo(t, gatewayOf(t, gateway.Options{})), newManual()
	o := script(p.url, attach.OverSocket, "echo begun; sleep 1000")
	o.Clock = attach.Clock{Now: clock.Now, After: clock.After}
	r := run(t, o)
	r.out.until(t, "begun")
	p.set(true, false)
	r.hush(clock)
	r.loses("the gateway has sent nothing for 1m0s, not even the answer to a ping")
}

// silent starts processes that print a line and a keepalive, and then nothing.
type silent struct {
	processconnect.UnimplementedProcessHandler
}

func (silent) Start(ctx context.Context, _ *connect.Request[process.StartRequest], s *connect.ServerStream[process.StartResponse]) error {
	for _, e := range []*process.ProcessEvent{
		{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: 7}}},
		{Event: &process.ProcessEvent_Keepalive{Keepalive: &process.ProcessEvent_KeepAlive{}}},
		{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: []byte("begun")}}}},
	} {
		if err := s.Send(&process.StartResponse{Event: e}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func TestAStreamWithoutKeepalivesIsCutIfThereWereSome(t *testing.T) {
	t.Parallel()
	_, h := processconnect.NewProcessHandler(silent{})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	clock := newManual()
	o := script(server.URL, attach.OverProcess, "")
	o.Clock = attach.Clock{Now: clock.Now, After: clock.After}
	r := run(t, o)
	r.out.until(t, "begun")
	r.hush(clock)
	r.notes.until(t, "not even a keepalive; reconnecting")
	r.loses("the gateway has sent nothing for 1m0s, not even a keepalive; coming back failed")
}

// echo starts processes that print their input, and end behind a line feed.
type echo struct {
	processconnect.UnimplementedProcessHandler
	lines chan []byte
}

func (e echo) Start(_ context.Context, _ *connect.Request[process.StartRequest], s *connect.ServerStream[process.StartResponse]) error {
	send := func(e *process.ProcessEvent) error { return s.Send(&process.StartResponse{Event: e}) }
	err := send(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: 7}}})
	for ended := false; !ended && err == nil; {
		p := <-e.lines
		ended = strings.Contains(string(p), "\n")
		err = send(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: p}}}})
	}
	return errors.Join(err, send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: &process.ProcessEvent_EndEvent{Exited: true, ExitCode: 2}}}))
}

func (e echo) SendInput(_ context.Context, r *connect.Request[process.SendInputRequest]) (*connect.Response[process.SendInputResponse], error) {
	e.lines <- r.Msg.GetInput().GetStdin()
	return connect.NewResponse(&process.SendInputResponse{}), nil
}

// A call that does not get through is made again, while the stream of the output lives on.
func TestInputThatDoesNotGetThroughIsSentAgain(t *testing.T) {
	t.Parallel()
	_, h := processconnect.NewProcessHandler(echo{lines: make(chan []byte)})
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/SendInput") && calls.Add(1) <= 3 {
			panic(http.ErrAbortHandler) // cuts the connection
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := run(t, script(server.URL, attach.OverProcess, ""))
	<-r.attached
	r.types("one ")
	r.out.until(t, "one ")
	r.types("two\n")
	r.ends(2)
	if got := r.out.String(); got != "one two\n" {
		t.Errorf("stdout %q", got)
	}
}
