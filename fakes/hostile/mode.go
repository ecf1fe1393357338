package hostile

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"assay/fakes/gateway"
	"assay/internal/base/crash"
)

// Scope is the part of a gateway that a mode changes.
type Scope string

// The scopes.
const (
	Everything Scope = "everything"
	Streams    Scope = "streams" // Start, Connect and the alias /commands
	Unary      Scope = "unary"   // the other calls of the process service
	Metrics    Scope = "metrics"
	OverHTTP2  Scope = "over HTTP/2" // requests over HTTP/2
	Sockets    Scope = "sockets"     // the stdio surface
)

// Mode is one way to misbehave.
type Mode struct {
	ID, Layer string
	Scope     Scope
	// Legal is set when the server only looks hostile: a client may find nothing wrong.
	Legal bool
	// Mild is set when a client that only runs commands may find nothing wrong.
	Mild bool
	// HTTP2 is set when the server speaks HTTP/2 only.
	HTTP2 bool
	// Secure is set when the URL is an https one.
	Secure bool

	start func() (*Server, error)               // a whole server, or
	talk  func(*net.TCPConn)                    // each connection, or
	front func(http.ResponseWriter, *call) bool // responses of the gateway; false leaves one to it

	server func(*http.Server, net.Listener) net.Listener // with front: changes the gateway's server
}

// call is a request with the gateway behind it.
type call struct {
	*http.Request
	next http.Handler
}

// Server is a running hostile server.
type Server struct {
	URL   string
	Close func()
}

// Modes returns all modes, layer by layer.
func Modes() []Mode {
	return slices.Concat(legalModes(), tcpModes(), tlsModes(), http1Modes(), statusModes(), gzipModes(), streamModes(),
		http2Modes(), lateHTTP2Modes(), processModes(), socketModes())
}

// Find returns the mode with an id.
func Find(id string) (Mode, error) {
	for _, m := range Modes() {
		if m.ID == id {
			return m, nil
		}
	}
	return Mode{}, fmt.Errorf("no hostile mode %q", id)
}

// Reachable reports whether the mode leaves a part of the gateway intact.
func (m Mode) Reachable() bool { return m.Legal || m.Mild || m.front != nil && m.Scope != Everything }

// Start starts a server on 127.0.0.1. If late is set, a mode that replaces responses of the
// gateway leaves the probes of first contact alone.
func (m Mode) Start(ctx context.Context, late bool) (*Server, error) {
	switch {
	case m.start != nil:
		return m.start()
	case m.talk != nil:
		return serveConns(m.talk, m.Secure)
	}
	g, err := gateway.Start(ctx, gateway.Options{Seams: gateway.Seams{Server: m.server, Front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if late && isProbe(r) || !m.Scope.has(r) || !m.front(w, &call{r, next}) {
				next.ServeHTTP(w, r)
			}
		})
	}}})
	if err != nil {
		return nil, err
	}
	return &Server{URL: g.URL(), Close: func() { _ = g.Close() }}, nil
}

// isProbe reports whether Assay sent the request before its first scenario.
func isProbe(r *http.Request) bool {
	agent := r.UserAgent()
	return strings.Contains(agent, "(probe;") || strings.Contains(agent, "(calibrate;")
}

// has reports whether a request is in scope.
func (s Scope) has(r *http.Request) bool {
	method, isProcess := strings.CutPrefix(r.URL.Path, "/process.Process/")
	stream := method == "Start" || method == "Connect"
	switch s {
	case Streams:
		return isProcess && stream || r.URL.Path == "/commands"
	case Unary:
		return isProcess && !stream && method != "StreamInput"
	case Metrics:
		return r.URL.Path == "/metrics"
	case Sockets:
		return r.URL.Path == "/attach"
	case OverHTTP2:
		return r.ProtoMajor == 2
	case Everything:
	}
	return true
}

// serveConns listens and runs talk for each connection. What talk leaves open is read until the
// client closes it.
func serveConns(talk func(*net.TCPConn), secure bool) (*Server, error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := openConns{conns: map[net.Conn]bool{}}
	o.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if o.add(c) {
				o.done.Go(func() {
					talk(c.(*net.TCPConn))
					drain(c)
					o.drop(c)
				})
			}
		}
	})
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return &Server{URL: scheme + l.Addr().String(), Close: func() {
		_ = l.Close()
		o.close()
	}}, nil
}

// openConns are the connections of a server.
type openConns struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	done   crash.Group
}

// add registers c, or closes it if the server is closed.
func (o *openConns) add(c net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_ = c.Close()
		return false
	}
	o.conns[c] = true
	return true
}

func (o *openConns) drop(c net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.conns, c)
	_ = c.Close()
}

// close closes all connections and waits for their goroutines.
func (o *openConns) close() {
	o.mu.Lock()
	o.closed = true
	for c := range o.conns {
		_ = c.Close()
	}
	o.mu.Unlock()
	o.done.Wait()
}
