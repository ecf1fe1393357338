//go:build !race

package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/fakes/gatewaytest"
	"assay/internal/testkit"
)

// floodHeap bounds the growth of the heap under a flood, with the garbage that a machine
// without a free core has not collected yet. Without the limits it grew by more than 1.7 GB.
const floodHeap = 1 << 30

// slowHealth is a bound for a machine with much other work; the gateway takes milliseconds.
const slowHealth = 30 * time.Second

// h2Client is a connection of HTTP/2 whose frames a test writes.
type h2Client struct {
	net.Conn
	*http2.Framer
	out *bufio.Writer
}

func dialH2(t *testing.T, g *Gateway) h2Client {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(c, 1<<20)
	f := http2.NewFramer(w, c)
	if err := errors.Join(f.WriteSettings(), f.WriteWindowUpdate(0, 1<<30), w.Flush()); err != nil {
		t.Fatal(err)
	}
	return h2Client{c, f, w}
}

// head is the header block of a call.
func headOf(path string) []byte {
	var b strings.Builder
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "localhost"}, {"content-type", "application/connect+json"},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // into memory, without the dynamic table
	}
	return []byte(b.String())
}

// countedTable counts the starts that have returned.
type countedTable struct {
	Table
	starts *atomic.Int64
}

func (c countedTable) Start(s Spec) (*Process, *Subscriber, error) {
	defer c.starts.Add(1)
	return c.Table.Start(s)
}

func TestStreamsThatAreResetAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it opens many streams")
	}
	if !testkit.Alone(t) {
		return
	}
	streams, most, room := 12_000, uint64(floodHeap/8), 4_000
	if os.Getenv("ASSAY_NIGHTLY") != "" { // the real size takes half a minute
		streams, most, room = 200_000, floodHeap, maxProcesses
	}
	for _, f := range []struct{ name, path, body string }{
		{"health", "/health", ""},
		{"a start without a body", gatewaytest.StartPath, ""},
		{"a process", gatewaytest.StartPath, gatewaytest.Shell("sleep 1000")},
	} {
		t.Run(f.name, func(t *testing.T) {
			var starts atomic.Int64
			g := startGateway(t, Options{Seams: Seams{Table: func(next Table) Table { return countedTable{next, &starts} }}})
			g.table.mu.Lock()
			g.table.busy = maxProcesses - room
			g.table.mu.Unlock()
			watch := watchHealth(t, g)
			c := dialH2(t, g)
			go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
			block := headOf(f.path)
			body := gatewaytest.Envelope(0, f.body)
			sent := 0
			_ = c.SetWriteDeadline(time.Now().Add(2 * testkit.Limit))
			for ; sent < streams; sent++ {
				id := uint32(2*sent + 1)
				err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true})
				if f.body != "" {
					err = errors.Join(err, c.WriteData(id, true, body))
				}
				if errors.Join(err, c.WriteRSTStream(id, http2.ErrCodeCancel)) != nil {
					break // the gateway has had enough
				}
			}
			_ = c.out.Flush()
			running := func() int {
				g.table.mu.Lock()
				defer g.table.mu.Unlock()
				return len(g.table.live)
			}
			if f.body != "" {
				testkit.Eventually(t, func() error {
					if n := starts.Load(); n <= int64(room) {
						return fmt.Errorf("%d starts, and there is room for %d", n, room)
					}
					return nil
				})
			}
			if n := running(); n > room {
				t.Errorf("%d processes run, want at most %d", n, room)
			}
			heap, slowest := watch()
			t.Logf("%d streams, heap %d MB, slowest answer %v", sent, heap>>20, slowest)
			if heap > most || slowest > slowHealth {
				t.Errorf("the heap grew by %d MB, /health took %v", heap>>20, slowest)
			}
		})
	}
}

// watchHealth asks for /health all the time. stop returns how much the heap grew at most, and the longest wait for an answer.
func watchHealth(t *testing.T, g *Gateway) (stop func() (heap uint64, slowest time.Duration)) {
	t.Helper()
	heapNow := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	before := heapNow()
	ended, done := make(chan struct{}), make(chan struct{})
	var heap uint64
	var slowest time.Duration
	go func() {
		defer close(done)
		for {
			began := time.Now()
			res, err := http.Get(g.URL() + "/health")
			if err != nil {
				t.Errorf("/health: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			slowest = max(slowest, time.Since(began))
			if now := heapNow(); now > before {
				heap = max(heap, now-before)
			}
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() (uint64, time.Duration) {
		close(ended)
		<-done
		return heap, slowest
	}
}
