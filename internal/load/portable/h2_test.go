package portable_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/load"
	"assay/internal/load/loadtest"
	"assay/internal/record/bundle"
)

// h2Peer is a scripted peer of an HTTP/2 connection.
type h2Peer struct {
	*http2.Framer

	c     net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
}

// headers sends a header block.
func (p *h2Peer) headers(id uint32, last bool, fields ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(fields...), EndHeaders: true, EndStream: last})
}

// fields encodes a header block.
func (p *h2Peer) fields(fields ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *h2Peer) head(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/connect+json", "date", "today")
}

// h2Body is the body of a complete response.
var h2Body = []byte(loadtest.StartEvent(7) + loadtest.Stdout("1\n") + loadtest.Stdout("2\n") + loadtest.Stdout("3\n") + loadtest.EndEvent(0) + loadtest.EOS)

// whole sends a complete response.
func (p *h2Peer) whole(id uint32) {
	p.head(id)
	_ = p.WriteData(id, true, h2Body)
}

// h2Server is a scripted HTTP/2 server: it sends its settings and calls start for each
// complete request for Start. The response to any other request is {}.
func h2Server(t *testing.T, settings []http2.Setting, start func(p *h2Peer, id uint32), way ...loadtest.Way) (addr string) {
	t.Helper()
	return loadtest.Listen(t, h2Script(settings, start), way...)
}

// h2Script is what h2Server does on a connection.
func h2Script(settings []http2.Setting, start func(p *h2Peer, id uint32)) func(c net.Conn) {
	return func(c net.Conn) {
		if p := greet(c, settings...); p != nil {
			p.serve(settings, start)
		}
	}
}

// greet reads the preface of a client and sends the settings of the server; nil is no HTTP/2.
func greet(c net.Conn, settings ...http2.Setting) *h2Peer {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return nil
	}
	p := &h2Peer{Framer: http2.NewFramer(c, c), c: c}
	p.enc = hpack.NewEncoder(&p.block)
	_ = p.WriteSettings(settings...)
	return p
}

func (p *h2Peer) serve(settings []http2.Setting, start func(p *h2Peer, id uint32)) {
	// Like nghttp2, it requires a table size update if its table is smaller than the default.
	smaller := slices.ContainsFunc(settings, func(s http2.Setting) bool { return s.ID == http2.SettingHeaderTableSize && s.Val < 4096 })
	acknowledged := false
	dec, paths := hpack.NewDecoder(4096, nil), map[uint32]string{}
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return
		}
		ended := false
		switch f := f.(type) {
		case *http2.SettingsFrame:
			acknowledged = acknowledged || f.IsAck()
			if !f.IsAck() {
				_ = p.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			smaller = smaller && f.HeaderBlockFragment()[0]&0xe0 != 0x20
			if smaller && acknowledged {
				_ = p.WriteGoAway(0, http2.ErrCodeCompression, nil)
				return
			}
			fields, _ := dec.DecodeFull(f.HeaderBlockFragment())
			for _, h := range fields {
				if h.Name == ":path" {
					paths[f.StreamID] = h.Value
				}
			}
			ended = f.StreamEnded()
		case *http2.DataFrame:
			ended = f.StreamEnded()
		}
		id := f.Header().StreamID
		switch {
		case !ended:
		case strings.HasSuffix(paths[id], "/Start"):
			start(p, id)
		default:
			p.headers(id, false, ":status", "200", "content-type", "application/json")
			_ = p.WriteData(id, true, []byte("{}"))
		}
	}
}

func overH2(p *load.Plan) { p.HTTP = load.H2C }

