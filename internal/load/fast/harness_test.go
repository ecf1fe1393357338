//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"assay/internal/load"
	"assay/internal/target"
	"assay/internal/wire"
)

// nowhere is a sink that keeps the last result.
type nowhere struct {
	ended  int
	result load.Result
}

var _ load.Sink = (*nowhere)(nil)

func (*nowhere) Record(int, int, load.Metric, time.Duration) {}
func (*nowhere) HungUp()                                     {}
func (*nowhere) Opening()                                    {}
func (*nowhere) Started()                                    {}
func (*nowhere) Output(int, int, int)                        {}
func (*nowhere) Killing()                                    {}
func (*nowhere) Coalesced(int)                               {}
func (*nowhere) Unstamped(int)                               {}
func (*nowhere) ClockStepped(time.Duration)                  {}
func (*nowhere) Swept(int)                                   {}
func (n *nowhere) Ended(r load.Result)                       { n.ended++; n.result = r }

// bench is a loop without sockets: bytes are fed by hand.
func bench(tb testing.TB, protocol, codec, version string, check load.Check) (*loop, *nowhere) {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		tb.Fatal(err)
	}
	p := &load.Plan{
		HTTP: version, Streams: 1, Check: check, Limits: load.DefaultLimits(0, 1),
		Dialect: load.Dialect{Protocol: protocol, Codec: codec, Target: tg, Command: "x", Run: "r"},
	}
	start, err := p.Dialect.Start()
	if err != nil {
		tb.Fatal(err)
	}
	req, err := p.Encode(start)
	if err != nil {
		tb.Fatal(err)
	}
	sink := &nowhere{}
	r := &run{plan: p, sink: sink, count: 1}
	l := &loop{
		run: r, plan: p, sink: sink, extras: map[int32]*extra{}, slows: map[int32]*slow{}, scratch: make([]byte, readSize),
		recv: &receiver{}, clock: newClock(time.Now()),
		classes: []class{newClass(p.Mix()[0], req, &load.SameOutput{})},
	}
	l.schedule.stage = stageGrace // nothing begins by itself
	if p.Multiplexed() {
		l.mux = newMuxes(l)
	}
	return l, sink
}

// take makes a stream whose request is sent.
func (l *loop) testStream(number int64) (int32, *stream) {
	i := l.streams.take()
	s := l.streams.at(i)
	*s = stream{number: number, phase: phaseSent, parts: 1, conn: none, mux: none, cut: none}
	s.set(flagOpened)
	s.next = l.classes[0].Check.First
	l.schedule.open++
	return i, s
}

// testConn makes a connection that waits for the answer to a stream.
func (l *loop) testConn(i int32, s *stream) (int32, *conn) {
	ci := l.conns.take()
	c := l.conns.at(ci)
	*c = conn{fd: -1, gen: c.gen, state: connBusy, stream: i}
	s.conn = ci
	return ci, c
}

// testMux makes a connection of HTTP/2 whose handshake is over.
func (l *loop) testMux() *mux {
	l.mux.gen++
	c := newMux(l.mux, &l.mux.streams, -1, l.mux.gen)
	c.state = muxOpen
	c.index = uint32(len(l.mux.all))
	l.mux.all = append(l.mux.all, c)
	l.mux.streams.conns = append(l.mux.streams.conns, c)
	return c
}

func (l *loop) feedConn(ci int32, p []byte) {
	l.arrived(0)
	if c := l.conns.at(ci); c.state == connBusy {
		l.feed(ci, c, p)
		l.settleGaps(false)
	}
}

const testHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nDate: Sat, 21 Nov 2026 02:29:02 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"

func testChunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

func testEnv(flags byte, p string) string {
	return string(wire.AppendEnvelope(nil, flags, []byte(p)))
}

func testLine(text string) string {
	return testEnv(0, `{"event":{"data":{"stdout":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}}}`)
}

const (
	testStart = `{"event":{"start":{"pid":7}}}`
	testEnd   = `{"event":{"end":{"exited":true, "status":"exit status 0"}}}`
)

