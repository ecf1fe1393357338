package transport_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/base/secret"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/testkit"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patience bounds every wait of these tests; only the race detector on a busy machine
// should come near it.
const patience = time.Minute

// rawServer accepts connections on a port of its own and handles each with fn, which
// may close it. The end of the test closes everything and waits for it.
func rawServer(t *testing.T, fn func(c *net.TCPConn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	over := false
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			if over {
				c.Close()
			}
			mu.Unlock()
			running.Go(func() { fn(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		over = true
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// readRequest reads one whole request; ok is false at the end of the connection.
func readRequest(r *bufio.Reader) (body []byte, ok bool) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, false
	}
	body, err = io.ReadAll(req.Body)
	return body, err == nil
}

// answering is a server that sends the same bytes in answer to every request on a
// connection, and then closes it if hangUp is set.
func answering(t *testing.T, hangUp bool, answer string) string {
	return rawServer(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		for {
			if _, ok := readRequest(r); !ok {
				c.Close()
				return
			}
			io.WriteString(c, answer)
			if hangUp {
				c.Close()
				return
			}
		}
	})
}

// client is a recorder with helpers for tests.
type client struct {
	t   *testing.T
	rec *transport.Recorder
	ctx context.Context
}

func newClient(t *testing.T, secrets ...string) *client {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := &client{t: t, rec: transport.NewRecorder(transport.NewClock(), secret.New(secrets)), ctx: ctx}
	t.Cleanup(func() { c.rec.Finish(nil) })
	return c
}

func (c *client) dial(addr string) *transport.Conn {
	c.t.Helper()
	conn, err := transport.Open(c.ctx, c.rec, "c", addr, transport.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

func startCall() transport.Call {
	return transport.Call{Name: "p", Op: "start", RPC: "process.Process/Start", Surface: "process",
		Shape: bundle.ShapeStream, Codec: "json", Method: "POST", Path: "/process.Process/Start"}
}

func unaryCall() transport.Call {
	return transport.Call{Name: "list", Op: "list", RPC: "process.Process/List", Surface: "process",
		Shape: bundle.ShapeUnary, Codec: "json", Method: "POST", Path: "/process.Process/List"}
}

func plainCall() transport.Call {
	return transport.Call{Name: "get", Op: "send", Shape: bundle.ShapePlain, Method: "GET", Path: "/x"}
}

func lineCall() transport.Call {
	return transport.Call{Name: "p", Op: "start", Surface: "commands", Shape: bundle.ShapeNDJSON, Codec: "json", Method: "POST", Path: "/commands"}
}

func executeCall() transport.Call {
	return transport.Call{Name: "p", Op: "send", Surface: "execute", Shape: bundle.ShapeExecute, Codec: "json", Method: "POST", Path: "/execute"}
}

// request sends a small request for a call.
func (c *client) request(conn *transport.Conn, call transport.Call) *transport.Exchange {
	c.t.Helper()
	x := conn.Begin(call)
	hs := []bundle.Header{{Name: "host", Value: "t"}}
	body := ""
	if call.Method == http.MethodPost {
		body = "{}"
		hs = append(hs, bundle.Header{Name: "content-length", Value: "2"})
	}
	if err := conn.Write(c.ctx, append(transport.RequestHead(call.Method, call.Path, hs), body...)); err != nil {
		c.t.Fatal(err)
	}
	x.MarkSent()
	return x
}

// done waits for the end of an exchange.
func (c *client) done(x *transport.Exchange) bundle.Exchange {
	c.t.Helper()
	select {
	case <-x.Done():
	case <-c.ctx.Done():
		c.t.Fatalf("the exchange has not returned: %+v", x.Snapshot())
	}
	return x.Snapshot()
}

// until waits for a state of an exchange.
func (c *client) until(x *transport.Exchange, what string, ok func(bundle.Exchange) bool) bundle.Exchange {
	c.t.Helper()
	for {
		changed := x.Changed()
		if s := x.Snapshot(); ok(s) {
			return s
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.t.Fatalf("never: %s: %+v", what, x.Snapshot())
		}
	}
}

// untilConn waits for a state of a connection.
func (c *client) untilConn(conn *transport.Conn, what string, ok func() bool) {
	c.t.Helper()
	for {
		changed := conn.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.t.Fatalf("never: %s", what)
		}
	}
}

// exchange makes one call on a new connection and returns its record.
func exchange(t *testing.T, addr string, call transport.Call) bundle.Exchange {
	t.Helper()
	c := newClient(t)
	c.done(c.request(c.dial(addr), call))
	_, xs := c.rec.Finish(nil)
	return xs[0]
}

func kinds(x bundle.Exchange) string {
	var ks []string
	for _, e := range x.Events {
		ks = append(ks, string(e.Kind))
	}
	return strings.Join(ks, " ")
}

func violations(x bundle.Exchange) string {
	var ks []string
	for _, v := range x.Violations {
		ks = append(ks, v.Kind)
	}
	return strings.Join(ks, " ")
}

func raw64(p []byte) string { return base64.RawStdEncoding.EncodeToString(p) }

func unmarshalJSON(p []byte, m proto.Message) error { return protojson.Unmarshal(p, m) }
