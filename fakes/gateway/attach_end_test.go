package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

// frame returns a masked frame of a client.
func frame(head byte, payload string) []byte {
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = append(b, 0x80|126, byte(n>>8), byte(n))
	default:
		b = append(b, 0x80|127, 0, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	return append(b, payload...)
}

// The first bytes of frames.
const (
	finText   = 0x81
	finBinary = 0x82
	binary    = 0x02
	finCont   = 0x80
	finClose  = 0x88
	finPing   = 0x89
)

// attachRaw attaches with a connection of bytes.
func attachRaw(t *testing.T, g *Gateway, query ...string) *gatewaytest.Conn {
	t.Helper()
	c := gatewaytest.Dial(t, g)
	_, path, _ := strings.Cut(attachURL(g, query...), "/attach")
	c.Request("GET", "/attach"+path, nil, handshake...)
	res, err := http.ReadResponse(c.R, nil)
	if err != nil || res.StatusCode != 101 {
		t.Fatalf("%v, %v", res, err)
	}
	return c
}

// readFrame reads one frame of the gateway.
func readFrame(c *gatewaytest.Conn) (head byte, payload []byte, err error) {
	var b [10]byte
	if _, err = io.ReadFull(c.R, b[:2]); err != nil {
		return 0, nil, err
	}
	head = b[0]
	n := int(b[1])
	more := map[int]int{126: 2, 127: 8}[n]
	if _, err = io.ReadFull(c.R, b[2:2+more]); err != nil {
		return head, nil, err
	}
	if more > 0 {
		n = 0
		for _, d := range b[2 : 2+more] {
			n = n<<8 | int(d)
		}
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.R, payload)
	return head, payload, err
}

// wantClose reads to the end of the connection, answers the Close frame, and compares the code of the Close frame; 0 is none.
func wantClose(t *testing.T, what string, c *gatewaytest.Conn, code int) {
	t.Helper()
	got := 0
	for {
		head, payload, err := readFrame(c)
		if err != nil {
			break
		}
		if got != 0 {
			t.Errorf("%s: frame %#x behind the Close frame", what, head)
		}
		if head == finClose && len(payload) >= 2 {
			got = int(payload[0])<<8 | int(payload[1])
			_, _ = c.Write(frame(finClose, string(payload))) // it may be closed
		}
	}
	if got != code {
		t.Errorf("%s: Close %d, want %d", what, got, code)
	}
}

// theOnly returns the pid of the only live process, and a stream of it.
func theOnly(t *testing.T, g *Gateway) (uint32, *connect.ServerStreamForClient[envd.ConnectResponse]) {
	t.Helper()
	list, err := gatewaytest.Client(t, g).List(gatewaytest.Deadline(t), connect.NewRequest(&envd.ListRequest{}))
	if err != nil || len(list.Msg.GetProcesses()) != 1 {
		t.Fatalf("listed %v, %v", list, err)
	}
	pid := list.Msg.GetProcesses()[0].GetPid()
	return pid, connectTo(t, g, pid)
}

// untilNothingRuns waits until a gateway has noticed the end of all its processes.
func untilNothingRuns(t *testing.T, g *Gateway) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if n := len(g.table.List()); n > 0 {
			return fmt.Errorf("%d processes run", n)
		}
		return nil
	})
}

// connectTo returns a stream of a process whose start event has been read.
func connectTo(t *testing.T, g *Gateway, pid uint32) *connect.ServerStreamForClient[envd.ConnectResponse] {
	t.Helper()
	s, err := gatewaytest.Client(t, g).Connect(gatewaytest.Deadline(t), connect.NewRequest(&envd.ConnectRequest{Process: gatewaytest.ByPID(pid)}))
	if err != nil || !s.Receive() {
		t.Fatalf("connect: %v", err)
	}
	return s
}

// endOf reads the end event of a stream.
func endOf(t *testing.T, s *connect.ServerStreamForClient[envd.ConnectResponse]) string {
	t.Helper()
	for s.Receive() {
		if end := s.Msg().GetEvent().GetEnd(); end != nil {
			return end.GetStatus()
		}
	}
	t.Fatalf("no end: %v", s.Err())
	return ""
}

func TestAClientIsMissedWhileItsStdinFillsThePipe(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 30}) // a ping every half second
	c := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
	p := g.table.List()[0]
	for {
		_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Write(frame(finBinary, strings.Repeat("x", 1<<20))); err != nil {
			break // the gateway reads nothing any more
		}
	}
	wantBooks(t, g, 1, 0, 0, 0, 1)
	_ = c.Close()
	untilNothingRuns(t, g)
	if got := p.Status().Signal; got != syscall.SIGTERM {
		t.Error(got)
	}
}

func TestATrapSeesTheSIGTERMAndTheBooksTheExit(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := attachRaw(t, g, sh("trap 'exit 5' TERM; echo up; while :; do read x; done")...)
	if _, payload, err := readFrame(c); string(payload) != "\x01up\n" {
		t.Fatalf("%q, %v", payload, err)
	}
	_, s := theOnly(t, g)
	_ = c.Close()
	if got := endOf(t, s); got != "exit status 5" {
		t.Error(got)
	}
	wantBooks(t, g, 1, 0, 1, 0, 0)
}

func TestAShellOnATerminalIsHungUpWhenItsClientGoes(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{ClockScale: 10})
	c := attachRaw(t, g, "cmd", "/bin/sh", "arg", "-i", "pty", "1")
	_, s := theOnly(t, g)
	_, _ = c.Write(frame(finBinary, "echo u''p\r")) // then it has set up its signals
	for out := ""; !strings.Contains(out, "up"); {
		_, payload, err := readFrame(c)
		if err != nil {
			t.Fatal(err)
		}
		out += string(payload[1:])
	}
	_ = c.Close()
	if got := endOf(t, s); got != "signal: hangup" {
		t.Error(got)
	}
	wantBooks(t, g, 1, 0, 0, 1, 0)
}

func TestInputFromAnotherSurfaceReachesAnAttachedProcess(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	c := dialAttach(t, g, sh("read x; echo got $x")...)
	pid, _ := theOnly(t, g)
	if _, err := gatewaytest.Client(t, g).SendInput(gatewaytest.Deadline(t), gatewaytest.Stdin(pid, "there\n")); err != nil {
		t.Fatal(err)
	}
	c.rest().wantEnd("0")
	if string(c.out[1]) != "got there\n" {
		t.Errorf("%q", c.out[1])
	}
}

func TestTheGatewayStopsWithGoingAway(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	polite, deaf := dialAttach(t, g, "cmd", "cat"), attachRaw(t, g, "cmd", "cat")
	ended := make(chan struct{})
	go func() { defer close(ended); polite.rest() }()
	began := time.Now()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > gatewaytest.Patience {
		t.Errorf("it took %v", d)
	}
	<-ended
	if polite.code != websocket.StatusGoingAway {
		t.Errorf("Close %d", polite.code)
	}
	wantClose(t, "a deaf client", deaf, 1001)
}
