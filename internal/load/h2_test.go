package load

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Peer is the other side of an HTTP/2 connection, by hand.
type h2Peer struct {
	c     net.Conn
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
	got   map[uint32]int // bytes of each stream's request
}

func (p *h2Peer) headers(id uint32, last bool, fields ...string) {
	_ = p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(fields...), EndHeaders: true, EndStream: last})
}

func (p *h2Peer) fields(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *h2Peer) head(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/connect+json")
}

// whole answers with a whole stream.
func (p *h2Peer) whole(id uint32) {
	p.head(id)
	_ = p.fr.WriteData(id, true, []byte(startEvent(7)+stdout("1\n2\n3\n")+endEvent(0)+eos))
}

// h2Server speaks HTTP/2 by hand: it sends its settings and calls start for each
// complete request for Start. Others are answered with {}.
func h2Server(t *testing.T, settings []http2.Setting, start func(p *h2Peer, id uint32)) (addr string) {
	t.Helper()
	return listen(t, func(c net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		p := &h2Peer{c: c, fr: http2.NewFramer(c, c), got: map[uint32]int{}}
		p.enc = hpack.NewEncoder(&p.block)
		p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		_ = p.fr.WriteSettings(settings...)
		p.serve(start)
	})
}

func (p *h2Peer) serve(start func(p *h2Peer, id uint32)) {
	paths := map[uint32]string{}
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			paths[f.StreamID] = f.PseudoValue("path")
		case *http2.DataFrame:
			p.got[f.StreamID] += len(f.Data())
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = p.fr.WriteSettingsAck()
			}
		}
		id := f.Header().StreamID
		ended := f.Header().Flags.Has(http2.FlagDataEndStream) && (f.Header().Type == http2.FrameData || f.Header().Type == http2.FrameHeaders)
		switch {
		case !ended:
		case strings.HasSuffix(paths[id], "/Start"):
			start(p, id)
		default:
			p.headers(id, false, ":status", "200", "content-type", "application/json")
			_ = p.fr.WriteData(id, true, []byte("{}"))
		}
	}
}

func overH2(p *Plan) { p.HTTP = H2C }