// wholeAnswer is a good answer of five lines.
func wholeAnswer() []byte {
	out := []byte(testHead + testChunk(testEnv(0, testStart)))
	for n := 1; n <= 5; n++ {
		out = append(out, testChunk(testLine(fmt.Sprintf("%d\n", n)))...)
	}
	return append(out, testChunk(testEnv(0, testEnd))+testChunk(testEnv(2, "{}"))+"0\r\n\r\n"...)
}

func TestAStreamTakesAtMost128Bytes(t *testing.T) {
	if n := unsafe.Sizeof(stream{}); n > 128 {
		t.Errorf("%d bytes", n)
	}
	if n := unsafe.Sizeof(conn{}); n > 64 {
		t.Errorf("a connection takes %d bytes", n)
	}
}

var fiveLines = load.Check{Kind: load.CheckSequence, First: 1, Lines: 5}

// oneStream answers one whole stream of HTTP/1.1, in two reads.
func oneStream(l *loop, number int64, p []byte, cut int) {
	i, s := l.testStream(number)
	ci, c := l.testConn(i, s)
	l.feedConn(ci, p[:cut])
	l.feedConn(ci, p[cut:])
	if c.state == connIdle { // give it back, as the harness takes a new one
		c.state = connFree
		l.conns.put(ci)
		l.idle = l.idle[:0]
	}
}

func TestAWholeStreamAllocatesNothing(t *testing.T) {
	for _, check := range []load.Check{fiveLines, {}, {Kind: load.CheckSame}} {
		l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.HTTP11, check)
		p := wholeAnswer()
		n := int64(0)
		next := func() {
			oneStream(l, n, p, int(n)%len(p))
			n++
		}
		for range 2 * len(p) {
			if next(); sink.result.Outcome != load.OK {
				t.Fatalf("check %v, cut at %d: %+v", check.Kind, (n-1)%int64(len(p)), sink.result)
			}
		}
		// Cut inside its head, a stream goes through the strict decoder, which allocates.
		m := int64(0)
		whole := func() { oneStream(l, m, p, len(testHead)+int(m)%(len(p)-len(testHead))); m++ }
		if got := testing.AllocsPerRun(1000, whole); got != 0 {
			t.Errorf("check %v: %v allocations per stream", check.Kind, got)
		}
		if sink.ended != int(n+m) || l.streams.live() != 0 || len(l.extras) != 0 && check.Kind != load.CheckSame {
			t.Errorf("%d of %d ended, %d live, %d extras", sink.ended, n+m, l.streams.live(), len(l.extras))
		}
	}
}

// events feeds a stream of each dialect one event after the other, each cut in two.
func TestAnEventAllocatesNothing(t *testing.T) {
	for _, way := range [][2]string{{load.ProtocolConnect, load.CodecJSON}, {load.ProtocolConnect, load.CodecProto}, {load.ProtocolGRPC, load.CodecProto}, {load.ProtocolWeb, load.CodecJSON}, {load.ProtocolNDJSON, load.CodecJSON}} {
		for _, check := range []load.Check{{Kind: load.CheckSequence}, {Kind: load.CheckNone}, {Kind: load.CheckSame}} {
			t.Run(fmt.Sprintf("%s %s, check %d", way[0], way[1], check.Kind), func(t *testing.T) {
				l, next := fed(t, way[0], way[1], check)
				for range 2000 {
					next()
				}
				if n := testing.AllocsPerRun(2000, next); n != 0 {
					t.Errorf("%v allocations per event", n)
				}
				for _, x := range l.extras {
					if x.wrong != "" {
						t.Error(x.wrong)
					}
				}
			})
		}
	}
}

