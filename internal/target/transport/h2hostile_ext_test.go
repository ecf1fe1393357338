package transport_test

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// after answers requests with fn, one after another, and then reads to the end.
func after(fn func(p *h2peer, id uint32)) func(p *h2peer) {
	return func(p *h2peer) {
		p.settings()
		if id := p.request(); id != 0 {
			fn(p, id)
		}
		p.drain()
	}
}

func raw(kind http2.FrameType, flags http2.Flags, id uint32, payload string) func(p *h2peer, id uint32) {
	return func(p *h2peer, _ uint32) { p.f.WriteRawFrame(kind, flags, id, []byte(payload)) }
}

func head(end bool, fields ...string) func(p *h2peer, id uint32) {
	return func(p *h2peer, id uint32) { p.headers(id, end, fields...) }
}

// A peer that violates HTTP/2 ends in garbage, and the violation names the breach.
func TestBreachOfHTTP2IsNamed(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a", 30_000)
	tests := []struct {
		name string
		kind string
		do   func(p *h2peer, id uint32)
	}{
		{"a frame over the limit", "http2.frame-size", func(p *h2peer, id uint32) { p.stream(id); p.f.WriteData(id, false, make([]byte, 16385)) }},
		{"PING of 7 bytes", "http2.frame-size", raw(http2.FramePing, 0, 0, "1234567")},
		{"RST_STREAM of 3 bytes", "http2.frame-size", raw(http2.FrameRSTStream, 0, 1, "123")},
		{"SETTINGS of 5 bytes", "http2.frame-size", raw(http2.FrameSettings, 0, 0, "12345")},
		{"WINDOW_UPDATE of 5 bytes", "http2.frame-size", raw(http2.FrameWindowUpdate, 0, 0, "12345")},
		{"DATA with padding beyond its end", "http2.protocol", func(p *h2peer, id uint32) {
			p.stream(id)
			p.f.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, id, []byte("\x09ab"))
		}},
		{"DATA on stream 0", "http2.protocol", raw(http2.FrameData, 0, 0, "x")},
		{"SETTINGS on a stream", "http2.protocol", raw(http2.FrameSettings, 0, 1, "")},
		{"PING on a stream", "http2.protocol", raw(http2.FramePing, 0, 1, "12345678")},
		{"GOAWAY on a stream", "http2.protocol", raw(http2.FrameGoAway, 0, 1, "12345678")},
		{"DATA on an idle stream", "http2.idle-stream", raw(http2.FrameData, 0, 99, "x")},
		{"HEADERS on an even stream", "http2.idle-stream", func(p *h2peer, _ uint32) { p.headers(2, true, ":status", "200") }},
		{"RST_STREAM on an idle stream", "http2.idle-stream", raw(http2.FrameRSTStream, 0, 99, "\x00\x00\x00\x08")},
		{"WINDOW_UPDATE on an idle stream", "http2.idle-stream", raw(http2.FrameWindowUpdate, 0, 99, "\x00\x00\x00\x08")},
		{"WINDOW_UPDATE by 0 on the connection", "http2.window-increment", raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00")},
		{"WINDOW_UPDATE by 0 on the stream", "http2.window-increment", raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x00")},
		{"a window above 2^31-1 on the connection", "http2.flow-control", raw(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff")},
		{"a window above 2^31-1 on the stream", "http2.flow-control", raw(http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff")},
		{"INITIAL_WINDOW_SIZE of 2^31", "http2.settings", raw(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00")},
		{"MAX_FRAME_SIZE of 1", "http2.settings", func(p *h2peer, _ uint32) { p.settings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }},
		{"ENABLE_PUSH from a server", "http2.settings", func(p *h2peer, _ uint32) { p.settings(http2.Setting{ID: http2.SettingEnablePush, Val: 1}) }},
		{"PUSH_PROMISE", "http2.push", func(p *h2peer, id uint32) {
			p.f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true, BlockFragment: p.block(":method", "GET")})
		}},
		{"CONTINUATION alone", "http2.continuation", raw(http2.FrameContinuation, 0, 1, "x")},
		{"an interrupted block", "http2.continuation", func(p *h2peer, id uint32) {
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(":status", "200")})
			p.f.WritePing(false, [8]byte{})
		}},
		{"a block that is not HPACK", "http2.header-compression", raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\xff\xff\xff\xff\xff\xff")},
		{"a truncated block", "http2.header-compression", raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\x40\x05ab")},
		{"HEADERS without :status", "http2.pseudo-header", head(true, "content-type", "text/plain")},
		{"two :status", "http2.pseudo-header", head(true, ":status", "200", ":status", "200")},
		{"a :status of two digits", "http2.pseudo-header", head(true, ":status", "20")},
		{"a :status of letters", "http2.pseudo-header", head(true, ":status", "abc")},
		{"a pseudo field of requests", "http2.pseudo-header", head(true, ":status", "200", ":path", "/")},
		{":status after a regular field", "http2.pseudo-header", head(true, "a", "b", ":status", "200")},
		{"an upper-case name", "http2.field-name", head(true, ":status", "200", "Content-Type", "text/plain")},
		{"a name with a space", "http2.field-name", head(true, ":status", "200", "a b", "c")},
		{"a value with a line break", "http2.field-value", head(true, ":status", "200", "a", "b\r\nc")},
		{"a value with a space at its end", "http2.field-value", head(true, ":status", "200", "a", "b ")},
		{"transfer-encoding", "http2.connection-header", head(true, ":status", "200", "transfer-encoding", "chunked")},
		{"connection", "http2.connection-header", head(true, ":status", "200", "connection", "close")},
		{"trailers without END_STREAM", "http2.trailers", func(p *h2peer, id uint32) { p.stream(id); p.headers(id, false, "a", "b") }},
		{"a pseudo field in trailers", "http2.pseudo-header", func(p *h2peer, id uint32) { p.stream(id); p.headers(id, true, ":status", "200") }},
		{"DATA before HEADERS", "http2.order", raw(http2.FrameData, 0, 1, "x")},
		{"a 100 that ends the stream", "http2.order", head(true, ":status", "100")},
		{"more DATA than content-length", "http2.content-length", func(p *h2peer, id uint32) {
			p.headers(id, false, ":status", "200", "content-length", "2")
			p.f.WriteData(id, false, []byte("abc"))
		}},
		{"less DATA than content-length", "http2.content-length", func(p *h2peer, id uint32) {
			p.headers(id, false, ":status", "200", "content-length", "4")
			p.f.WriteData(id, true, []byte("abc"))
		}},
		{"two different content-lengths", "http2.content-length", head(false, ":status", "200", "content-length", "4", "content-length", "5")},
		{"a header list over the limit", "http2.header-over-limit", func(p *h2peer, id uint32) {
			block := p.block(":status", "200", "a", big, "b", big, "c", big)
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, BlockFragment: block[:16000]})
			for block = block[16000:]; len(block) > 16000; block = block[16000:] {
				p.f.WriteContinuation(id, false, block[:16000])
			}
			p.f.WriteContinuation(id, true, block)
		}},
		{"a field over the limit", "http2.header-over-limit", func(p *h2peer, id uint32) {
			block := p.block(":status", "200", "a", strings.Repeat("~", 70_000))
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, BlockFragment: block[:16000]})
			for block = block[16000:]; len(block) > 16000; block = block[16000:] {
				p.f.WriteContinuation(id, false, block[:16000])
			}
			p.f.WriteContinuation(id, true, block)
		}},
		{"a header bomb", "http2.header-over-limit", func(p *h2peer, id uint32) {
			bomb := p.block(":status", "200", "bomb", strings.Repeat("x", 3000))
			index := p.block("bomb", strings.Repeat("x", 3000)) // from the table now
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: true, EndHeaders: true, BlockFragment: append(bomb, bytes.Repeat(index, 8000)...)})
		}},
		{"endless CONTINUATION", "http2.continuation", func(p *h2peer, id uint32) {
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(":status", "200")})
			for p.f.WriteContinuation(id, false, p.block("a", "b")) == nil {
			}
		}},
		{"endless empty CONTINUATION", "http2.continuation", func(p *h2peer, id uint32) {
			p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(":status", "200")})
			for p.f.WriteContinuation(id, false, nil) == nil {
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			conn := c.open(h2Server(t, after(tt.do)))
			c.done(c.ask(conn))
			conns, xs := c.rec.Finish(nil)
			x := xs[0]
			if x.Outcome != bundle.OutcomeGarbage || x.Detail == "" || x.Returned == nil {
				t.Errorf("outcome = %s (%s), want garbage", x.Outcome, x.Detail)
			}
			if len(x.Violations) == 0 || x.Violations[0].Kind != tt.kind || x.Violations[0].Off == 0 || x.Violations[0].In != "http" {
				t.Errorf("violations = %+v, want %s", x.Violations, tt.kind)
			}
			if n := len(conns[0].H2); n > 4096 {
				t.Errorf("%d frames are recorded", n)
			}
		})
	}
}

