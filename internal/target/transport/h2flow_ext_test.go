package transport_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

func TestRequestWaitsForRoomAmongTheStreams(t *testing.T) {
	second := make(chan struct{})
	w := h2Server(t, func(p *h2peer) {
		p.settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		first := p.request()
		p.stream(first)
		<-second
		p.f.WriteData(first, true, []byte(envelope(2, "{}")))
		if id := p.request(); id != 3 {
			t.Errorf("the second request is on stream %d", id)
		}
		p.whole(3)
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	first := c.ask(conn)
	c.until(first, "head", func(s bundle.Exchange) bool { return s.Response != nil })
	full, cancel := context.WithCancel(c.ctx)
	cancel()
	never, err := conn.Request(full, startCall(), true)
	if s := c.done(never); !errors.Is(err, context.Canceled) || s.Outcome != bundle.OutcomeNoAnswer || s.Stream != 0 || !strings.Contains(s.Detail, "MAX_CONCURRENT_STREAMS is 1") {
		t.Errorf("a request without room: %v, %s (%s)", err, s.Outcome, s.Detail)
	}
	waiting := make(chan *transport.Exchange)
	go func() { waiting <- c.ask(conn) }()
	close(second)
	if s := c.done(<-waiting); s.Outcome != bundle.OutcomeComplete || s.Stream != 3 {
		t.Errorf("the second: %s (%s) on stream %d", s.Outcome, s.Detail, s.Stream)
	}
	if s := c.done(first); s.Outcome != bundle.OutcomeComplete {
		t.Errorf("the first: %s", s.Outcome)
	}
}

// A peer with a smaller table than the initial one is told its size once, at the beginning of
// the next header block.
func TestASmallerTableIsAgreedTo(t *testing.T) {
	for _, size := range []uint32{0, 4095, 4096} {
		blocks := make(chan []byte, 3)
		w := h2Server(t, func(p *h2peer) {
			p.settings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size})
			for f := p.read(); f != nil; f = p.read() {
				if f, ok := f.(*http2.HeadersFrame); ok {
					blocks <- bytes.Clone(f.HeaderBlockFragment())
				}
				if f.Header().Flags.Has(http2.FlagDataEndStream) && f.Header().Type == http2.FrameData {
					p.whole(f.Header().StreamID)
				}
			}
		})
		c := newClient(t)
		conn := c.open(w)
		for n := range 3 {
			if s := c.done(c.ask(conn)); s.Outcome != bundle.OutcomeComplete {
				t.Fatalf("request %d: %s (%s)", n, s.Outcome, s.Detail)
			}
			block := <-blocks
			if told := block[0] == 0x20; told != (n == 0 && size < 4096) {
				t.Errorf("a table of %d bytes, header block %d begins with %x", size, n, block[:2])
			}
		}
	}
}