func TestEveryOutcomeOverHTTP2(t *testing.T) {
	tests := map[string]struct {
		start   func(p *h2Peer, id uint32)
		outcome Outcome
		message string
	}{
		"a whole stream": {(*h2Peer).whole, OK, ""},
		"a stream in padded frames of one byte": {func(p *h2Peer, id uint32) {
			p.head(id)
			for _, b := range []byte(startEvent(7) + stdout("1\n2\n3\n") + endEvent(0) + eos) {
				_ = p.fr.WriteDataPadded(id, false, []byte{b}, make([]byte, 3))
			}
			_ = p.fr.WriteData(id, true, nil)
		}, OK, ""},
		"headers in three frames, after 100 and a ping": {func(p *h2Peer, id uint32) {
			p.headers(id, false, ":status", "100")
			_ = p.fr.WritePing(false, [8]byte{1})
			block := p.fields(":status", "200", "content-type", "application/connect+json")
			_ = p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			_ = p.fr.WriteContinuation(id, false, block[1:3])
			_ = p.fr.WriteContinuation(id, true, block[3:])
			_ = p.fr.WriteData(id, true, []byte(startEvent(7)+stdout("1\n2\n3\n")+endEvent(0)+eos))
		}, OK, ""},
		"RST_STREAM": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.fr.WriteData(id, false, []byte(startEvent(7)))
			_ = p.fr.WriteRSTStream(id, http2.ErrCodeInternal)
		}, Reset, "INTERNAL_ERROR"},
		"a refused stream": {func(p *h2Peer, id uint32) { _ = p.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, Blocked, "REFUSED_STREAM"},
		"GOAWAY before the stream": {func(p *h2Peer, _ uint32) {
			_ = p.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, Reset, "GOAWAY"},
		"GOAWAY after the stream": {func(p *h2Peer, id uint32) {
			_ = p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.whole(id)
		}, OK, ""},
		"a cut connection": {func(p *h2Peer, id uint32) { p.head(id); _ = p.c.Close() }, Reset, "was closed"},
		"silence":          {func(*h2Peer, uint32) {}, Stall, "no start event"},
		"PUSH_PROMISE": {func(p *h2Peer, id uint32) {
			_ = p.fr.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: p.fields(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "x"), EndHeaders: true})
		}, Corrupt, "push is off"},
		"a frame over the limit":            {func(p *h2Peer, _ uint32) { _, _ = p.c.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}) }, Corrupt, "HTTP/2"},
		"DATA of a stream that is not open": {func(p *h2Peer, _ uint32) { _ = p.fr.WriteData(99, false, []byte("x")) }, Corrupt, "stream 99"},
		"DATA before HEADERS":               {func(p *h2Peer, id uint32) { _ = p.fr.WriteData(id, true, []byte("x")) }, Corrupt, "DATA before HEADERS"},
		"a header in capitals":              {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "200", "Bad", "x") }, Corrupt, "HTTP/2"},
		"HTTP 404":                          {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "404") }, ServerError, "HTTP 404"},
		"no end of stream": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.fr.WriteData(id, true, []byte(startEvent(7)+stdout("1\n2\n3\n")+endEvent(0)))
		}, EOSMissing, "no end of stream"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPlan(t, h2Server(t, nil, tt.start), overH2)
			if tt.outcome == Stall {
				p.Limits.FirstEvent = later // it bounds the handshake, too
			}
			c := runPlan(t, t.Context(), p)
			wantOutcomes(t, c, map[Outcome]int64{tt.outcome: 1})
			message := ""
			if len(c.examples) > 0 {
				message = c.examples[0].Message
			}
			if !strings.Contains(message, tt.message) || (message == "") != (tt.message == "") {
				t.Errorf("message %q, want %q in it", message, tt.message)
			}
		})
	}
}

func TestAGatewayWithoutHTTP2IsRefused(t *testing.T) {
	tests := map[string]struct {
		serve   func(net.Conn)
		outcome Outcome
		refused bool
	}{
		"one that speaks HTTP/1.1":    {then("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", hold), ServerError, true},
		"one that hangs up":           {hangUp, Reset, false},
		"one that never says a thing": {hold, AcceptStall, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := testPlan(t, listen(t, tt.serve), overH2)
			if tt.outcome == AcceptStall {
				p.Limits.FirstEvent = soon
			}
			c := newCollector(1)
			refused := ""
			c.refused = func(message string) { refused = message }
			if err := (Portable{}).Run(t.Context(), p, c); err != nil {
				t.Fatal(err)
			}
			wantOutcomes(t, c, map[Outcome]int64{tt.outcome: 1})
			if (refused != "") != tt.refused {
				t.Errorf("refused: %q", refused)
			}
		})
	}
}

func TestTheOtherSidesLimitsAreKept(t *testing.T) {
	t.Run("MAX_CONCURRENT_STREAMS 1 takes a connection for each stream", func(t *testing.T) {
		var open atomic.Int32
		two := make(chan struct{}) // were open at one time
		var once sync.Once
		addr := h2Server(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}}, func(p *h2Peer, id uint32) {
			if open.Add(1) > 1 {
				once.Do(func() { close(two) })
			}
			select {
			case <-two:
			case <-time.After(patience / 2):
				t.Error("one stream is open at a time")
			}
			open.Add(-1)
			p.whole(id)
		})
		c := runPlan(t, t.Context(), testPlan(t, addr, overH2, func(p *Plan) { p.Streams, p.Count = 5, 20 }))
		wantOutcomes(t, c, map[Outcome]int64{OK: 20})
	})
	t.Run("MAX_CONCURRENT_STREAMS 0 blocks, and is said so", mayOpenNone)
	t.Run("a window of zero is waited for, and the request then comes in parts", func(t *testing.T) {
		addr := listen(t, func(c net.Conn) {
			preface := make([]byte, len(http2.ClientPreface))
			if _, err := io.ReadFull(c, preface); err != nil {
				return
			}
			p := &h2Peer{c: c, fr: http2.NewFramer(c, c), got: map[uint32]int{}}
			p.enc = hpack.NewEncoder(&p.block)
			p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
			_ = p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			p.serveByWindow()
		})
		c := runPlan(t, t.Context(), testPlan(t, addr, overH2))
		wantOutcomes(t, c, map[Outcome]int64{OK: 1})
	})
	t.Run("settings that are never acknowledged do no harm", func(t *testing.T) {
		addr := listen(t, func(c net.Conn) {
			fr := http2.NewFramer(c, c)
			if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
				return
			}
			p := &h2Peer{c: c, fr: fr}
			p.enc = hpack.NewEncoder(&p.block)
			_ = fr.WriteSettings()
			for {
				f, err := fr.ReadFrame()
				if err != nil {
					return
				}
				if f.Header().Type == http2.FrameData {
					p.whole(f.Header().StreamID)
				}
			}
		})
		c := runPlan(t, t.Context(), testPlan(t, addr, overH2))
		wantOutcomes(t, c, map[Outcome]int64{OK: 1})
	})
}