// fed is a stream that has started, and a function that feeds it the next line.
func fed(tb testing.TB, protocol, codec string, check load.Check) (*loop, func()) {
	tb.Helper()
	l, _ := bench(tb, protocol, codec, load.HTTP11, check)
	i, s := l.testStream(0)
	begin, line := testEnv(0, testStart), func(n int) string { return testLine(fmt.Sprintf("%d\n", n)) }
	switch {
	case protocol == load.ProtocolNDJSON:
		begin = `{"type":"start","pid":7}` + "\n"
		line = func(n int) string { return fmt.Sprintf(`{"type":"stdout","data":"%d\n"}`+"\n", n) }
	case codec == load.CodecProto:
		begin = testEnv(0, "\x0a\x04\x0a\x02\x08\x07")
		line = func(n int) string {
			text := fmt.Sprintf("%d\n", n)
			size := byte(len(text))
			return testEnv(0, string([]byte{0x0a, size + 4, 0x12, size + 2, 0x0a, size})+text)
		}
	}
	l.body(i, s, []byte(begin))
	if s.pid != 7 {
		tb.Fatal("the stream has not started")
	}
	var lines [][]byte
	for n := range 1000 {
		lines = append(lines, []byte(line(n)))
	}
	n := 0
	return l, func() {
		if n == len(lines) {
			n, s.next, s.at, s.lines = 0, 0, 0, 0
		}
		p := lines[n]
		l.arrived(0)
		l.body(i, s, p[:len(p)/2]) // cut, as sockets do
		l.body(i, s, p[len(p)/2:])
		l.settleGaps(false)
		n++
	}
}

// muxStream is a whole stream of HTTP/2: head, output, end.
func muxStream(id uint32) []byte {
	head := []byte{0x88, 0x0f, 0x10, 26} // :status 200; content-type, not added to the table
	head = append(head, "application/connect+json"...)
	head[3] = 24
	body := []byte(testEnv(0, testStart))
	for n := 1; n <= 5; n++ {
		body = append(body, testLine(fmt.Sprintf("%d\n", n))...)
	}
	body = append(body, testEnv(0, testEnd)+testEnv(2, "{}")...)
	return appendData(appendHeaders(nil, id, head, false), id, body, true)
}

func TestAWholeStreamOfHTTP2AllocatesNothing(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	p := muxStream(1)
	n := int64(0)
	next := func() {
		i, s := l.testStream(n)
		s.mux, s.id = int32(c.index), 1
		c.nextID = 3
		c.ids.add(1, i)
		l.arrived(0)
		c.feed(p)
		l.settleGaps(false)
		n++
	}
	for range 10 {
		if next(); sink.result.Outcome != load.OK {
			t.Fatalf("%+v", sink.result)
		}
	}
	if got := testing.AllocsPerRun(1000, next); got != 0 {
		t.Errorf("%v allocations per stream", got)
	}
	if c.ids.len() != 0 || sink.ended != int(n) {
		t.Errorf("%d ids are left, %d of %d ended", c.ids.len(), sink.ended, n)
	}
}

// BenchmarkStream is what one short stream costs besides the kernel.
func BenchmarkStream(b *testing.B) {
	b.Run("HTTP/1.1", func(b *testing.B) {
		l, _ := bench(b, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
		p := wholeAnswer()
		oneStream(l, 0, p, len(p)-1)
		b.ReportAllocs()
		for b.Loop() {
			oneStream(l, 0, p, len(p)-1)
		}
	})
	b.Run("h2c", func(b *testing.B) {
		l, _ := bench(b, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
		c := l.testMux()
		p := muxStream(1)
		b.ReportAllocs()
		for b.Loop() {
			i, s := l.testStream(0)
			s.mux, s.id, c.nextID = int32(c.index), 1, 3
			c.ids.add(1, i)
			l.arrived(0)
			c.feed(p)
			l.settleGaps(false)
		}
	})
}

// BenchmarkEvent is what one event of one numbered line costs.
func BenchmarkEvent(b *testing.B) {
	for _, way := range [][2]string{{load.ProtocolConnect, load.CodecJSON}, {load.ProtocolConnect, load.CodecProto}, {load.ProtocolNDJSON, load.CodecJSON}} {
		b.Run(way[0]+" "+way[1], func(b *testing.B) {
			_, next := fed(b, way[0], way[1], load.Check{Kind: load.CheckSequence})
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}