func TestRequestToAPeerThatAllowsNoStreamEndsWithItsContext(t *testing.T) {
	w := h2Server(t, func(p *h2peer) {
		p.settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	ctx, cancel := context.WithCancel(c.ctx)
	result := make(chan bundle.Exchange)
	go func() {
		x, _ := conn.Request(ctx, startCall(), true)
		result <- x.Snapshot()
	}()
	cancel()
	if s := <-result; s.Outcome != bundle.OutcomeNoAnswer || !strings.Contains(s.Detail, "MAX_CONCURRENT_STREAMS is 0") {
		t.Errorf("outcome = %s (%s)", s.Outcome, s.Detail)
	}
	go func() {
		x, _ := conn.Request(c.ctx, startCall(), true)
		result <- x.Snapshot()
	}()
	conn.Close("fin")
	if s := <-result; s.Outcome != bundle.OutcomeAborted {
		t.Errorf("after our end: %s (%s)", s.Outcome, s.Detail)
	}
}

func TestBodyIsSentInFramesThatThePeerAllows(t *testing.T) {
	var mu sync.Mutex
	var lengths []uint32
	w := h2Server(t, func(p *h2peer) {
		p.settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20_000})
		for f := p.read(); f != nil; f = p.read() {
			h := f.Header()
			if h.Type != http2.FrameData {
				continue
			}
			mu.Lock()
			lengths = append(lengths, h.Length)
			first := len(lengths) == 1
			mu.Unlock()
			if first {
				p.settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 30_010}) // 30,000 more for the stream
			}
			if h.Flags.Has(http2.FlagDataEndStream) {
				p.headers(h.StreamID, true, ":status", "204")
			}
		}
	})
	c := newClient(t)
	x, err := c.open(w).Request(c.ctx, plainCall(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Data(c.ctx, make([]byte, 30_010), true); err != nil {
		t.Fatal(err)
	}
	s := c.done(x)
	mu.Lock()
	defer mu.Unlock()
	if want := []uint32{10, 20_000, 10_000}; !slices.Equal(lengths, want) || s.Outcome != bundle.OutcomeComplete {
		t.Errorf("frames of %d bytes, want %d; %s", lengths, want, s.Outcome)
	}
}

func TestStreamsShareTheWindowOfTheConnection(t *testing.T) {
	const window = 65_535 // initial window of a connection
	sent := make(chan int, 1)
	w := h2Server(t, func(p *h2peer) {
		p.settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		told := false
		for n, ended := 0, 0; ended < 2; {
			f := p.await(http2.FrameData)
			if f == nil {
				return
			}
			if n += int(f.Header().Length); n >= window && !told {
				told = true
				// After the answer to a PING nothing more can be in flight.
				p.f.WritePing(false, [8]byte{})
				for f := p.read(); f != nil && f.Header().Type != http2.FramePing; f = p.read() {
					n += int(f.Header().Length) * isData(f)
				}
				sent <- n
				p.f.WriteWindowUpdate(0, 1<<20)
			}
			if f.Header().Flags.Has(http2.FlagDataEndStream) {
				p.headers(f.Header().StreamID, true, ":status", "204")
				ended++
			}
		}
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			x, err := conn.Request(c.ctx, plainCall(), false)
			if err != nil {
				t.Error(err)
				return
			}
			if err := x.Data(c.ctx, make([]byte, 50_000), true); err != nil {
				t.Error(err)
			}
			if s := c.done(x); s.Outcome != bundle.OutcomeComplete {
				t.Errorf("outcome = %s (%s)", s.Outcome, s.Detail)
			}
		})
	}
	all.Wait()
	if n := <-sent; n != window {
		t.Errorf("%d bytes were sent within a window of %d", n, window)
	}
}

func isData(f http2.Frame) int {
	if f.Header().Type == http2.FrameData {
		return 1
	}
	return 0
}

