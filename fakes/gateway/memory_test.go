//go:build !race

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"assay/fakes/gatewaytest"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/testkit"
)

// untilItStands waits until a count has stood still for half a second: whoever counts is blocked. Where the machine pauses
// for longer, the wait ends early and the count is lower, which fails no test.
func untilItStands(t *testing.T, count *atomic.Int64) int64 {
	t.Helper()
	last, since := int64(0), time.Now()
	testkit.Eventually(t, func() error {
		if n := count.Load(); n != last || n == 0 {
			last, since = n, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return fmt.Errorf("%d goes on", last)
		}
		return nil
	})
	return last
}

// heapNow is the memory in use.
func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func TestASlowReaderBlocksItsProcessAndLosesNothing(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	const size = 100_000_000
	var printed atomic.Int64
	g := startGateway(t, Options{Seams: Seams{Output: func(_ *Process, next Output) Output { return countedOutput{next, &printed} }}})
	before := heapNow()
	c := attachRaw(t, g, sh(fmt.Sprintf("yes %s | head -c %d; exit 3", strings.Repeat("x", 500), size))...)
	held := untilItStands(t, &printed) // the client reads nothing
	if p := g.table.List()[0]; p.hub.grace != time.Minute {
		t.Errorf("the process waits %v for its client", p.hub.grace)
	}
	grown := int64(heapNow()) - int64(before)
	t.Logf("%d MB printed, the heap grew by %d MB", held>>20, grown>>20)
	if held > size/2 || grown > 32<<20 {
		t.Errorf("the process printed %d bytes to a client that reads nothing; the heap grew by %d", held, grown)
	}
	_, _ = c.Write(frame(finPing, "pong while nothing is read"))
	total, pongs, exits := 0, 0, ""
	for {
		_ = c.SetDeadline(time.Now().Add(gatewaytest.Patience))
		head, payload, err := readFrame(c)
		if err != nil {
			break
		}
		switch head {
		case finBinary:
			total += len(payload) - 1
		case 0x8a:
			pongs++
		default:
			exits += fmt.Sprintf("%x%s ", head, payload)
		}
		if head == finClose {
			_ = c.Close()
		}
	}
	if total != size || pongs != 1 || exits != "81{\"type\":\"exit\",\"code\":3} 88\x03\xe8 " {
		t.Errorf("%d bytes, %d pongs, then %.200q", total, pongs, exits)
	}
}

// countedOutput counts what a process prints.
type countedOutput struct {
	Output
	n *atomic.Int64
}

func (o countedOutput) Write(s virtual.Stream, p []byte) {
	o.Output.Write(s, p)
	o.n.Add(int64(len(p)))
}

func TestAClientThatPingsAndDoesNotReadIsBounded(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	g := startGateway(t, Options{})
	before := heapNow()
	c := attachRaw(t, g, "cmd", "sleep", "arg", "1000")
	flood := []byte(strings.Repeat(string(frame(finPing, strings.Repeat("p", 125))), 500))
	sent := 0
	for ; sent < 1<<30; sent += len(flood) {
		_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Write(flood); err != nil {
			break // the gateway reads no more
		}
	}
	if grown := int64(heapNow()) - int64(before); grown > 32<<20 || sent >= 1<<30 {
		t.Errorf("after %d MB of pings the heap grew by %d MB", sent>>20, grown>>20)
	}
}

func TestStdinThatNobodyReadsIsBoundedAndKept(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	const size = 64 << 20
	g := startGateway(t, Options{})
	before := heapNow()
	c := dialAttach(t, g, sh("echo up; while ! test -e /tmp/go; do sleep 0.1; done; wc -c")...)
	var sent atomic.Int64
	done := make(chan error, 1)
	piece := make([]byte, 1<<20)
	go func() {
		for range size / len(piece) {
			if err := c.Write(context.Background(), websocket.MessageBinary, piece); err != nil {
				done <- err
				return
			}
			sent.Add(int64(len(piece)))
		}
		done <- c.Write(context.Background(), websocket.MessageText, []byte(`{"type":"eof"}`))
	}()
	c.until("up\n")
	held := untilItStands(t, &sent)
	grown := int64(heapNow()) - int64(before)
	t.Logf("%d MB sent, the heap grew by %d MB", held>>20, grown>>20)
	if held > size/2 || grown > 32<<20 {
		t.Errorf("the gateway took %d bytes; the heap grew by %d", held, grown)
	}
	dialAttach(t, g, sh("echo > /tmp/go")...).rest().wantEnd("0")
	c.rest().wantEnd("0")
	if err := <-done; err != nil || strings.TrimSpace(string(c.out[1])) != fmt.Sprint("up\n", size) {
		t.Errorf("%q, %v", c.out[1], err)
	}
}

// A piece of a log shares the memory of what was written with it.
func TestALogDoesNotKeepTheWholeWrite(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string]bool{"in lines": false, "in pieces": true} {
		t.Run(name, func(t *testing.T) {
			if !testkit.Alone(t) {
				return
			}
			const size = 64 << 20
			h := newHub(fair{})
			h.pieces = pieces
			before := heapNow()
			h.Write(virtual.Stdout, bytes.Repeat([]byte("0123456789abcde\n"), size/16))
			if grown := int64(heapNow()) - int64(before); grown > size/8 {
				t.Errorf("a log of %d bytes keeps %d", h.log.size, grown)
			}
			runtime.KeepAlive(h)
		})
	}
}

func TestTenThousandIdleProcessesHoldNoDescriptors(t *testing.T) {
	t.Parallel()
	if !testkit.Alone(t) {
		return
	}
	box := virtualSandbox{virtual.New(virtual.Options{})}
	b := &books{}
	tab := newTable(box, Options{}, b, clock{})
	defer tab.wait()
	defer tab.close()
	count := func() int {
		dir, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("descriptors cannot be counted here: %v", err)
		}
		return len(dir)
	}
	before := count()
	const n = 10_000
	for range n {
		_, sub := run(t, tab, Spec{Config: &envd.ProcessConfig{Cmd: "sleep", Args: []string{"3600"}}})
		sub.close()
	}
	wantTally(t, tab, b, n, 0, 0, 0, n)
	if after := count(); after > before+8 {
		t.Errorf("%d descriptors before, %d with %d idle processes", before, after, n)
	}
}
