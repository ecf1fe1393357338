//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"
	"unsafe"

	"assay/internal/base/machine"
	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// bench returns a loop without sockets; the test feeds the bytes.
func bench(tb testing.TB, protocol, codec, version string, check load.Check) (*loop, *loadtest.Last) {
	tb.Helper()
	sink := &loadtest.Last{}
	return benchTo(tb, protocol, codec, version, check, sink), sink
}

func benchTo(tb testing.TB, protocol, codec, version string, check load.Check, sink load.Sink) *loop {
	tb.Helper()
	p := benchPlan(tb, protocol, codec, version, check)
	return benchOf(tb, account.NewRun(p, sink), p, sink)
}

func benchPlan(tb testing.TB, protocol, codec, version string, check load.Check) *load.Plan {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		tb.Fatal(err)
	}
	return &load.Plan{
		HTTP: version, Schedule: load.Schedule{Rate: 1, Duration: time.Hour}, Limits: load.DefaultLimits(1),
		Classes: []load.Class{{Share: 1, Check: check, Dialect: load.Dialect{Protocol: protocol, Codec: codec, Target: tg, Command: "x", Run: "r"}}},
	}
}

// benchOf returns a loop of a run.
func benchOf(tb testing.TB, r *account.Run, p *load.Plan, sink load.Sink) *loop {
	tb.Helper()
	start, err := p.Classes[0].Dialect.Start()
	if err != nil {
		tb.Fatal(err)
	}
	l := &loop{
		plan: p, sink: sink, slows: map[int32]*slow{}, outs: map[int32][]byte{}, recv: &receiver{}, clock: newClock(time.Now()),
		starts: withKeys([]*encoded{encode(start, p)}), known: make([]knownHead, 1), dialing: load.DialsAtOnce, // nothing is dialled
	}
	l.streams = r.Add(l, func() int64 { return l.clock.now() })
	if p.Multiplexed() {
		l.mux = newMuxes(l, 1)
		l.mux.streams.dialing, l.mux.calls.dialing = load.H2DialsAtOnce, load.H2DialsAtOnce
	}
	return l
}

// queued removes the entry that waits for a connection from its queue.
func (l *loop) queued() (int32, *account.Stream) {
	q := &l.waiting
	if l.mux != nil {
		if q = &l.mux.streams.waiting; q.Len() == 0 {
			q = &l.mux.calls.waiting
		}
	}
	w := q.Pop()
	return w.Stream, l.streams.At(w.Stream)
}

// testStream makes a stream that waits for a connection.
func (l *loop) testStream() (int32, *account.Stream) {
	l.streams.Begin(0)
	i, s := l.queued()
	l.streams.Opening(s)
	return i, s
}

// testConn makes a connection that waits for the response to a stream.
func (l *loop) testConn(i int32, s *account.Stream) (int32, *conn) {
	ci := l.conns.Take()
	c := l.conns.At(ci)
	*c = conn{fd: -1, gen: c.gen, state: connBusy, stream: i}
	l.streams.Sent(s, ci)
	return ci, c
}

// testMux makes an open HTTP/2 connection.
func (l *loop) testMux() *mux {
	l.mux.gen++
	c := newMux(l.mux, &l.mux.streams, -1, l.mux.gen)
	c.state = muxOpen
	c.index = uint32(len(l.mux.all))
	l.mux.all = append(l.mux.all, c)
	l.mux.streams.conns = append(l.mux.streams.conns, c)
	return c
}

// testStream makes a stream whose request is sent with the id 1.
func (c *mux) testStream(l *loop) (int32, *account.Stream) {
	conns := c.pool.conns
	c.pool.conns = nil // otherwise the stream begins at once
	i, s := l.testStream()
	c.pool.conns = conns
	s.ID, c.nextID = 1, 3
	c.ids.add(1, i)
	l.streams.Sent(s, int32(c.index))
	return i, s
}

// feedMux feeds bytes of a connection.
func (l *loop) feedMux(c *mux, p []byte) {
	l.arrived(0)
	c.feed(p)
	l.streams.EndRead(false)
}

func (l *loop) feedConn(ci int32, p []byte) {
	l.arrived(0)
	if c := l.conns.At(ci); c.state == connBusy {
		l.feed(ci, c, p)
		l.streams.EndRead(false)
	}
}

const testHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nDate: Sat, 21 Nov 2026 02:29:02 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"

const (
	testStart = `{"event":{"start":{"pid":7}}}`
	testEnd   = `{"event":{"end":{"exited":true, "status":"exit status 0"}}}`
)

