package hostile

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
)

// lateHTTP2Modes serve like the gateway until a request of a scenario comes over HTTP/2, and
// then misbehave on its connection.
func lateHTTP2Modes() []Mode {
	var all []Mode
	for _, a := range attacks() {
		all = append(all, Mode{
			ID: "h2-late-" + a.id, Layer: "http/2", Scope: OverHTTP2,
			front: func(_ http.ResponseWriter, r *call) bool {
				if c, ok := r.Context().Value(lateKey{}).(*lateConn); ok {
					c.attack(a.do)
				}
				<-r.Context().Done()
				return true
			},
			server: func(s *http.Server, l net.Listener) net.Listener {
				before := s.ConnContext
				s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
					if before != nil {
						ctx = before(ctx, c)
					}
					return context.WithValue(ctx, lateKey{}, c)
				}
				return lateListener{l}
			},
		})
	}
	return all
}

// lateKey is the key of the connection of a request in its context.
type lateKey struct{}

type lateListener struct{ net.Listener }

func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: c, skip: len(http2.ClientPreface)}, nil
}

// lateConn knows the latest stream of an HTTP/2 client, and can write frames of its own.
type lateConn struct {
	net.Conn
	writing sync.Mutex
	latest  atomic.Uint32 // stream with HEADERS

	head [9]byte // of the frame that Read returns
	have int     // bytes of it
	skip int     // bytes before the next frame
}

// Read notes the streams of HEADERS frames. Only one goroutine reads.
func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if c.skip > 0 {
			k := min(c.skip, len(rest))
			c.skip -= k
			rest = rest[k:]
			continue
		}
		k := copy(c.head[c.have:], rest)
		c.have += k
		rest = rest[k:]
		if c.have == len(c.head) {
			if http2.FrameType(c.head[3]) == http2.FrameHeaders {
				c.latest.Store(binary.BigEndian.Uint32(c.head[5:]))
			}
			c.have, c.skip = 0, int(c.head[0])<<16|int(c.head[1])<<8|int(c.head[2])
		}
	}
	return n, err
}

func (c *lateConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.Conn.Write(p)
}

// attack misbehaves on the latest stream. The server writes nothing meanwhile.
func (c *lateConn) attack(do func(*http2.Framer, uint32)) {
	c.writing.Lock()
	defer c.writing.Unlock()
	do(http2.NewFramer(c.Conn, nil), c.latest.Load())
}