// An end of the stream or the connection that does not violate HTTP/2 is named too.
func TestEndOfAStreamOrConnectionIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		serve   func(p *h2peer)
		outcome bundle.Outcome
		detail  string
	}{
		{"GOAWAY at once", func(p *h2peer) { p.settings(); p.f.WriteGoAway(0, http2.ErrCodeNo, []byte("bye")); p.drain() },
			bundle.OutcomeClosed, `GOAWAY`},
		{"GOAWAY below the stream", after(func(p *h2peer, _ uint32) { p.f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("bye")) }),
			bundle.OutcomeClosed, `refused the stream with GOAWAY (last stream 0, ENHANCE_YOUR_CALM "bye")`},
		{"GOAWAY in mid-stream, then the end of the connection", after(func(p *h2peer, id uint32) {
			p.stream(id)
			p.f.WriteGoAway(id, http2.ErrCodeInternal, nil)
			p.c.Close()
		}), bundle.OutcomeClosed, "after GOAWAY (last stream 1, INTERNAL_ERROR)"},
		{"GOAWAY that lets the stream end", after(func(p *h2peer, id uint32) { p.f.WriteGoAway(id, http2.ErrCodeNo, nil); p.whole(id) }),
			bundle.OutcomeComplete, ""},
		{"RST_STREAM before an answer", after(func(p *h2peer, id uint32) { p.f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }),
			bundle.OutcomeReset, "(REFUSED_STREAM) before any answer"},
		{"RST_STREAM in mid-stream", after(func(p *h2peer, id uint32) {
			p.stream(id)
			p.f.WriteData(id, false, []byte(envelope(0, startEvent)))
			p.f.WriteRSTStream(id, http2.ErrCodeCancel)
		}), bundle.OutcomeReset, "(CANCEL) after"},
		{"RST_STREAM with an unknown code", after(func(p *h2peer, id uint32) { p.f.WriteRSTStream(id, 0xbeef) }),
			bundle.OutcomeReset, "(0xbeef)"},
		{"RST_STREAM with NO_ERROR before the end", after(func(p *h2peer, id uint32) { p.stream(id); p.f.WriteRSTStream(id, http2.ErrCodeNo) }),
			bundle.OutcomeReset, "(NO_ERROR)"},
		{"RST_STREAM with NO_ERROR after a complete answer", func(p *h2peer) {
			p.settings()
			p.await(http2.FrameHeaders)
			p.whole(1)
			p.f.WriteRSTStream(1, http2.ErrCodeNo)
			p.drain()
		}, bundle.OutcomeComplete, ""},
		{"the connection is closed in mid-stream", after(func(p *h2peer, id uint32) { p.stream(id); p.c.CloseWrite() }),
			bundle.OutcomeClosed, "closed the connection after 0 body bytes"},
		{"the connection is closed in a frame", after(func(p *h2peer, id uint32) { p.stream(id); p.c.Write([]byte{0, 0, 9, 0}); p.c.CloseWrite() }),
			bundle.OutcomeClosed, "closed the connection"},
		{"the connection is reset", after(func(p *h2peer, _ uint32) { p.c.SetLinger(0); p.c.Close() }),
			bundle.OutcomeReset, "reset the connection"},
		{"SETTINGS are never acknowledged", func(p *h2peer) {
			p.settings()
			for f, err := p.f.ReadFrame(); err == nil; f, err = p.f.ReadFrame() {
				if f.Header().Type == http2.FrameData {
					p.whole(1)
				}
			}
		}, bundle.OutcomeComplete, ""},
		{"HTTP/1.1 answers", func(p *h2peer) { p.c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); p.c.Close() },
			bundle.OutcomeGarbage, "answers HTTP/1"},
		{"no SETTINGS but an acknowledgement", func(p *h2peer) { p.f.WriteSettingsAck(); p.drain() },
			bundle.OutcomeGarbage, "begins with an acknowledgement"},
		{"no SETTINGS but something else", func(p *h2peer) { p.f.WritePing(false, [8]byte{}); p.drain() },
			bundle.OutcomeGarbage, "begins with PING"},
		{"garbage", func(p *h2peer) { p.c.Write([]byte("220 smtp ready and more than nine bytes\r\n")); p.drain() },
			bundle.OutcomeGarbage, "does not begin with SETTINGS"},
		{"zeros", func(p *h2peer) { p.c.Write(make([]byte, 64)); p.drain() },
			bundle.OutcomeGarbage, "begins with DATA"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t)
			conn := c.open(h2Server(t, tt.serve))
			x := c.done(c.ask(conn))
			if x.Outcome != tt.outcome || !strings.Contains(x.Detail, tt.detail) {
				t.Errorf("outcome = %s (%s), want %s with %q", x.Outcome, x.Detail, tt.outcome, tt.detail)
			}
			if x.Outcome == bundle.OutcomeComplete && kinds(x) != "start end" {
				t.Errorf("events = %q", kinds(x))
			}
		})
	}
}