// wholeAnswer returns a good response of five lines.
func wholeAnswer() []byte {
	out := []byte(testHead + loadtest.Chunk(loadtest.Env(0, testStart)))
	for n := 1; n <= 5; n++ {
		out = append(out, loadtest.Chunk(loadtest.Stdout(fmt.Sprintf("%d\n", n)))...)
	}
	return append(out, loadtest.Chunk(loadtest.Env(0, testEnd))+loadtest.Chunk(loadtest.Env(2, "{}"))+"0\r\n\r\n"...)
}

func TestAConnectionTakesAtMost64Bytes(t *testing.T) {
	if n := unsafe.Sizeof(conn{}); n > 64 {
		t.Errorf("%d bytes", n)
	}
}

// switchTest switches the connection of a stream to WebSocket.
func (l *loop) switchTest(ci int32, s *account.Stream) {
	key := l.streams.Key(s)
	l.feedConn(ci, []byte(loadtest.Switch(string(key[:]))))
}

// An open and idle WebSocket takes an entry and a connection, and no buffer.
func TestAnIdleWebSocketTakesAtMost256Bytes(t *testing.T) {
	l, _ := bench(t, load.ProtocolWS, load.CodecJSON, load.HTTP11, load.Check{Kind: load.CheckSequence})
	i, s := l.testStream()
	ci, c := l.testConn(i, s)
	l.switchTest(ci, s)
	for n := range 3 {
		l.feedConn(ci, []byte(loadtest.Out(fmt.Sprintf("%d\n", n))))
	}
	if c.state != connBusy || c.framing != atFrames || len(l.slows) != 0 || len(l.outs) != 0 {
		t.Errorf("state %v, framing %v, %d decoders, %d buffers", c.state, c.framing, len(l.slows), len(l.outs))
	}
	if n := unsafe.Sizeof(*s) + unsafe.Sizeof(*c); n > 256 {
		t.Errorf("%d bytes", n)
	}
}

// attached runs one whole stream over WebSocket, in two reads.
func attached(l *loop, cut int) {
	i, s := l.testStream()
	ci, c := l.testConn(i, s)
	key := l.streams.Key(s)
	p := testSwitch
	at := bytes.Index(p, []byte("Accept: ")) + len("Accept: ")
	copy(p[at:], wire.WSAccept(string(key[:])))
	l.feedConn(ci, p[:cut])
	l.feedConn(ci, p[cut:])
	if c.state == connBusy {
		l.eof(ci, c)
	}
}

const testSwitchHead = "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" +
	"Date: Sat, 21 Nov 2026 02:29:02 GMT\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

// testSwitch is a whole response.
var testSwitch = []byte(testSwitchHead + loadtest.GoodFrames())

func TestAWholeWebSocketAllocatesNothing(t *testing.T) {
	l, sink := bench(t, load.ProtocolWS, load.CodecJSON, load.HTTP11, load.Check{Kind: load.CheckSequence, First: 1, Lines: 3})
	all := len(testSwitch)
	n := 0
	for ; n < 2*all; n++ {
		if attached(l, n%all); sink.Result.Outcome != bundle.StreamOK || sink.Count != n+1 {
			t.Fatalf("cut at %d: %d ended, %+v", n%all, sink.Count, sink.Result)
		}
	}
	// The test allocates the Sec-WebSocket-Accept twice.
	m := 0
	if got := testing.AllocsPerRun(1000, func() { attached(l, len(testSwitchHead)+m%(all-len(testSwitchHead))); m++ }); got > 4 {
		t.Errorf("%v allocations per stream, 4 of them by the test", got)
	}
}

func TestAFrameAllocatesNothing(t *testing.T) {
	l, sink := bench(t, load.ProtocolWS, load.CodecJSON, load.HTTP11, load.Check{})
	i, s := l.testStream()
	ci, _ := l.testConn(i, s)
	l.switchTest(ci, s)
	p := []byte(loadtest.Out("1\n") + loadtest.Frame(wire.WSPing, "p"))
	cut := 0
	next := func() {
		l.feedConn(ci, p[:cut%len(p)])
		l.feedConn(ci, p[cut%len(p):])
		cut++
	}
	for range 2 * len(p) {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("%v allocations for a message and a ping", n)
	}
	if sink.Count != 0 {
		t.Errorf("%+v", sink.Result)
	}
}

var fiveLines = load.Check{Kind: load.CheckSequence, First: 1, Lines: 5}

// oneStream runs one whole HTTP/1.1 stream with the response p, in two reads.
func oneStream(l *loop, p []byte, cut int) {
	i, s := l.testStream()
	ci, c := l.testConn(i, s)
	l.feedConn(ci, p[:cut])
	l.feedConn(ci, p[cut:])
	if c.state == connIdle { // free it, because testConn takes a new one
		c.state = connFree
		l.conns.Put(ci)
		l.idle = l.idle[:0]
	}
}

