package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"assay/internal/target"
)

// nowhere is a sink that keeps nothing.
type nowhere struct{}

var _ Sink = nowhere{}

func (nowhere) Record(int, int, Metric, time.Duration) {}
func (nowhere) Opening()                               {}
func (nowhere) Started()                               {}
func (nowhere) Output(int, int, int)                   {}
func (nowhere) HungUp()                                {}
func (nowhere) Killing()                               {}
func (nowhere) Ended(Result)                           {}
func (nowhere) Coalesced(int)                          {}
func (nowhere) Unstamped(int)                          {}
func (nowhere) ClockStepped(time.Duration)             {}
func (nowhere) Swept(int)                              {}

// fed is a stream that has started, and a function that feeds it the next line
// as the given protocol and codec write it.
func fed(tb testing.TB, protocol, codec string, check Check, sink Sink) (s *stream, next func()) {
	tb.Helper()
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		tb.Fatal(err)
	}
	r := &portableRun{sink: sink, plan: &Plan{Check: check, Dialect: Dialect{Protocol: protocol, Codec: codec, Target: tg}}}
	r.mix = r.plan.Mix()
	s = newStream(r, 0, 0)
	begin, line := startEvent(7), func(i int) string { return stdout(fmt.Sprintf("%d\n", i)) }
	switch {
	case protocol == ProtocolNDJSON:
		begin = `{"type":"start","pid":7}` + "\n"
		line = func(i int) string { return fmt.Sprintf(`{"type":"stdout","data":"%d\n"}`+"\n", i) }
	case codec == CodecProto:
		begin = env(0, "\x0a\x04\x0a\x02\x08\x07")
		line = func(i int) string {
			text := fmt.Sprintf("%d\n", i)
			n := byte(len(text))
			return env(0, string([]byte{0x0a, n + 4, 0x12, n + 2, 0x0a, n})+text)
		}
	}
	s.data([]byte(begin), time.Second)
	if s.pid != 7 {
		tb.Fatalf("the stream has not started: %s", s.wrong)
	}
	var lines [][]byte
	for i := range 1000 {
		lines = append(lines, []byte(line(i)))
	}
	i := 0
	return s, func() {
		if i == len(lines) {
			i = 0
			s.out.seq = sequence{}
		}
		p := lines[i]
		s.data(p[:len(p)/2], time.Second) // cut, as sockets do
		s.data(p[len(p)/2:], time.Second)
		i++
	}
}

func TestAnEventAllocatesNothing(t *testing.T) {
	for _, way := range [][2]string{{ProtocolConnect, CodecJSON}, {ProtocolConnect, CodecProto}, {ProtocolGRPC, CodecProto}, {ProtocolWeb, CodecJSON}, {ProtocolNDJSON, CodecJSON}} {
		for _, check := range []Check{{Kind: CheckSequence}, {Kind: CheckNone}, {Kind: CheckSame}} {
			t.Run(fmt.Sprintf("%s %s, check %d", way[0], way[1], check.Kind), func(t *testing.T) {
				s, next := fed(t, way[0], way[1], check, newCollector(1))
				for range 2000 {
					next()
				}
				if n := testing.AllocsPerRun(2000, next); n != 0 {
					t.Errorf("%v allocations per event", n)
				}
				if s.wrong != "" {
					t.Error(s.wrong)
				}
			})
		}
	}
}

// BenchmarkEvent is what one event of one numbered line costs: framing, decoding,
// comparison, and two recorded values.
func BenchmarkEvent(b *testing.B) {
	for _, way := range [][2]string{{ProtocolConnect, CodecJSON}, {ProtocolConnect, CodecProto}, {ProtocolNDJSON, CodecJSON}} {
		b.Run(way[0]+" "+way[1], func(b *testing.B) {
			_, next := fed(b, way[0], way[1], Check{Kind: CheckSequence}, newCollector(1))
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}

// BenchmarkShortStreams is a whole stream of five lines, over kept connections. The
// server is in the same process and as cheap as one can be; its cost is included.
func BenchmarkShortStreams(b *testing.B) {
	whole := []byte(answerOf(startEvent(7), stdout("1\n"), stdout("2\n"), stdout("3\n"), stdout("4\n"), stdout("5\n"), endEvent(0), eos))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer l.Close()
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { echoWhole(c, whole) })
		}
	})
	tg, err := target.New(target.Options{URL: "http://" + l.Addr().String()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	p := &Plan{
		Addr: l.Addr().String(), HTTP: HTTP11, Streams: 64, Count: b.N, Limits: DefaultLimits(0, 1),
		Check:   Check{Kind: CheckSequence, First: 1, Lines: 5},
		Dialect: Dialect{Protocol: ProtocolConnect, Codec: CodecJSON, Target: tg, Command: "seq 1 5", Run: "bench"},
	}
	c := newCollector(2)
	if err := (Portable{}).Run(b.Context(), p, c); err != nil {
		b.Fatal(err)
	}
	if n := c.snapshot().outcomes[OK]; n != int64(b.N) {
		b.Fatalf("%d of %d streams ended well: %v", n, b.N, c.examples)
	}
}

// echoWhole answers each request, which comes in one piece, with a text.
func echoWhole(c net.Conn, text []byte) {
	defer c.Close()
	buf := make([]byte, 4<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := c.Write(text); err != nil {
			return
		}
	}
}

// BenchmarkHeldStreams measures what a stream that waits costs in memory. The
// server's ends are idle sockets without goroutines and are included (about 0.4 KB each).
func BenchmarkHeldStreams(b *testing.B) {
	const streams = 2000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		held(b, streams, func() {
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
		})
		b.ReportMetric((float64(after.HeapInuse)-float64(before.HeapInuse))/streams, "heap-B/stream")
		b.ReportMetric((float64(after.StackInuse)-float64(before.StackInuse))/streams, "stack-B/stream")
	}
}

// held opens streams that print one line and then wait, and calls look when all have.
func held(b *testing.B, n int, look func()) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var conns []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReaderSize(c, 512)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, streamHead+chunk(startEvent(7)))
			_, _ = io.WriteString(c, chunk(stdout("0\n")))
			conns = append(conns, c)
		}
	})
	tg, err := target.New(target.Options{URL: "http://" + l.Addr().String()})
	if err != nil {
		b.Fatal(err)
	}
	p := &Plan{
		Addr: l.Addr().String(), HTTP: HTTP11, Streams: n, Duration: time.Hour, Limits: DefaultLimits(time.Hour, 1), Endless: true,
		Check:   Check{Kind: CheckSequence},
		Dialect: Dialect{Protocol: ProtocolConnect, Codec: CodecJSON, Target: tg, Run: "bench"},
	}
	r, err := newPortableRun(p, newCollector(2))
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		r.start(0)
	}
	c, _ := r.sink.(*collector)
	for events := int64(0); events < int64(n); events, _, _ = c.hist.counts() {
		time.Sleep(time.Millisecond) // the benchmark looks from outside
	}
	look()
	r.pool.close()
	_ = l.Close()
	serving.Wait()
	for _, c := range conns {
		_ = c.Close()
	}
	r.close()
}