func TestEveryOutcomeOverHTTP2(t *testing.T) {
	tests := map[string]struct {
		start   func(p *h2Peer, id uint32)
		outcome bundle.StreamOutcome
		message string
	}{
		"a whole stream": {(*h2Peer).whole, bundle.StreamOK, ""},
		"the end in a separate frame": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteData(id, false, h2Body)
			_ = p.WriteData(id, true, nil)
		}, bundle.StreamOK, ""},
		"padded frames of one byte": {func(p *h2Peer, id uint32) {
			p.head(id)
			for _, b := range h2Body {
				_ = p.WriteDataPadded(id, false, []byte{b}, make([]byte, 3))
			}
			_ = p.WriteData(id, true, nil)
		}, bundle.StreamOK, ""},
		"much padding": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteDataPadded(id, true, h2Body, make([]byte, 200))
		}, bundle.StreamOK, ""},
		"padding that is too long": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, id, []byte{9, 1})
		}, bundle.StreamCorrupt, "HTTP/2"},
		"headers in three frames, after 100 and a ping": {func(p *h2Peer, id uint32) {
			p.headers(id, false, ":status", "100")
			_ = p.WritePing(false, [8]byte{1})
			block := p.fields(":status", "200", "content-type", "application/connect+json")
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			_ = p.WriteContinuation(id, false, block[1:3])
			_ = p.WriteContinuation(id, true, block[3:])
			_ = p.WriteData(id, true, h2Body)
		}, bundle.StreamOK, ""},
		"headers that are cut by another frame": {func(p *h2Peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			_ = p.WritePing(false, [8]byte{})
		}, bundle.StreamCorrupt, "HTTP/2"},
		"endless headers": {func(p *h2Peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			for range 50 {
				if p.WriteContinuation(id, false, bytes.Repeat(hpack.AppendHuffmanString(nil, "aaaaaaaa"), 1000)) != nil {
					return
				}
			}
		}, bundle.StreamCorrupt, "HTTP/2"},
		"broken headers": {func(p *h2Peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, EndHeaders: true})
		}, bundle.StreamCorrupt, "HTTP/2"},
		"a header in capitals": {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "200", "Bad", "x") }, bundle.StreamCorrupt, "HTTP/2"},
		"an interim response": {func(p *h2Peer, id uint32) {
			p.headers(id, false, ":status", "103", "link", "</x>")
			p.whole(id)
		}, bundle.StreamOK, ""},
		"DATA before HEADERS": {func(p *h2Peer, id uint32) { _ = p.WriteData(id, true, h2Body) }, bundle.StreamCorrupt, "DATA before HEADERS"},
		"trailers": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteData(id, false, h2Body)
			p.headers(id, true, "x-checksum", "1")
		}, bundle.StreamCorrupt, "HTTP trailers"},
		"trailers that do not end": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteData(id, false, h2Body)
			p.headers(id, false, "x-checksum", "1")
			_ = p.WriteData(id, true, nil)
		}, bundle.StreamCorrupt, "trailers without END_STREAM"},
		"HTTP 503": {func(p *h2Peer, id uint32) {
			p.headers(id, false, ":status", "503")
			_ = p.WriteData(id, true, []byte("busy"))
		}, bundle.StreamServerError, "HTTP 503"},
		"HTTP 404": {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "404") }, bundle.StreamServerError, "HTTP 404"},
		"RST_STREAM": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteData(id, false, []byte(loadtest.StartEvent(7)))
			_ = p.WriteRSTStream(id, http2.ErrCodeInternal)
		}, bundle.StreamReset, "INTERNAL_ERROR"},
		"a refused stream":         {func(p *h2Peer, id uint32) { _ = p.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, bundle.StreamReset, "REFUSED_STREAM"},
		"GOAWAY before the stream": {func(p *h2Peer, _ uint32) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) }, bundle.StreamReset, "GOAWAY"},
		"GOAWAY after the stream": {func(p *h2Peer, id uint32) {
			_ = p.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.whole(id)
		}, bundle.StreamOK, ""},
		"PUSH_PROMISE": {func(p *h2Peer, id uint32) {
			_ = p.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: p.fields(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "x"), EndHeaders: true})
		}, bundle.StreamCorrupt, "push is off"},
		"DATA of a stream that is not open": {func(p *h2Peer, _ uint32) { _ = p.WriteData(99, false, []byte("x")) }, bundle.StreamCorrupt, "stream 99"},
		"DATA on stream 0":                  {func(p *h2Peer, _ uint32) { _ = p.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")) }, bundle.StreamCorrupt, "HTTP/2"},
		"a window beyond 2^31": {func(p *h2Peer, id uint32) {
			_ = p.WriteWindowUpdate(0, 1<<31-1)
			p.whole(id)
		}, bundle.StreamCorrupt, "window grows beyond"},
		"a window update of 0":   {func(p *h2Peer, _ uint32) { _ = p.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4)) }, bundle.StreamCorrupt, "HTTP/2"},
		"a frame over the limit": {func(p *h2Peer, _ uint32) { _, _ = p.c.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}) }, bundle.StreamCorrupt, "HTTP/2"},
		"an unknown frame":       {func(p *h2Peer, id uint32) { _ = p.WriteRawFrame(0x42, 0, id, []byte("x")); p.whole(id) }, bundle.StreamOK, ""},
		"settings that break": {func(p *h2Peer, _ uint32) {
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
		}, bundle.StreamCorrupt, "HTTP/2"},
		"a ping and settings between": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
			_ = p.WriteData(id, true, h2Body)
		}, bundle.StreamOK, ""},
		"a cut connection": {func(p *h2Peer, id uint32) { p.head(id); _ = p.c.Close() }, bundle.StreamReset, "was closed"},
		"half a frame": {func(p *h2Peer, id uint32) {
			p.head(id)
			_, _ = p.c.Write([]byte{0, 0, 9, 0, 0, 0, 0, 0, 1, 'x'})
			_ = p.c.Close()
		}, bundle.StreamReset, "was closed"},
		"silence":                {func(*h2Peer, uint32) {}, bundle.StreamStall, "no start event"},
		"silence after the head": {(*h2Peer).head, bundle.StreamStall, "no start event"},
		"no end of stream": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.WriteData(id, true, bytes.TrimSuffix(h2Body, []byte(loadtest.EOS)))
		}, bundle.StreamEOSMissing, "no end of stream"},
	}
	for name, tt := range tests {
		for _, w := range loadtest.Ways() {
			t.Run(name+", "+w.Name, func(t *testing.T) {
				t.Parallel()
				addr := h2Server(t, nil, tt.start, w)
				all := together(t, func() *load.Plan {
					return loadtest.Plan(t, addr, overH2, w.Plan, func(p *load.Plan) {
						if tt.outcome == bundle.StreamStall {
							p.Limits.FirstEvent = loadtest.Later // it bounds the handshake, too
						}
					})
				})
				if name != "DATA before HEADERS" { // the clients of Go do not read on
					alike(t, all)
				}
				for i, c := range all {
					c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
					want := tt.message
					if engines()[i].Name() == "portable" && tt.outcome == bundle.StreamCorrupt && c.Message() != "" && !strings.HasPrefix(tt.message, "HTTP trailers") {
						want = "HTTP/2" // the clients of Go do not name the rule
					}
					if m := c.Message(); !strings.Contains(m, want) || (m == "") != (want == "") {
						t.Errorf("message %q, want %q in it", m, want)
					}
				}
			})
		}
	}
}

