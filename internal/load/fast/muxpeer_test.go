//go:build linux && (amd64 || arm64)

package fast

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/record/bundle"
	"assay/internal/wire/h2"
)

func TestADrainedConnectionIsClosed(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	c.testStream(l)
	l.arrived(0)
	c.feed([]byte{0, 0, 8, byte(http2.FrameGoAway), 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0})
	l.mux.scan(0)
	if len(l.mux.streams.conns) != 0 || l.mux.all[c.index] != c {
		t.Fatalf("%d connections take streams; closed: %v", len(l.mux.streams.conns), l.mux.all[c.index] == nil)
	}
	l.feedMux(c, muxStream(1))
	l.mux.scan(0)
	if sink.Count != 1 || sink.Result.Outcome != bundle.StreamOK || l.mux.all[c.index] != nil || c.state != muxDead {
		t.Errorf("%d ended, %+v; the connection is in state %d", sink.Count, sink.Result, c.state)
	}
}

// All loops together open as many connections as one, or one more for each where that is no
// whole number.
func TestLoopsShareTheConnections(t *testing.T) {
	l, _ := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	l.plan.Rate = 0
	for _, tt := range []struct{ streams, loops, want int }{
		{100, 1, 1}, {100, 4, 1}, {3000, 1, 3}, {3000, 2, 2}, {3000, 3, 1}, {4000, 2, 2}, {100_000, 1, 4}, {100_000, 2, 2}, {100_000, 8, 1},
	} {
		l.plan.Streams = tt.streams
		if got := newMuxes(l, tt.loops).streams.wanted; got != tt.want {
			t.Errorf("for %d streams, each of %d loops opens %d connections, want %d", tt.streams, tt.loops, got, tt.want)
		}
	}
}

// What waits beside an open connection waits for room on it, and if that takes too long, the reason
// is that no further connection could be opened. One that ends before it takes a request counts
// as not opened.
func TestARequestWithoutRoomKnowsWhyThereIsNoMore(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	c.testStream(l)
	c.most = 1
	for range 2 {
		l.streams.Begin(0)
	}
	p := &l.mux.streams
	s := l.streams.At(p.waiting.Peek().Stream)
	if f := l.Waiting(s, 0); f != nil || p.redial.Pausing(l.clock.now) {
		t.Errorf("before any failure it says %v", f)
	}
	other := newMux(l.mux, p, -1, 2)
	other.index = uint32(len(l.mux.all))
	l.mux.all = append(l.mux.all, other)
	other.feed(h2.AppendSettings(nil, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}))
	other.feed([]byte{0, 0, 8, byte(http2.FrameGoAway), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11})
	if sink.Count != 1 || p.waiting.Len() != 1 || !strings.Contains(sink.Result.Message, "ENHANCE_YOUR_CALM") || !p.redial.Pausing(l.clock.now) {
		t.Fatalf("%d ended, %+v, %d wait", sink.Count, sink.Result, p.waiting.Len())
	}
	l.mux.undialled(p, account.Breach("again"))
	s = l.streams.At(p.waiting.Peek().Stream)
	if f := l.Waiting(s, 0); f == nil || f.Detail != "again" || sink.Count != 1 {
		t.Errorf("it says %v, %d ended", f, sink.Count)
	}
}

func TestWhatIsUnsentGoesWithItsStream(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	i, s := c.testStream(l)
	c.window = 0
	c.send(pending{stream: i, id: 1, window: 10, body: []byte("x")})
	if len(c.pending) != 1 {
		t.Fatal("nothing waits")
	}
	l.Cancel(i, s)
	if len(c.pending) != 0 || sink.Count != 0 {
		t.Errorf("%d wait, %d ended", len(c.pending), sink.Count)
	}
}

func TestASideThatAsksAndReadsNothingIsGivenUp(t *testing.T) {
	ping := h2.Frame{Type: http2.FramePing, Payload: []byte("12345678")}.Append(nil)
	for name, frame := range map[string][]byte{"PING": ping, "SETTINGS": h2.AppendSettings(nil)} {
		t.Run(name, func(t *testing.T) {
			l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
			c := l.testMux()
			c.testStream(l)
			c.stuck, c.out = 1, make([]byte, mostUnread-50*len(frame)) // answers as long as the frames wait already
			for n := 0; c.state == muxOpen && n < 100; n++ {
				if c.feed(frame); n < 40 && c.state != muxOpen {
					t.Errorf("given up after %d frames", n)
				}
			}
			if c.state != muxDead || sink.Result.Outcome != bundle.StreamCorrupt || len(c.out) > mostUnread+100 {
				t.Errorf("state %d, %+v, %d bytes wait", c.state, sink.Result, len(c.out))
			}
		})
	}
}

// The Framer decodes a block before it refuses it, and so adds its fields to the table.
func TestARefusedBlockMakesKnownOnesForgotten(t *testing.T) {
	l, sink := bench(t, load.ProtocolConnect, load.CodecJSON, load.H2C, fiveLines)
	c := l.testMux()
	c.testStream(l)
	good := muxStream(1)
	block := good[h2.HeaderLen : h2.HeaderLen+int(good[2])]
	l.feedMux(c, good)
	if c.heads.find(block) == nil {
		t.Fatal("the block is not known")
	}
	c.feed(headersOf(nil, 1, append([]byte{0x88, 0x40, 1, 'X', 1}, 'y'), false)) // a capital, added
	if c.heads.find(block) != nil || c.state != muxOpen {
		t.Errorf("the block is still known, or the connection is in state %d; %+v", c.state, sink.Result)
	}
}
