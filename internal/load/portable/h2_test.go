package portable_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/loadtest"
)

// h2Peer is a scripted peer of an HTTP/2 connection.
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

// whole sends a complete response.
func (p *h2Peer) whole(id uint32) {
	p.head(id)
	_ = p.fr.WriteData(id, true, []byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n2\n3\n")+loadtest.EndEvent(0)+loadtest.EOS))
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
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		p := &h2Peer{c: c, fr: http2.NewFramer(c, c), got: map[uint32]int{}}
		p.enc = hpack.NewEncoder(&p.block)
		p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		_ = p.fr.WriteSettings(settings...)
		p.serve(start)
	}
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

func overH2(p *load.Plan) { p.HTTP = load.H2C }

func TestEveryOutcomeOverHTTP2(t *testing.T) {
	tests := map[string]struct {
		start   func(p *h2Peer, id uint32)
		outcome bundle.StreamOutcome
		message string
	}{
		"a whole stream": {(*h2Peer).whole, bundle.StreamOK, ""},
		"a stream in padded frames of one byte": {func(p *h2Peer, id uint32) {
			p.head(id)
			for _, b := range []byte(loadtest.StartEvent(7) + loadtest.Stdout("1\n2\n3\n") + loadtest.EndEvent(0) + loadtest.EOS) {
				_ = p.fr.WriteDataPadded(id, false, []byte{b}, make([]byte, 3))
			}
			_ = p.fr.WriteData(id, true, nil)
		}, bundle.StreamOK, ""},
		"headers in three frames, after 100 and a ping": {func(p *h2Peer, id uint32) {
			p.headers(id, false, ":status", "100")
			_ = p.fr.WritePing(false, [8]byte{1})
			block := p.fields(":status", "200", "content-type", "application/connect+json")
			_ = p.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			_ = p.fr.WriteContinuation(id, false, block[1:3])
			_ = p.fr.WriteContinuation(id, true, block[3:])
			_ = p.fr.WriteData(id, true, []byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n2\n3\n")+loadtest.EndEvent(0)+loadtest.EOS))
		}, bundle.StreamOK, ""},
		"RST_STREAM": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.fr.WriteData(id, false, []byte(loadtest.StartEvent(7)))
			_ = p.fr.WriteRSTStream(id, http2.ErrCodeInternal)
		}, bundle.StreamReset, "INTERNAL_ERROR"},
		"a refused stream": {func(p *h2Peer, id uint32) { _ = p.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream) }, bundle.StreamReset, "REFUSED_STREAM"},
		"GOAWAY before the stream": {func(p *h2Peer, _ uint32) {
			_ = p.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, bundle.StreamReset, "GOAWAY"},
		"GOAWAY after the stream": {func(p *h2Peer, id uint32) {
			_ = p.fr.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.whole(id)
		}, bundle.StreamOK, ""},
		"a cut connection": {func(p *h2Peer, id uint32) { p.head(id); _ = p.c.Close() }, bundle.StreamReset, "was closed"},
		"silence":          {func(*h2Peer, uint32) {}, bundle.StreamStall, "no start event"},
		"PUSH_PROMISE": {func(p *h2Peer, id uint32) {
			_ = p.fr.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: p.fields(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "x"), EndHeaders: true})
		}, bundle.StreamCorrupt, "push is off"},
		"a frame over the limit":            {func(p *h2Peer, _ uint32) { _, _ = p.c.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}) }, bundle.StreamCorrupt, "HTTP/2"},
		"DATA of a stream that is not open": {func(p *h2Peer, _ uint32) { _ = p.fr.WriteData(99, false, []byte("x")) }, bundle.StreamCorrupt, "stream 99"},
		"DATA before HEADERS":               {func(p *h2Peer, id uint32) { _ = p.fr.WriteData(id, true, []byte("x")) }, bundle.StreamCorrupt, "DATA before HEADERS"},
		"a header in capitals":              {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "200", "Bad", "x") }, bundle.StreamCorrupt, "HTTP/2"},
		"HTTP 404":                          {func(p *h2Peer, id uint32) { p.headers(id, true, ":status", "404") }, bundle.StreamServerError, "HTTP 404"},
		"no end of stream": {func(p *h2Peer, id uint32) {
			p.head(id)
			_ = p.fr.WriteData(id, true, []byte(loadtest.StartEvent(7)+loadtest.Stdout("1\n2\n3\n")+loadtest.EndEvent(0)))
		}, bundle.StreamEOSMissing, "no end of stream"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, w loadtest.Way, e load.Engine) {
				t.Parallel()
				p := loadtest.Plan(t, h2Server(t, nil, tt.start, w), overH2, w.Plan)
				if tt.outcome == bundle.StreamStall {
					p.Limits.FirstEvent = loadtest.Later // it bounds the handshake, too
				}
				c := loadtest.Drive(t.Context(), t, e, p)
				c.Want(t, map[bundle.StreamOutcome]int64{tt.outcome: 1})
				want := tt.message
				if e.Name() == "portable" && tt.outcome == bundle.StreamCorrupt {
					want = "HTTP/2" // the clients of Go do not name the rule
				}
				if m := c.Message(); !strings.Contains(m, want) || (m == "") != (want == "") {
					t.Errorf("message %q, want %q in it", m, want)
				}
			})
		})
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
		each(t, func(t *testing.T, e load.Engine) {
			c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2))
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
		})
	})
	t.Run("settings that are never acknowledged do no harm", func(t *testing.T) {
		addr := loadtest.Listen(t, func(c net.Conn) {
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
		each(t, func(t *testing.T, e load.Engine) {
			c := loadtest.Drive(t.Context(), t, e, loadtest.Plan(t, addr, overH2))
			c.Want(t, map[bundle.StreamOutcome]int64{bundle.StreamOK: 1})
		})
	})
}

func mayOpenNone(t *testing.T) {
	each(t, func(t *testing.T, e load.Engine) {
		addr := loadtest.Listen(t, func(c net.Conn) {
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