func TestDataEndsWithItsContextWhileThereIsNoWindow(t *testing.T) {
	w := h2Server(t, func(p *h2peer) {
		p.settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	x, err := conn.Request(c.ctx, startCall(), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	failed := make(chan error)
	go func() { failed <- x.Data(ctx, []byte("abc"), true) }()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no window") {
		t.Errorf("err = %v", err)
	}
	if err := x.Data(c.ctx, nil, true); err != nil {
		t.Errorf("an empty frame needs no window: %v", err)
	}
	if err := x.Data(c.ctx, []byte("x"), true); !errors.Is(err, transport.ErrStreamEnded) {
		t.Errorf("after END_STREAM: %v", err)
	}
	x.GiveUp(bundle.OutcomeNoAnswer, "deadline")
	if s := c.done(x); s.Outcome != bundle.OutcomeNoAnswer || !conn.Idle() {
		t.Errorf("outcome = %s, idle %t", s.Outcome, conn.Idle())
	}
}

func TestLargeHeaderBlockGoesOnInContinuation(t *testing.T) {
	const size = 40_000
	got := make(chan string, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Big")
		w.Header().Set("Big", r.Header.Get("Big"))
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxReadFrameSize: 16384}
	s.Start()
	t.Cleanup(s.Close)
	c := newClient(t)
	call := plainCall()
	big := strings.Repeat("~", size) // Huffman coding does not shorten it
	call.Headers = []bundle.Header{{Name: "big", Value: big}}
	x, err := c.open(way{s.Listener.Addr().String(), transport.Options{HTTP: transport.H2C}}).Request(c.ctx, call, true)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.done(x); s.Outcome != bundle.OutcomeComplete || len(<-got) != size || len(s.Response.Get("big")[0]) != size {
		t.Errorf("exchange = %s (%s)", s.Outcome, s.Detail)
	}
	conns, _ := c.rec.Finish(nil)
	n := map[string]int{}
	for _, f := range conns[0].H2 {
		n[f.Dir+" "+f.Type]++
	}
	if n["sent CONTINUATION"] == 0 || n["received CONTINUATION"] == 0 {
		t.Errorf("frames = %v", n)
	}
}

func TestSettingsAndPingAreAcknowledgedAndWindowIsGivenBack(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	done := make(chan []string, 1)
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		id := p.request()
		p.headers(id, false, ":status", "200")
		p.f.WritePing(false, [8]byte{1})
		sent, window := 0, 4<<20
		for sent < size {
			for window < 16384 {
				u, ok := p.await(http2.FrameWindowUpdate).(*http2.WindowUpdateFrame)
				if !ok {
					return // the connection has ended
				}
				if u.StreamID == id {
					window += int(u.Increment)
				}
			}
			p.f.WriteData(id, sent+16384 == size, make([]byte, 16384))
			sent += 16384
			window -= 16384
		}
		if !slices.Contains(p.seen, "PING") {
			p.await(http2.FramePing)
		}
		done <- p.seen
		p.drain()
	})
	c := newClient(t)
	x, err := c.open(w).Request(c.ctx, plainCall(), true)
	if err != nil {
		t.Fatal(err)
	}
	s := c.done(x)
	seen := <-done
	if s.Outcome != bundle.OutcomeComplete || s.Response.Body != size || len(x.BodyBytes()) != size {
		t.Errorf("%s (%s), %d bytes", s.Outcome, s.Detail, s.Response.Body)
	}
	for kind, least := range map[string]int{"SETTINGS": 2, "PING": 1, "WINDOW_UPDATE": 3} {
		n := 0
		for _, k := range seen {
			if k == kind {
				n++
			}
		}
		if n < least {
			t.Errorf("%d %s arrived, want at least %d", n, kind, least)
		}
	}
}

// flooding sends so many frames with DATA of 16 KiB on the first request's stream,
// regardless of the window, and answers the second request correctly.
func flooding(t *testing.T, frames int, held <-chan struct{}) way {
	return h2Server(t, func(p *h2peer) {
		p.settings()
		id := p.request()
		p.headers(id, false, ":status", "200")
		<-held
		for range frames {
			p.f.WriteData(id, false, make([]byte, 16384))
		}
		if second := p.request(); second != 0 {
			p.whole(second)
		}
		for f := p.await(http2.FrameWindowUpdate); f != nil; f = p.await(http2.FrameWindowUpdate) {
			if f.Header().StreamID == id {
				p.f.WriteData(id, true, nil)
			}
		}
	})
}

func TestStreamThatIsHeldMayUseItsWindowAndNoMore(t *testing.T) {
	t.Parallel()
	const window = 4 << 20 / 16384
	for name, tt := range map[string]struct {
		frames  int
		outcome bundle.Outcome
	}{"the whole window": {window, ""}, "more than the window": {window + 1, bundle.OutcomeGarbage}} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t)
			held := make(chan struct{})
			conn := c.open(flooding(t, tt.frames, held))
			x, err := conn.Request(c.ctx, plainCall(), true)
			if err != nil {
				t.Fatal(err)
			}
			c.until(x, "head", func(s bundle.Exchange) bool { return s.Response != nil })
			x.Hold(true)
			close(held)
			if s := c.done(c.ask(conn)); s.Outcome != bundle.OutcomeComplete {
				t.Errorf("another stream: %s (%s)", s.Outcome, s.Detail)
			}
			s := x.Snapshot()
			if s.Outcome != tt.outcome || (violations(s) == "http2.flow-control") != (tt.outcome != "") {
				t.Errorf("outcome = %q (%s), violations %q", s.Outcome, s.Detail, violations(s))
			}
			x.Hold(false)
			if s = c.done(x); tt.outcome == "" && (s.Outcome != bundle.OutcomeComplete || s.Response.Body != window*16384) {
				t.Errorf("after Hold: %s (%s), %d bytes", s.Outcome, s.Detail, s.Response.Body)
			}
		})
	}
}