func TestAWholeStreamAllocatesNothing(t *testing.T) {
	for _, check := range []load.Check{fiveLines, {}, {Kind: load.CheckSame}} {
		l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, check)
		p := wholeAnswer()
		n := 0
		for ; n < 2*len(p); n++ {
			if oneStream(l, p, n%len(p)); sink.Result.Outcome != bundle.StreamOK {
				t.Fatalf("check %v, cut at %d: %+v", check.Kind, n%len(p), sink.Result)
			}
		}
		// Cut inside its head, a stream goes through the strict decoder, which allocates.
		m := 0
		whole := func() { oneStream(l, p, len(testHead)+m%(len(p)-len(testHead))); m++ }
		if got := testing.AllocsPerRun(1000, whole); got != 0 {
			t.Errorf("check %v: %v allocations per stream", check.Kind, got)
		}
		if sink.Count != n+m || l.streams.Open() != 0 {
			t.Errorf("%d of %d ended, %d are open", sink.Count, n+m, l.streams.Open())
		}
	}
}

// headersOf appends a frame with a header block.
func headersOf(dst []byte, id uint32, block []byte, last bool) []byte {
	return h2.Block{Stream: id, Fields: block, EndStream: last}.Append(dst, h2.DefaultMaxFrame)
}

// muxStream returns a whole HTTP/2 response: head, output, end.
func muxStream(id uint32) []byte {
	head := []byte{0x88, 0x0f, 0x10, 26} // :status 200; content-type, not added to the table
	head = append(head, "application/connect+json"...)
	head[3] = 24
	body := []byte(loadtest.Env(0, testStart))
	for n := 1; n <= 5; n++ {
		body = append(body, loadtest.Stdout(fmt.Sprintf("%d\n", n))...)
	}
	body = append(body, loadtest.Env(0, testEnd)+loadtest.Env(2, "{}")...)
	return h2.AppendData(headersOf(nil, id, head, false), id, body, true)
}

func TestAWholeStreamOfHTTP2AllocatesNothing(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	p := muxStream(1)
	n := 0
	next := func() {
		c.testStream(l)
		l.feedMux(c, p)
		n++
	}
	for range 10 {
		if next(); sink.Result.Outcome != bundle.StreamOK {
			t.Fatalf("%+v", sink.Result)
		}
	}
	if got := testing.AllocsPerRun(1000, next); got != 0 {
		t.Errorf("%v allocations per stream", got)
	}
	if c.ids.len() != 0 || sink.Count != n {
		t.Errorf("%d ids are left, %d of %d ended", c.ids.len(), sink.Count, n)
	}
}

// BenchmarkStream measures the cost of one short stream without the kernel.
func BenchmarkStream(b *testing.B) {
	b.Run("HTTP/1.1", func(b *testing.B) {
		l, _ := bench(b, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
		p := wholeAnswer()
		oneStream(l, p, len(p)-1)
		b.ReportAllocs()
		for b.Loop() {
			oneStream(l, p, len(p)-1)
		}
	})
	b.Run("h2c", func(b *testing.B) {
		l, _ := bench(b, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
		c := l.testMux()
		p := muxStream(1)
		b.ReportAllocs()
		for b.Loop() {
			c.testStream(l)
			l.feedMux(c, p)
		}
	})
}

// sharded is a sink for several loops.
type sharded struct{ loadtest.Last }

func (*sharded) Shard(int) load.Sink {
	apart := new(struct {
		loadtest.Last

		_ [256]byte // no two of them on a cache line
	})
	return &apart.Last
}

// BenchmarkLoops measures whole streams of HTTP/2 in several loops of one run, without the
// kernel: the processor time of a stream does not depend on the number of loops, so
// they scale with the processors.
func BenchmarkLoops(b *testing.B) {
	for _, loops := range []int{1, 2, 4} {
		b.Run(strconv.Itoa(loops), func(b *testing.B) {
			p, sink := benchPlan(b, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines), &sharded{}
			r := account.NewRun(p, sink)
			var all []*mux
			for range loops {
				all = append(all, benchOf(b, r, p, sink).testMux())
			}
			answer := muxStream(1)
			before := machine.CPUSeconds()
			b.ResetTimer()
			var running sync.WaitGroup
			for _, c := range all {
				running.Go(func() {
					for range (b.N + loops - 1) / loops {
						c.testStream(c.in.l)
						c.in.l.feedMux(c, answer)
					}
				})
			}
			running.Wait()
			b.ReportMetric((machine.CPUSeconds()-before)*1e9/float64(b.N), "cpu-ns/op")
		})
	}
}
