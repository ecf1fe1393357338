package load

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/target"
	"assay/internal/wire"
)

// listen serves every connection by serve, and ends them all with the test.
func listen(t *testing.T, serve func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			running.Go(func() {
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// script serves HTTP/1.1 by hand: start is called for each Start and writes its
// answer; kill is the answer to a SendSignal.
func script(t *testing.T, start func(c net.Conn), kill string) (addr string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
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
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
			default:
				_, _ = io.WriteString(c, kill)
			}
		}
	})
}

const (
	killOK      = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	killGoneOK  = "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"code\":\"not_found\"}"
	killRefused = "HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{\"code\":\"unimplemented\"}"

	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastChunk  = "0\r\n\r\n"
)

func chunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

// env is an envelope.
func env(flags byte, payload string) string {
	return string(wire.AppendEnvelope(nil, flags, []byte(payload)))
}

func startEvent(pid int) string { return env(0, fmt.Sprintf(`{"event":{"start":{"pid":%d}}}`, pid)) }

func stdout(text string) string {
	return env(0, fmt.Sprintf(`{"event":{"data":{"stdout":"%s"}}}`, base64.StdEncoding.EncodeToString([]byte(text))))
}

func endEvent(code int) string {
	return env(0, fmt.Sprintf(`{"event":{"end":{"exitCode":%d,"exited":true}}}`, code))
}

const (
	eos = "\x02\x00\x00\x00\x02{}"
)

// testLimits are deadlines that no machine is too slow for. A test of one of them makes
// that one short, and no other.
func testLimits() Limits {
	return Limits{
		Connect: time.Minute, FirstEvent: time.Minute, Silence: time.Minute,
		End: time.Minute, Grace: time.Minute, Wind: 5 * time.Minute,
	}
}

const (
	// soon is a deadline that is to be over, and behind which nothing else comes.
	soon = 300 * time.Millisecond
	// later is one before which the other side has still something to say.
	later = 3 * time.Second
	// patience is what a run may take in which none of testLimits is over.
	patience = 50 * time.Second
)

// testPlan is a plan for one stream of three numbered lines, by Connect in JSON over HTTP/1.1.
func testPlan(t *testing.T, addr string, change ...func(*Plan)) *Plan {
	t.Helper()
	tg, err := target.New(target.Options{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{
		Addr: addr, HTTP: HTTP11, Streams: 1, Count: 1, Limits: testLimits(),
		Check:   Check{Kind: CheckSequence, First: 1, Lines: 3},
		Dialect: Dialect{Protocol: ProtocolConnect, Codec: CodecJSON, Target: tg, Command: "seq 1 3", Run: "test"},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// runPlan runs the portable engine and returns what it counted.
func runPlan(t *testing.T, ctx context.Context, p *Plan) *collector {
	t.Helper()
	c := newCollector(2).of(p)
	begun := time.Now()
	if err := (Portable{}).Run(ctx, p, c); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("it took %v", took)
	}
	c.hist.last()
	return c
}

// runUntil is runPlan for a plan that an interrupt ends, as soon as so many values of
// a metric were recorded.
func runUntil(t *testing.T, m Metric, values int64, p *Plan) *collector {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := &counting{collector: newCollector(2).of(p), metric: m, stop: stop}
	s.left.Store(values)
	begun := time.Now()
	if err := (Portable{}).Run(ctx, p, s); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > patience {
		t.Errorf("it took %v", took)
	}
	s.hist.last()
	return s.collector
}

// counting is a collector that calls stop after so many values of a metric.
type counting struct {
	*collector

	metric Metric
	left   atomic.Int64
	stop   func()
}

func (c *counting) Record(worker, class int, m Metric, d time.Duration) {
	c.collector.Record(worker, class, m, d)
	if m == c.metric && c.left.Add(-1) == 0 {
		c.stop()
	}
}

// wantOutcomes wants these counts, and no others.
func wantOutcomes(t *testing.T, c *collector, want map[Outcome]int64) {
	t.Helper()
	var all Outcomes
	for o, n := range want {
		all[o] = n
	}
	if got := c.snapshot().outcomes; got != all {
		t.Errorf("outcomes %v, want %v; %v", named(got), named(all), c.examples)
	}
}

func named(c Outcomes) map[string]int64 {
	out := map[string]int64{}
	for o, name := range outcomeNames() {
		if c[o] != 0 {
			out[name] = c[o]
		}
	}
	return out
}

// hold blocks until the other side goes away.
func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// serveStarts answers every request with a text.
func serveStarts(c net.Conn, text string) {
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

// ticker is a gateway whose processes print a number every 10 ms until they are
// killed, and four at least; end is what then ends the stream. Without an end the
// ticks go on.
type ticker struct {
	kill, end string

	mu   sync.Mutex
	live map[int]chan struct{} // by pid
}

// begin makes a process.
func (g *ticker) begin() (pid int, killed chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	pid, killed = len(g.live)+1, make(chan struct{}, 100)
	g.live[pid] = killed
	return pid, killed
}

// signal kills the process that a SendSignal names.
func (g *ticker) signal(body io.Reader) {
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

func (g *ticker) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/Start") {
			g.signal(r.Body)
			_, _ = io.WriteString(c, g.kill)
			continue
		}
		_, _ = io.Copy(io.Discard, r.Body)
		pid, killed := g.begin()
		_, _ = io.WriteString(c, streamHead+chunk(startEvent(pid)))
		tick := time.NewTicker(10 * time.Millisecond)
		for i, live := 0, true; live || i < 4; i++ {
			if _, err := io.WriteString(c, chunk(stdout(fmt.Sprintf("%d\n", i)))); err != nil {
				break
			}
			select {
			case <-killed:
				live = g.end == ""
			case <-tick.C:
			}
		}
		tick.Stop()
		_, _ = io.WriteString(c, g.end)
	}
}
