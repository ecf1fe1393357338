package zoo

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
)

// keptPolicy decides about an HTTP/1.1 connection after a response. The zero value
// keeps the connection for the next request, like the reference.
type keptPolicy struct {
	// closesIdle closes it at once, without Connection: close in the response.
	closesIdle bool
	// refusesPipelining closes it if it holds pipelined requests, which then get no
	// response.
	refusesPipelining bool
}

// keptConn is a connection and its state between two requests.
type keptConn struct {
	net.Conn
	reads atomic.Uint64 // started reads
	// idle is the number of reads at the end of the last response plus one; 0 before
	// that.
	idle atomic.Uint64
	// early reports that bytes arrived during a response, and behind that the response
	// continued after them: the client did not wait for its end.
	early, behind atomic.Bool
	// over reports that the connection ends with the response.
	over atomic.Bool
}

// Read counts reads. While net/http serves a request whose body it has read, it reads
// one byte, to notice a lost client: such a byte belongs to the next request.
func (c *keptConn) Read(p []byte) (int, error) {
	c.reads.Add(1)
	n, err := c.Conn.Read(p)
	if n > 0 && len(p) == 1 {
		c.early.Store(true)
	}
	return n, err
}

func (c *keptConn) Write(p []byte) (int, error) {
	if c.early.Load() {
		c.behind.Store(true)
	}
	return c.Conn.Write(p)
}

// CloseWrite tells the client that nothing follows.
func (c *keptConn) CloseWrite() error { return closeWrite(c.Conn) }

// pipelined reports whether the current request arrived before the end of the last
// response: in the same read as the previous request, or while the response was written.
func (c *keptConn) pipelined() bool {
	idle := c.idle.Load()
	return idle > 0 && (c.reads.Load() == idle-1 || c.behind.Load())
}

// keptKey is the key of the keptConn in a request's context.
type keptKey struct{}

// watch applies the policy to a server and its listener.
func (k keptPolicy) watch(server *http.Server, l net.Listener) net.Listener {
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if kept, ok := c.(*keptConn); ok && before != nil {
			ctx = before(ctx, kept.Conn)
		}
		return context.WithValue(ctx, keptKey{}, c)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		kept, ok := c.(*keptConn)
		if !ok || state != http.StateIdle {
			return
		}
		kept.idle.Store(kept.reads.Load() + 1)
		if kept.over.Load() {
			_ = kept.Close() // the server finds it closed
		}
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept, ok := r.Context().Value(keptKey{}).(*keptConn)
		if !ok || r.ProtoMajor != 1 {
			next.ServeHTTP(w, r)
			return
		}
		if k.refusesPipelining && kept.pipelined() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to close a connection
		}
		kept.early.Store(false)
		kept.behind.Store(false)
		next.ServeHTTP(w, r)
		kept.over.Store(k.closesIdle)
	})
	return keptListener{l}
}

// keptListener accepts keptConns.
type keptListener struct{ net.Listener }

func (l keptListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &keptConn{Conn: c}, nil
}
