package account

import (
	"fmt"
	"testing"
	"unsafe"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

func TestAStreamTakesAtMost128Bytes(t *testing.T) {
	if n := unsafe.Sizeof(Stream{}); n > 128 {
		t.Errorf("%d bytes", n)
	}
}

// goodBody returns the body of a response of five lines.
func goodBody() []byte {
	body := []byte(loadtest.StartEvent(7))
	for n := 1; n <= 5; n++ {
		body = append(body, loadtest.Stdout(fmt.Sprintf("%d\n", n))...)
	}
	return append(body, loadtest.EndEvent(0)+loadtest.EOS...)
}

func TestAWholeStreamAllocatesNothing(t *testing.T) {
	fields := []wire.Field{{Name: "Content-Type", Value: "application/connect+json"}}
	for _, check := range []load.Check{{Kind: load.CheckSequence, First: 1, Lines: 5}, {}, {Kind: load.CheckSame}} {
		sink := &loadtest.Last{}
		p := plan(t, load.ProtocolConnect, load.CodecJSON, check)
		p.Count, p.Rate = 0, 1 // no stream replaces another
		f := conduct(p, sink)
		if !f.PlainHead(0, 200, fields) {
			t.Fatal("the head is not plain")
		}
		body := goodBody()
		n := 0
		next := func() {
			f.opened = f.opened[:0]
			i, s := f.begin()
			f.GoodHead(s) // as a driver reports a head that PlainHead has accepted
			f.feed(i, s, body, 1+n%len(body))
			f.End(i, s, nil)
			n++
		}
		for range 2 * len(body) {
			if next(); sink.Result.Outcome != bundle.StreamOK {
				t.Fatalf("check %v, in pieces of %d: %+v", check.Kind, 1+(n-1)%len(body), sink.Result)
			}
		}
		if got := testing.AllocsPerRun(1000, next); got != 0 {
			t.Errorf("check %v: %v allocations per stream", check.Kind, got)
		}
		if sink.Count != n || f.entries.Live() != 0 || len(f.extras) != 0 {
			t.Errorf("%d of %d ended, %d live, %d extras", sink.Count, n, f.entries.Live(), len(f.extras))
		}
	}
}

// fed returns a driver with a started stream, and a function that feeds the next line to it
// in two pieces.
func fed(tb testing.TB, protocol, codec string, check load.Check) (*fake, func()) {
	tb.Helper()
	f := conduct(plan(tb, protocol, codec, check), &loadtest.Last{})
	i, s := f.begin()
	begin, line := loadtest.StartEvent(7), func(n int) string { return loadtest.Stdout(fmt.Sprintf("%d\n", n)) }
	switch {
	case protocol == load.ProtocolWS:
		f.Head(i, s, 101, f.switchFields(s))
		begin = loadtest.Frame(wire.WSPing, "")
		line = func(n int) string { return loadtest.Out(fmt.Sprintf("%d\n", n)) + loadtest.Frame(wire.WSPing, "p") }
	case protocol == load.ProtocolNDJSON:
		begin = `{"type":"start","pid":7}` + "\n"
		line = func(n int) string { return fmt.Sprintf(`{"type":"stdout","data":"%d\n"}`+"\n", n) }
	case codec == load.CodecProto:
		begin = loadtest.Env(0, "\x0a\x04\x0a\x02\x08\x07")
		line = func(n int) string {
			text := fmt.Sprintf("%d\n", n)
			size := byte(len(text))
			return loadtest.Env(0, string([]byte{0x0a, size + 4, 0x12, size + 2, 0x0a, size})+text)
		}
	}
	f.feed(i, s, []byte(begin), len(begin))
	if s.pid == 0 {
		tb.Fatal("the stream has not started")
	}
	var lines [][]byte
	for n := range 1000 {
		lines = append(lines, []byte(line(n)))
	}
	n := 0
	return f, func() {
		if n == len(lines) {
			n, s.next, s.at, s.lines = 0, 0, 0, 0
		}
		p := lines[n]
		f.feed(i, s, p, (len(p)+1)/2)
		n++
	}
}

func TestAnEventAllocatesNothing(t *testing.T) {
	for _, way := range [][2]string{
		{load.ProtocolConnect, load.CodecJSON}, {load.ProtocolConnect, load.CodecProto}, {load.ProtocolGRPC, load.CodecProto},
		{load.ProtocolWeb, load.CodecJSON}, {load.ProtocolNDJSON, load.CodecJSON},
		{load.ProtocolWS, load.CodecJSON},
	} {
		for _, check := range []load.Check{{Kind: load.CheckSequence}, {Kind: load.CheckNone}, {Kind: load.CheckSame}} {
			t.Run(fmt.Sprintf("%s %s, check %d", way[0], way[1], check.Kind), func(t *testing.T) {
				f, next := fed(t, way[0], way[1], check)
				for range 2000 {
					next()
				}
				if n := testing.AllocsPerRun(2000, next); n != 0 {
					t.Errorf("%v allocations per event", n)
				}
				for _, x := range f.extras {
					if x.wrong != "" {
						t.Error(x.wrong)
					}
				}
			})
		}
	}
}

// BenchmarkEvent measures the cost of one event of one numbered line.
func BenchmarkEvent(b *testing.B) {
	for _, way := range [][2]string{{load.ProtocolConnect, load.CodecJSON}, {load.ProtocolConnect, load.CodecProto}, {load.ProtocolNDJSON, load.CodecJSON}, {load.ProtocolWS, load.CodecJSON}} {
		b.Run(way[0]+" "+way[1], func(b *testing.B) {
			_, next := fed(b, way[0], way[1], load.Check{Kind: load.CheckSequence})
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}
