package loadtest

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/base/crash"
)

// Listen serves every connection with serve, and closes all of them when the test ends. The
// connections are in clear unless another way is given; the other functions that take a way
// pass it to Listen.
func Listen(tb testing.TB, serve func(c net.Conn), way ...Way) (addr string) {
	tb.Helper()
	for _, w := range way {
		serve = w.Serve(serve)
	}
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var mu sync.Mutex
	conns := map[net.Conn]struct{}{}
	var running crash.Group
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = struct{}{}
			mu.Unlock()
			running.Go(func() {
				serve(c)
				_ = c.Close()
				mu.Lock()
				delete(conns, c)
				mu.Unlock()
			})
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// Script serves scripted HTTP/1.1: start writes the response to a Start, kill is the
// response to a SendSignal, and the response to a List is empty.
func Script(tb testing.TB, start func(c net.Conn), kill string, way ...Way) (addr string) {
	tb.Helper()
	return Listen(tb, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			switch {
			case strings.HasSuffix(r.URL.Path, "/Start"):
				start(c)
			case strings.HasSuffix(r.URL.Path, "/List"):
				_, _ = io.WriteString(c, KillOK)
			default:
				_, _ = io.WriteString(c, kill)
			}
		}
	}, way...)
}

// Answers returns a script that writes a text.
func Answers(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = io.WriteString(c, text) }
}

// Then returns a script that writes a text and then runs next.
func Then(text string, next func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.WriteString(c, text)
		next(c)
	}
}

// HangUp closes a connection.
func HangUp(c net.Conn) { _ = c.Close() }

// Abort resets a connection.
func Abort(c net.Conn) {
	if s, ok := c.(*tls.Conn); ok {
		c = s.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Hold blocks until the peer closes the connection.
func Hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// ServeStarts answers every request with a text.
func ServeStarts(c net.Conn, text string) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

// Ticker is a gateway whose processes print a number every 10 ms until they are killed, at
// least four numbers. End is the text that then ends the stream; when it is empty, the
// numbers go on. Kill is the response to a kill.
type Ticker struct {
	Kill, End string

	mu   sync.Mutex
	live map[int]chan struct{} // by pid
}

// begin makes a process and returns its pid.
func (g *Ticker) begin() (pid int, killed chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live = map[int]chan struct{}{}
	}
	pid, killed = len(g.live)+1, make(chan struct{}, 100)
	g.live[pid] = killed
	return pid, killed
}

// signal kills the process that a SendSignal names.
func (g *Ticker) signal(body io.Reader) {
	var m struct{ Process struct{ PID int } }
	if json.NewDecoder(body).Decode(&m) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if killed, ok := g.live[m.Process.PID]; ok {
		killed <- struct{}{}
	}
}

// Serve serves a connection.
func (g *Ticker) Serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/Start") {
			g.signal(r.Body)
			_, _ = io.WriteString(c, g.Kill)
			continue
		}
		_, _ = io.Copy(io.Discard, r.Body)
		g.stream(c)
	}
}

func (g *Ticker) stream(c net.Conn) {
	pid, killed := g.begin()
	_, _ = io.WriteString(c, StreamHead+Chunk(StartEvent(pid)))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i, live := 0, true; live || i < 4; i++ {
		if _, err := io.WriteString(c, Chunk(Stdout(fmt.Sprintf("%d\n", i)))); err != nil {
			break
		}
		select {
		case <-killed:
			live = g.End == ""
		case <-tick.C:
		}
	}
	_, _ = io.WriteString(c, g.End)
}
