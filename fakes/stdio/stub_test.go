package stdio

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"assay/fakes/virtual"
)

// stub is a process that does what a test tells it to.
type stub struct {
	command Command
	output  chan string // "2" in front is stderr
	exit    chan int
	stdin   chan string
	signals chan syscall.Signal
	sizes   chan virtual.Size
}

func newStub(c Command) *stub {
	return &stub{c, make(chan string), make(chan int, 1), make(chan string), make(chan syscall.Signal, 9), make(chan virtual.Size, 9)}
}

func (p *stub) Follow(out func(stderr bool, data []byte)) (int, error) {
	for {
		select {
		case text := <-p.output:
			out(text[0] == '2', []byte(text[1:]))
		case code := <-p.exit:
			if code < 0 {
				return 0, errors.New("lost")
			}
			return code, nil
		}
	}
}

func (p *stub) Write(ctx context.Context, data []byte) error {
	select {
	case p.stdin <- string(data):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *stub) CloseStdin() { close(p.stdin) }

func (p *stub) Signal(sig syscall.Signal) { p.signals <- sig }

func (p *stub) Resize(to virtual.Size) error {
	p.sizes <- to
	return nil
}

// memory is a listener in memory.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memory) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (l *memory) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// bench is a server in memory and the processes that it has started.
type bench struct {
	t *testing.T
	*Server
	started  chan *stub
	listener *memory
	stop     func()
}

// newBench starts a server. It may run in a bubble of synctest, whose clock is then the server's.
func newBench(t *testing.T, without ...string) *bench {
	t.Helper()
	b := &bench{t: t, started: make(chan *stub, 99), listener: &memory{conns: make(chan net.Conn), closed: make(chan struct{})}}
	b.Server = New(Options{
		Caller: func(*http.Request) Start {
			return func(c Command) (Process, error) {
				if c.Cmd == "none" {
					return nil, refuse(http.StatusServiceUnavailable, "no room")
				}
				p := newStub(c)
				b.started <- p
				return p, nil
			}
		},
		AfterFunc: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
		Without:   without,
	})
	server := &http.Server{Handler: b.Server}
	go func() { _ = server.Serve(b.listener) }()
	b.stop = func() {
		b.Close()
		_ = server.Close()
	}
	return b
}

// attach attaches a client.
func (b *bench) attach(query string) *websocket.Conn {
	b.t.Helper()
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return b.listener.dial(), nil }}
	c, _, err := websocket.Dial(b.t.Context(), "ws://memory/attach?"+query, &websocket.DialOptions{HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		b.t.Fatal(err)
	}
	c.SetReadLimit(-1)
	return c
}

// raw attaches a connection of bytes that reads nothing behind the head of the answer.
func (b *bench) raw(query string) (net.Conn, *bufio.Reader) {
	b.t.Helper()
	c := b.listener.dial()
	go func() {
		_, _ = c.Write([]byte("GET /attach?" + query + " HTTP/1.1\r\nHost: memory\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"))
	}()
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		b.t.Fatalf("%v, %v", res, err)
	}
	return c, r
}

// received is what a client gets until the end.
func received(c *websocket.Conn) (out string, texts []string, code websocket.StatusCode) {
	var all strings.Builder
	for {
		kind, data, err := c.Read(context.Background())
		if err != nil {
			return all.String(), texts, websocket.CloseStatus(err)
		}
		if kind == websocket.MessageText {
			texts = append(texts, string(data))
		} else {
			all.Write(data[1:])
		}
	}
}

// parsed parses a query.
func parsed(s *Server, query string) (request, error) {
	return s.parse(&http.Request{URL: &url.URL{RawQuery: query}})
}
