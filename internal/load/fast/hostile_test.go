//go:build linux && (amd64 || arm64)

package fast_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/testkit"
)

// hostiles returns the number of streams against hostile peers: few by default, more with ASSAY_NIGHTLY, or as many as
// ASSAY_HOSTILE_STREAMS says (for example 100000).
func hostiles(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ASSAY_HOSTILE_STREAMS")
	if text == "" && os.Getenv("ASSAY_NIGHTLY") != "" {
		return 1500
	}
	if text == "" {
		return 360 // 30 of each kind
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ASSAY_HOSTILE_STREAMS=%q: want a number", text)
	}
	return n
}

// under returns the TCP connection under a connection.
func under(c net.Conn) *net.TCPConn {
	if s, ok := c.(*tls.Conn); ok {
		c = s.NetConn()
	}
	if s, ok := c.(*cut); ok {
		c = s.Conn
	}
	return c.(*net.TCPConn)
}

// half serves over TLS; each third peer is hostile in the handshake already: it
// closes, resets or stalls after some bytes of it.
func half(turn *atomic.Uint64, serve func(net.Conn)) func(net.Conn) {
	whole := loadtest.Ways()[1].Serve(serve)
	return func(c net.Conn) {
		draw := turn.Add(1)
		if draw%3 != 0 {
			whole(c)
			return
		}
		r := rand.New(rand.NewPCG(draw, 9))
		whole(&cut{Conn: c, left: r.IntN(3000)})
		switch r.IntN(3) {
		case 0:
			_ = under(c).SetLinger(0)
		case 1:
			_, _ = io.Copy(io.Discard, c)
		}
	}
}

// cut is a connection whose writes end after some bytes.
type cut struct {
	net.Conn

	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p[:min(c.left, len(p))])
	if c.left -= n; c.left == 0 {
		return n, io.ErrShortWrite
	}
	return n, err
}

// hostile serves a connection in one of twelve ways, chosen by draw.
func hostile(draw uint64, c net.Conn) {
	tcp := under(c)
	good := loadtest.GoodAnswer()
	request := make([]byte, 4096)
	if draw%12 != 0 {
		if _, err := c.Read(request); err != nil {
			return
		}
	}
	quiet := func() { _, _ = io.Copy(io.Discard, c) } // until the driver closes the connection
	r := rand.New(rand.NewPCG(draw, 7))
	switch draw % 12 {
	case 0: // accepts and reads nothing
		_ = tcp.SetReadBuffer(1024)
		quiet()
	case 1: // never answers
		quiet()
	case 2: // resets
		_ = tcp.SetLinger(0)
	case 3: // resets during the response
		_, _ = io.WriteString(c, good[:r.IntN(len(good))])
		_ = tcp.SetLinger(0)
	case 4: // closes after n bytes
		_, _ = io.WriteString(c, good[:r.IntN(len(good))])
	case 5: // garbage
		p := make([]byte, 1+r.IntN(3000))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		_, _ = c.Write(p)
	case 6: // endless headers
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for range 2000 {
			if _, err := io.WriteString(c, "x-filler: 0123456789012345678901234567890123456789\r\n"); err != nil {
				return
			}
		}
		quiet()
	case 7: // stalls during the response
		_, _ = io.WriteString(c, good[:r.IntN(len(good)-5)])
		quiet()
	case 8: // an envelope that never ends
		_, _ = io.WriteString(c, loadtest.StreamHead+loadtest.Chunk(loadtest.StartEvent(7))+loadtest.Chunk("\x00\x03\x00\x00\x00{"))
		for range 20 {
			if _, err := io.WriteString(c, loadtest.Chunk(string(make([]byte, 16<<10)))); err != nil {
				return
			}
		}
	case 9: // one byte at a time
		for i := range good {
			if _, err := io.WriteString(c, good[i:i+1]); err != nil {
				return
			}
		}
	default: // well-behaved, with a second response
		for range 2 {
			if _, err := io.WriteString(c, good); err != nil {
				return
			}
			if _, err := c.Read(request); err != nil {
				return
			}
		}
	}
}

// Whatever peers do, every stream has an outcome, the loop goes on, and nothing leaks.
func TestHostilePeersAreOutcomes(t *testing.T) {
	serve := func(turn *atomic.Uint64) func(net.Conn) { return func(c net.Conn) { hostile(turn.Add(1), c) } }
	t.Run("in clear", func(t *testing.T) { hostilePeers(t, fast.Engine{}, serve(new(atomic.Uint64))) })
	t.Run("with several loops", func(t *testing.T) { hostilePeers(t, fast.Engine{Loops: 3}, serve(new(atomic.Uint64))) })
	t.Run("over TLS", func(t *testing.T) {
		hostilePeers(t, fast.Engine{Loops: 2}, half(new(atomic.Uint64), serve(new(atomic.Uint64))), func(p *load.Plan) {
			p.TLS, p.Limits.Connect, p.Rate = loadtest.ClientTLS(), 4*time.Second, 500
		})
	})
}

func hostilePeers(t *testing.T, engine fast.Engine, serve func(net.Conn), change ...func(*load.Plan)) {
	t.Helper()
	n := hostiles(t)
	addr := loadtest.Listen(t, serve)
	files := openFiles(t)
	before := loadtest.Heap()
	plan := loadtest.Plan(t, addr, func(p *load.Plan) {
		// The open model has no pause after a failed stream.
		p.Rate, p.Count, p.Duration, p.MaxOpen = 4000, n, time.Hour, 2000
		p.Limits.FirstEvent, p.Classes[0].Silence, p.Limits.End = 2*time.Second, 2*time.Second, 2*time.Second // long beside what a busy machine takes
		p.Limits.KillAll = time.Second                                                                        // hostile peers kill nothing
		for _, c := range change {
			c(p)
		}
	})
	begun := time.Now()
	q := loadtest.Drive(t.Context(), t, engine, plan)
	if len(q.Results) != n {
		t.Fatalf("%d results, want %d", len(q.Results), n)
	}
	counts := map[bundle.StreamOutcome]int{}
	for _, r := range q.Results {
		counts[r.Outcome]++
	}
	for _, o := range []bundle.StreamOutcome{bundle.StreamOK, bundle.StreamReset, bundle.StreamCorrupt, bundle.StreamStall, bundle.StreamAcceptStall, bundle.StreamServerError} {
		if counts[o] == 0 {
			t.Errorf("no stream ended as %v: %v", o, counts)
		}
	}
	if limit := time.Duration(float64(n)/plan.Rate*2)*time.Second + time.Minute; time.Since(begun) > limit {
		t.Errorf("it took %v", time.Since(begun))
	}
	q.Results, q.Values = nil, nil
	testkit.Eventually(t, func() error { // the peers' ends are closed with a delay
		if left := openFiles(t) - files; left > 20 {
			return fmt.Errorf("%d descriptors are left", left)
		}
		if grown := loadtest.Heap() - before; grown > 16<<20 {
			return fmt.Errorf("the heap has grown by %d KB", grown>>10)
		}
		return nil
	})
	t.Log(counts)
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
