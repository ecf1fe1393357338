//go:build linux && (amd64 || arm64)

package fast_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/load"
	"assay/internal/target"
	"assay/internal/testkit"
	"assay/internal/wire"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// tally is a sink that counts.
type tally struct {
	mu        sync.Mutex
	results   []load.Result
	values    map[load.Metric][]time.Duration
	firsts    map[int]int // start events by class
	opening   int
	started   int
	killing   int
	events    int
	bytes     int
	coalesced int
	unstamped int
	swept     int
	begun     func(started int) // is told of every start, when it is set
}

var _ load.Sink = (*tally)(nil)

func newTally() *tally {
	return &tally{values: map[load.Metric][]time.Duration{}, firsts: map[int]int{}}
}

func (t *tally) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func (t *tally) Record(_, class int, m load.Metric, d time.Duration) {
	t.locked(func() {
		t.values[m] = append(t.values[m], d)
		if m == load.FirstEvent {
			t.firsts[class]++
		}
	})
}
func (t *tally) HungUp()  {}
func (t *tally) Opening() { t.locked(func() { t.opening++ }) }
func (t *tally) Started() {
	t.locked(func() {
		if t.started++; t.begun != nil {
			t.begun(t.started)
		}
	})
}
func (t *tally) Killing()        { t.locked(func() { t.killing++ }) }
func (t *tally) Swept(n int)     { t.locked(func() { t.swept += n }) }
func (t *tally) Unstamped(n int) { t.locked(func() { t.unstamped += n }) }
func (t *tally) Coalesced(n int) { t.locked(func() { t.coalesced += n }) }
func (t *tally) Output(_, events, bytes int) {
	t.locked(func() { t.events, t.bytes = t.events+events, t.bytes+bytes })
}
func (t *tally) ClockStepped(time.Duration) {}
func (t *tally) Ended(r load.Result)        { t.locked(func() { t.results = append(t.results, r) }) }

// what is everything about the results that two engines must agree on.
func (t *tally) what() string {
	counts := map[string]int{}
	for _, r := range t.results {
		counts[fmt.Sprintf("%v/%d opened=%v uncertain=%v killsent=%v disconnected=%v refused=%v said=%v",
			r.Outcome, r.Fate, r.Opened, r.Uncertain, r.KillSent, r.Disconnected, r.Refused, r.Message != "")]++
	}
	bytes := t.bytes
	for _, r := range t.results {
		if r.Outcome == load.Corrupt {
			bytes = 0 // of output that is not what it says, the length says nothing
		}
	}
	return fmt.Sprintf("%v; %d opening, %d started, %d killing, %d swept; %d events, %d bytes; %d first %v, %d from sent, %d ends, %d start lags",
		counts, t.opening, t.started, t.killing, t.swept, t.events, bytes,
		len(t.values[load.FirstEvent]), t.firsts, len(t.values[load.FromSent]), len(t.values[load.EndOfStream]), len(t.values[load.StartLag]))
}

func (t *tally) messages() (all []string) {
	for _, r := range t.results {
		all = append(all, r.Message)
	}
	return all
}

// listen serves every connection by serve, and ends them all with the test.
func listen(t testing.TB, serve func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	conns := map[net.Conn]struct{}{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = struct{}{}
			mu.Unlock()
			running.Go(func() {
				serve(c)
				_ = c.Close()
				mu.Lock()
				delete(conns, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// script serves HTTP/1.1 by hand: start writes the answer to a Start; a SendSignal is
// answered with success.
func script(t testing.TB, start func(c net.Conn)) (addr string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if strings.HasSuffix(r.URL.Path, "/Start") {
				start(c)
				continue
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
}

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastChunk  = "0\r\n\r\n"
	eos        = "\x02\x00\x00\x00\x02{}"
)

func chunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

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

// answerOf is a whole answer with a chunk for each piece.
func answerOf(pieces ...string) string {
	var out strings.Builder
	out.WriteString(streamHead)
	for _, p := range pieces {
		out.WriteString(chunk(p))
	}
	return out.String() + lastChunk
}

func goodAnswer() string {
	return answerOf(startEvent(7), stdout("1\n"), stdout("2\n"), stdout("3\n"), endEvent(0), eos)
}

const (
	// soon is a deadline that is to be over, and behind which nothing else comes.
	soon = 300 * time.Millisecond
	// later is one before which the other side has still something to say.
	later = 3 * time.Second
)

// testPlan is a plan for one stream of three numbered lines, by Connect in JSON over
// HTTP/1.1. No machine is too slow for its deadlines: a test of one of them makes that
// one short, and no other.
func testPlan(t testing.TB, addr string, change ...func(*load.Plan)) *load.Plan {
	t.Helper()
	tg, err := target.New(target.Options{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	p := &load.Plan{
		Addr: addr, HTTP: load.HTTP11, Streams: 1, Count: 1,
		Limits: load.Limits{
			Connect: time.Minute, FirstEvent: time.Minute, Silence: time.Minute,
			End: time.Minute, Grace: time.Minute, Wind: 5 * time.Minute,
		},
		Check:   load.Check{Kind: load.CheckSequence, First: 1, Lines: 3},
		Dialect: load.Dialect{Protocol: load.ProtocolConnect, Codec: load.CodecJSON, Target: tg, Command: "seq 1 3", Run: "test"},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// drive runs an engine and returns what it counted.
func drive(t testing.TB, ctx context.Context, e load.Engine, p *load.Plan) *tally {
	t.Helper()
	return driveTo(t, ctx, newTally(), e, p)
}

// driveTo runs an engine with a tally.
func driveTo(t testing.TB, ctx context.Context, c *tally, e load.Engine, p *load.Plan) *tally {
	t.Helper()
	if err := e.Run(ctx, p, c); err != nil {
		t.Errorf("%s: %v", e.Name(), err)
	}
	return c
}

// enough ends a run in which four streams have ticked for a while.
type enough struct {
	gaps int64
	stop func()
}

func (e *enough) Begin(string, time.Duration, int) {}
func (e *enough) End()                             {}

func (e *enough) Tick(now load.Tick) {
	if e.gaps += now.Gap.Count; e.gaps >= 12 && now.Started >= 4 {
		e.stop()
	}
}