func TestAGatewayWithoutHTTP2IsRefused(t *testing.T) {
	tests := map[string]struct {
		serve   func(net.Conn)
		outcome bundle.StreamOutcome
		refused bool
	}{
		"it speaks HTTP/1.1":  {loadtest.Then("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", loadtest.Hold), bundle.StreamServerError, true},
		"it hangs up":         {loadtest.HangUp, bundle.StreamReset, false},
		"it never sends data": {loadtest.Hold, bundle.StreamAcceptStall, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
				t.Parallel()
				p := loadtest.Plan(t, loadtest.Listen(t, tt.serve, w), overH2, w.Plan)
				if tt.outcome == bundle.StreamAcceptStall {
					p.Limits.FirstEvent = loadtest.Soon
				}
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				if c.Results[0].Refused != tt.refused {
					t.Errorf("%+v", c.Results[0])
				}
			})
		})
	}
}

func TestTheOtherSidesLimitsAreKept(t *testing.T) {
	t.Run("MAX_CONCURRENT_STREAMS 1 takes a connection for each stream", func(t *testing.T) {
		var open atomic.Int32
		two := make(chan struct{}) // closed when two streams are open at one time
		var once sync.Once
		addr := h2Server(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}}, func(p *h2Peer, id uint32) {
			if open.Add(1) > 1 {
				once.Do(func() { close(two) })
			}
			select {
			case <-two:
			case <-time.After(loadtest.Patience / 2):
				t.Error("one stream is open at a time")
			}
			open.Add(-1)
			p.whole(id)
		})
		each(t, func(t *testing.T, e load.Engine) {
			c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2, func(p *load.Plan) { p.Streams, p.Count = 5, 20 }))
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 20})
		})
	})
	t.Run("MAX_CONCURRENT_STREAMS 0 blocks every stream", mayOpenNone)
	t.Run("a request waits for a window, and then comes in parts", func(t *testing.T) {
		addr := loadtest.Listen(t, func(c net.Conn) {
			if p := greet(c, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); p != nil {
				p.serveByWindow()
			}
		})
		each(t, func(t *testing.T, e load.Engine) {
			c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2))
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
		})
	})
	t.Run("settings that are never acknowledged do no harm", func(t *testing.T) {
		addr := loadtest.Listen(t, func(c net.Conn) {
			p := greet(c)
			for p != nil {
				f, err := p.ReadFrame()
				if err != nil {
					return
				}
				if f.Header().Type == http2.FrameData {
					p.whole(f.Header().StreamID)
				}
			}
		})
		each(t, func(t *testing.T, e load.Engine) {
			c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2))
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
		})
	})
}