// Every error code is reported by its name.
func TestCodeOfRSTStreamIsInTheDetail(t *testing.T) {
	for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
		c := newClient(t)
		x := c.done(c.ask(c.open(h2Server(t, after(func(p *h2peer, id uint32) { p.f.WriteRSTStream(id, code) })))))
		if x.Outcome != bundle.OutcomeReset || !strings.Contains(x.Detail, "("+code.String()+")") {
			t.Errorf("%s: outcome = %s (%s)", code, x.Outcome, x.Detail)
		}
	}
}

// A frame after a stream's end is reported, and harms no other stream.
func TestFrameAfterTheEndOfItsStreamIsReported(t *testing.T) {
	next := make(chan struct{})
	w := h2Server(t, func(p *h2peer) {
		p.settings()
		p.whole(p.request())
		p.f.WriteData(1, true, []byte("late"))
		p.headers(1, true, "late", "yes")
		p.whole(p.request())
		close(next)
		p.drain()
	})
	c := newClient(t)
	conn := c.open(w)
	first := c.ask(conn)
	c.done(first)
	second := c.done(c.ask(conn))
	<-next
	if got := violations(first.Snapshot()); got != "http2.closed-stream http2.closed-stream" {
		t.Errorf("violations = %q", got)
	}
	if second.Outcome != bundle.OutcomeComplete || len(second.Violations) > 0 {
		t.Errorf("the next one: %s %+v", second.Outcome, second.Violations)
	}
}

