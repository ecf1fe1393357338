package inject

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
)

// proxy passes the bytes of connections on, and spoils them while it has a mode.
type proxy struct {
	listener net.Listener
	target   string // host:port
	mode     atomic.Pointer[string]
	seed     uint64
	n        atomic.Uint64

	mu    sync.Mutex
	conns map[net.Conn]bool
	done  crash.Group
}

// listen starts a proxy on 127.0.0.1.
func listen(target string, seed uint64) (*proxy, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, seed: seed, conns: map[net.Conn]bool{}}
	p.set("")
	p.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.done.Go(func() {
				p.serve(c)
			})
		}
	})
	return p, nil
}

// set sets the mode: cut, delay, split, or "" for none.
func (p *proxy) set(mode string) { p.mode.Store(&mode) }

// close ends the proxy and every connection.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

func (p *proxy) keep(c net.Conn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
	}
}

// serve passes on one connection.
func (p *proxy) serve(c net.Conn) {
	defer func() { _ = c.Close(); p.keep(c, false) }()
	p.keep(c, true)
	t, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		reset(c)
		return
	}
	defer func() { _ = t.Close(); p.keep(t, false) }()
	p.keep(t, true)
	n := p.n.Add(1)
	var both crash.Group
	both.Go(func() {
		p.pass(t, c, rand.New(rand.NewPCG(p.seed, 2*n)), false) //nolint:gosec // no secret
	})
	p.pass(c, t, rand.New(rand.NewPCG(p.seed, 2*n+1)), true) //nolint:gosec // no secret
	both.Wait()
}

// pass copies from one side to the other. Of both directions, only responses are cut.
func (p *proxy) pass(to, from net.Conn, draw *rand.Rand, response bool) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.spoil(to, buf[:n], draw, response) {
			reset(to)
			reset(from)
			return
		}
		if errors.Is(err, io.EOF) {
			if half, ok := to.(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
			return
		}
		if err != nil {
			reset(to)
			return
		}
	}
}

// spoil writes data by the mode; false ends the connection.
func (p *proxy) spoil(to net.Conn, data []byte, draw *rand.Rand, response bool) bool {
	switch *p.mode.Load() {
	case "cut":
		if response && draw.IntN(4) == 0 {
			_, _ = to.Write(data[:draw.IntN(len(data)+1)])
			return false
		}
	case "delay":
		time.Sleep(leastDelay + time.Duration(draw.Int64N(int64(mostDelay-leastDelay))))
	case "split":
		for len(data) > 0 {
			n := min(1+draw.IntN(mostPiece), len(data))
			if _, err := to.Write(data[:n]); err != nil {
				return false
			}
			data = data[n:]
			time.Sleep(pieceEvery)
		}
		return true
	}
	_, err := to.Write(data)
	return err == nil
}

// reset closes a connection with RST.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