func mayOpenNone(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		addr := loadtest.Listen(t, func(c net.Conn) {
			p := greet(c, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			for p != nil {
				f, err := p.ReadFrame()
				if err != nil {
					return
				}
				if f.Header().StreamID != 0 {
					t.Errorf("a stream was opened: %v", f)
				}
			}
		})
		p := loadtest.Plan(t, addr, overH2, func(p *load.Plan) { p.Limits.Connect, p.Limits.FirstEvent = loadtest.Soon, loadtest.Later })
		c := loadtest.Drive(t.Context(), t, e, p)
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamBlocked: 1})
	})
}

// serveByWindow grants 10 bytes at a time and answers complete requests. A frame over the
// window ends the connection.
func (p *h2Peer) serveByWindow() {
	window := 0
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			window = 10
			_ = p.WriteWindowUpdate(f.StreamID, 10)
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
			_ = p.WriteWindowUpdate(f.StreamID, 10)
		}
	}
}

// The peer does not speak HTTP/2.
func TestOtherProtocolsAreJudgedAlike(t *testing.T) {
	for name, text := range map[string]string{
		"HTTP/1.1": "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "a banner": "220 mail.example ESMTP ready\r\n",
		"nothing": "", "another frame": "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", "two bytes": "OK",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := loadtest.Listen(t, func(c net.Conn) {
				_, _ = io.ReadFull(c, make([]byte, 24))
				_, _ = io.WriteString(c, text)
				_ = c.(*net.TCPConn).CloseWrite() // closing with unread bytes would be a reset
				_, _ = io.Copy(io.Discard, c)
			})
			alike(t, together(t, func() *load.Plan { return loadtest.Plan(t, addr, overH2) }))
		})
	}
}

// The same header block means something else when the table has changed.
func TestAHeaderBlockIsReadAnewWhenTheTableChanges(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		n := 0
		addr := h2Server(t, nil, func(p *h2Peer, id uint32) {
			n++
			if n == 3 { // adds an entry in front: the references move
				p.headers(id, true, ":status", "503", "x-new", strconv.Itoa(n))
				return
			}
			p.whole(id)
		})
		c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2, func(p *load.Plan) { p.Count = 6 }))
		c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 5, bundle.StreamServerError: 1})
	})
}

// A peer whose table for our fields is smaller than the default gets a table size update.
func TestASmallerTableIsAgreedTo(t *testing.T) {
	for _, size := range []uint32{0, 100, 4096, 1 << 20} {
		addr := h2Server(t, []http2.Setting{{ID: http2.SettingHeaderTableSize, Val: size}}, (*h2Peer).whole)
		for _, c := range together(t, func() *load.Plan {
			return loadtest.Plan(t, addr, overH2, func(p *load.Plan) { p.Streams, p.Count = 2, 20 })
		}) {
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 20})
		}
	}
}

// A peer that grants no window gets no body, and no stream waits for ever.
func TestAWindowOfZeroIsAnOutcome(t *testing.T) {
	t.Parallel()
	addr := h2Server(t, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, func(*h2Peer, uint32) { t.Error("a body came") })
	alike(t, together(t, func() *load.Plan {
		return loadtest.Plan(t, addr, overH2, func(p *load.Plan) {
			p.Limits.FirstEvent, p.Limits.KillAll = loadtest.Later, loadtest.Later // the List of the sweep cannot be sent either
		})
	}))
}