// mayOpenNone: the time for a stream that waits for room is told to it, so that none
// need be waited for.
func mayOpenNone(t *testing.T) {
	known := make(chan struct{}, 1)
	addr := listen(t, func(c net.Conn) {
		fr := http2.NewFramer(c, c)
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		for {
			f, err := fr.ReadFrame()
			if err != nil {
				return
			}
			switch s, ok := f.(*http2.SettingsFrame); {
			case ok && s.IsAck():
				known <- struct{}{}
			case f.Header().StreamID != 0:
				t.Errorf("a stream was opened: %v", f)
			}
		}
	})
	p, c := testPlan(t, addr, overH2), newCollector(1)
	r, err := newPortableRun(p, c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.start(0)
	select {
	case <-known:
	case <-time.After(patience):
		t.Fatal("the settings were not acknowledged")
	}
	limit := p.Limits.Connect + p.Limits.FirstEvent
	for _, s := range r.open() {
		if f := s.overdue(limit); f != nil {
			t.Errorf("%v too early", f)
		}
		s.giveUp(s.overdue(limit + 1))
	}
	if !r.ledger.empty(t.Context(), patience) {
		t.Error("it has not ended")
	}
	wantOutcomes(t, c, map[Outcome]int64{Blocked: 1})
}

// serveByWindow lets the other side send 10 bytes at a time, and answers a request
// that came whole; a frame over the window ends the connection.
func (p *h2Peer) serveByWindow() {
	window := 0
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			window = 10
			_ = p.fr.WriteWindowUpdate(f.StreamID, 10)
		case *http2.DataFrame:
			if len(f.Data()) > window {
				_ = p.c.Close()
				return
			}
			if f.StreamEnded() {
				p.whole(f.StreamID)
				continue
			}
			window = 10
			_ = p.fr.WriteWindowUpdate(f.StreamID, 10)
		}
	}
}

func TestALongFieldBlockIsContinued(t *testing.T) {
	block := bytes.Repeat([]byte("x"), 40000)
	p := appendHeaders(nil, 5, block, true)
	var got []byte
	types := []http2.FrameType{}
	for len(p) > 0 {
		n := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
		types = append(types, http2.FrameType(p[3]))
		if id := binary.BigEndian.Uint32(p[5:]); id != 5 {
			t.Errorf("stream %d", id)
		}
		last := len(p) == 9+n
		if ended := p[4]&byte(http2.FlagHeadersEndHeaders) != 0; ended != last {
			t.Errorf("END_HEADERS is %v on frame %d", ended, len(types))
		}
		got = append(got, p[9:9+n]...)
		p = p[9+n:]
	}
	if len(types) != 3 || types[0] != http2.FrameHeaders || types[1] != http2.FrameContinuation || !bytes.Equal(got, block) {
		t.Errorf("frames %v with %d bytes", types, len(got))
	}
}