// A connection on which a peer only keeps us busy is given up, and takes little memory.
func TestABusyPeerIsLeftUnread(t *testing.T) {
	tests := []struct {
		name  string
		serve func(p *h2peer, id uint32)
	}{
		{"PING flood without reading", func(p *h2peer, _ uint32) {
			ping := bytes.Repeat([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"), 1000)
			for {
				if _, err := p.c.Write(ping); err != nil {
					return
				}
			}
		}},
		{"SETTINGS flood without reading", func(p *h2peer, _ uint32) {
			for {
				if _, err := p.c.Write(bytes.Repeat([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), 1000)); err != nil {
					return
				}
			}
		}},
		{"endless padding", func(p *h2peer, id uint32) {
			p.stream(id)
			for window := 4 << 20; p.f.WriteDataPadded(id, false, nil, make([]byte, 255)) == nil; window -= 256 {
				for window < 512 { // padding counts for flow control, which this peer respects
					f, ok := p.await(http2.FrameWindowUpdate).(*http2.WindowUpdateFrame)
					if !ok {
						return
					}
					if f.StreamID == id {
						window += int(f.Increment)
					}
				}
			}
		}},
		{"endless empty DATA", func(p *h2peer, id uint32) {
			p.stream(id)
			for p.f.WriteData(id, false, nil) == nil {
			}
		}},
		{"endless 103", func(p *h2peer, id uint32) {
			for {
				if p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, BlockFragment: p.block(":status", "103")}) != nil {
					return
				}
			}
		}},
		{"endless frames of unknown types", func(p *h2peer, _ uint32) {
			for p.f.WriteRawFrame(0x42, 0, 0, []byte("x")) == nil {
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			c := newClient(t)
			conn := c.open(h2Server(t, after(tt.serve)))
			x := c.ask(conn)
			c.done(x)
			conns, xs := c.rec.Finish(nil)
			runtime.GC()
			runtime.ReadMemStats(&now)
			if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("%d MiB are kept", grown>>20)
			}
			if xs[0].Outcome != bundle.OutcomeAborted || xs[0].Unread != "the connection has more than 50000 frames without content" || len(conns[0].H2) > 4096 {
				t.Errorf("outcome = %s, unread %q, %d frames", xs[0].Outcome, xs[0].Unread, len(conns[0].H2))
			}
			runtime.KeepAlive(conns)
		})
	}
}

// Once several responses were left unread, a connection is read less far.
func TestTheNextBusyPeersAreLeftSooner(t *testing.T) {
	t.Parallel()
	memory := transport.NewMemory(64 << 20)
	var unread string
	for range 4 {
		c := newClient(t)
		c.rec.Within(memory)
		c.done(c.ask(c.open(h2Server(t, after(func(p *h2peer, id uint32) {
			p.stream(id)
			for p.f.WriteData(id, false, nil) == nil {
			}
		})))))
		_, xs := c.rec.Finish(nil)
		unread = xs[0].Unread
	}
	if unread != "the connection has more than 5000 frames without content" {
		t.Errorf("the fourth says %q", unread)
	}
}

func TestPeerThatNeverSendsSettingsIsGoneOnWith(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	x := c.ask(c.open(h2Server(t, func(p *h2peer) { io.Copy(io.Discard, p.c) })))
	if s := x.Snapshot(); s.Outcome != "" || s.Sent == nil {
		t.Errorf("the request was not sent: %+v", s)
	}
	x.GiveUp(bundle.OutcomeNoAnswer, "deadline")
	if s := c.done(x); s.Outcome != bundle.OutcomeNoAnswer {
		t.Errorf("outcome = %s", s.Outcome)
	}
}
