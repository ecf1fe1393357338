//go:build linux && (amd64 || arm64)

package fast_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/bundle"
	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/loadtest"
)

// peer is a scripted server on an HTTP/2 connection.
type peer struct {
	*http2.Framer

	c     net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
}

// h2 serves scripted HTTP/2: start writes the response to a Start on a stream. All other
// calls succeed.
func h2(t testing.TB, settings []http2.Setting, start func(p *peer, id uint32), way ...loadtest.Way) (addr string) {
	t.Helper()
	return loadtest.Listen(t, func(c net.Conn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil {
			return
		}
		p := &peer{Framer: http2.NewFramer(c, c), c: c}
		p.enc = hpack.NewEncoder(&p.block)
		dec := hpack.NewDecoder(4096, nil)
		_ = p.WriteSettings(settings...)
		// Like nghttp2, it requires a table size update if its table is smaller than the default.
		smaller := slices.ContainsFunc(settings, func(s http2.Setting) bool { return s.ID == http2.SettingHeaderTableSize && s.Val < 4096 })
		acknowledged := false
		paths := map[uint32]string{}
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
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
			case *http2.DataFrame:
				if !f.StreamEnded() {
					continue
				}
				if strings.HasSuffix(paths[f.StreamID], "/Start") {
					start(p, f.StreamID)
					continue
				}
				p.head(f.StreamID, false, ":status", "200", "content-type", "application/json")
				_ = p.WriteData(f.StreamID, true, []byte("{}"))
			}
		}
	}, way...)
}

// fields encodes a header block.
func (p *peer) fields(pairs ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return p.block.Bytes()
}

// head sends a header block.
func (p *peer) head(id uint32, last bool, pairs ...string) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(pairs...), EndHeaders: true, EndStream: last})
}

func (p *peer) good(id uint32) {
	p.head(id, false, ":status", "200", "content-type", "application/connect+json", "date", "today")
}

// goodBody returns the body of a good response.
func goodBody() []byte {
	return []byte(loadtest.StartEvent(7) + loadtest.Stdout("1\n") + loadtest.Stdout("2\n") + loadtest.Stdout("3\n") + loadtest.EndEvent(0) + loadtest.EOS)
}

// muxAnswers returns what a gateway may do on a stream, right and wrong, by name.
func muxAnswers() map[string]func(p *peer, id uint32) {
	return map[string]func(p *peer, id uint32){
		"a good response": func(p *peer, id uint32) { p.good(id); _ = p.WriteData(id, true, goodBody()) },
		"the end in a separate frame": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteData(id, false, goodBody())
			_ = p.WriteData(id, true, nil)
		},
		"a frame for each byte": func(p *peer, id uint32) {
			p.good(id)
			for _, b := range goodBody() {
				_ = p.WriteData(id, false, []byte{b})
			}
			_ = p.WriteData(id, true, nil)
		},
		"padding": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteDataPadded(id, true, goodBody(), make([]byte, 200))
		},
		"padding that is too long": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, id, []byte{9, 1})
		},
		"a block in pieces": func(p *peer, id uint32) {
			block := bytes.Clone(p.fields(":status", "200", "content-type", "application/connect+json"))
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			_ = p.WriteContinuation(id, false, block[1:5])
			_ = p.WriteContinuation(id, true, block[5:])
			_ = p.WriteData(id, true, goodBody())
		},
		"a block that is cut by another frame": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			_ = p.WritePing(false, [8]byte{})
		},
		"an endless block": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			for range 50 {
				if p.WriteContinuation(id, false, bytes.Repeat(hpack.AppendHuffmanString(nil, "aaaaaaaa"), 1000)) != nil {
					return
				}
			}
		},
		"a broken block": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, EndHeaders: true})
		},
		"capitals in a name": func(p *peer, id uint32) { p.head(id, false, ":status", "200", "Content-Type", "x") },
		"an interim response": func(p *peer, id uint32) {
			p.head(id, false, ":status", "103", "link", "</x>")
			p.good(id)
			_ = p.WriteData(id, true, goodBody())
		},
		"no head": func(p *peer, id uint32) { _ = p.WriteData(id, true, goodBody()) },
		"trailers": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteData(id, false, goodBody())
			p.head(id, true, "x-checksum", "1")
		},
		"trailers that do not end": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteData(id, false, goodBody())
			p.head(id, false, "x-checksum", "1")
			_ = p.WriteData(id, true, nil)
		},
		"503": func(p *peer, id uint32) {
			p.head(id, false, ":status", "503")
			_ = p.WriteData(id, true, []byte("busy"))
		},
		"404":       func(p *peer, id uint32) { p.head(id, true, ":status", "404") },
		"a reset":   func(p *peer, id uint32) { p.good(id); _ = p.WriteRSTStream(id, http2.ErrCodeInternal) },
		"a refusal": func(p *peer, id uint32) { _ = p.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"GOAWAY":    func(p *peer, id uint32) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"a GOAWAY that lets it end": func(p *peer, id uint32) {
			_ = p.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.good(id)
			_ = p.WriteData(id, true, goodBody())
		},
		"a push": func(p *peer, id uint32) {
			_ = p.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true})
		},
		"DATA of no stream": func(p *peer, id uint32) { _ = p.WriteData(id+2, false, []byte("x")) },
		"DATA on stream 0":  func(p *peer, id uint32) { _ = p.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")) },
		"a window beyond 2^31": func(p *peer, id uint32) {
			_ = p.WriteWindowUpdate(0, 1<<31-1)
			p.good(id)
			_ = p.WriteData(id, true, goodBody())
		},
		"a window update of 0":     func(p *peer, id uint32) { _ = p.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4)) },
		"a frame that is too long": func(p *peer, id uint32) { _, _ = p.c.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1}) },
		"an unknown frame": func(p *peer, id uint32) {
			_ = p.WriteRawFrame(0x42, 0, id, []byte("x"))
			p.good(id)
			_ = p.WriteData(id, true, goodBody())
		},
		"settings that break": func(p *peer, id uint32) {
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
		},
		"pings and settings between": func(p *peer, id uint32) {
			p.good(id)
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
			_ = p.WriteData(id, true, goodBody())
		},
		"the connection is closed": func(p *peer, id uint32) { p.good(id); _ = p.c.Close() },
		"half a frame": func(p *peer, id uint32) {
			p.good(id)
			_, _ = p.c.Write([]byte{0, 0, 9, 0, 0, 0, 0, 0, 1, 'x'})
			_ = p.c.Close()
		},
		"silence":                func(*peer, uint32) {},
		"silence after the head": func(p *peer, id uint32) { p.good(id) },
	}
}

func TestBothEnginesJudgeHTTP2Alike(t *testing.T) {
	for name, answer := range muxAnswers() {
		for _, w := range loadtest.Ways() {
			t.Run(name+", "+w.Name, func(t *testing.T) {
				t.Parallel()
				addr := h2(t, nil, answer, w)
				slow, quick := together(t, func() *load.Plan {
					return loadtest.Plan(t, addr, overH2, w.Plan, func(p *load.Plan) {
						if strings.HasPrefix(name, "silence") {
							p.Limits.FirstEvent = loadtest.Later // it bounds the handshake, too
						}
					})
				})
				if name != "no head" {
					same(t, slow, quick)
				} else if slow.Results[0].Outcome != bundle.StreamCorrupt || quick.Results[0].Outcome != bundle.StreamCorrupt { // the clients of Go do not read on
					t.Errorf("%q, %q", slow.Messages(), quick.Messages())
				}
			})
		}
	}
}

func overH2(p *load.Plan) { p.HTTP = load.H2C }

// The peer does not speak HTTP/2.
func TestBothEnginesJudgeOtherProtocolsAlike(t *testing.T) {
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
			both(t, func() *load.Plan {
				return loadtest.Plan(t, addr, func(p *load.Plan) { p.HTTP = load.H2C })
			})
		})
	}
}

// The same header block means something else when the table has changed.
func TestAHeaderBlockIsReadAnewWhenTheTableChanges(t *testing.T) {
	n := 0
	addr := h2(t, nil, func(p *peer, id uint32) {
		n++
		if n == 3 { // adds an entry in front: the references move
			p.head(id, true, ":status", "503", "x-new", strconv.Itoa(n))
			return
		}
		p.good(id)
		_ = p.WriteData(id, true, goodBody())
	})
	q := loadtest.Drive(t.Context(), t, fast.Engine{}, loadtest.Plan(t, addr, func(p *load.Plan) { p.HTTP, p.Count = load.H2C, 6 }))
	ok := 0
	for _, r := range q.Results {
		if r.Outcome == bundle.StreamOK {
			ok++
		}
	}
	if ok != 5 {
		t.Errorf("%d of 6 are ok, want 5: %q", ok, q.Messages())
	}
}

// A peer whose table for our fields is smaller than the default gets a table size update.
func TestASmallerTableIsAgreedTo(t *testing.T) {
	for _, size := range []uint32{0, 100, 4096, 1 << 20} {
		addr := h2(t, []http2.Setting{{ID: http2.SettingHeaderTableSize, Val: size}}, func(p *peer, id uint32) {
			p.good(id)
			_ = p.WriteData(id, true, goodBody())
		})
		slow, quick := both(t, func() *load.Plan {
			return loadtest.Plan(t, addr, func(p *load.Plan) { p.HTTP, p.Streams, p.Count = load.H2C, 2, 20 })
		})
		for _, r := range append(slow.Results, quick.Results...) {
			if r.Outcome != bundle.StreamOK {
				t.Fatalf("a table of %d bytes: %+v", size, r)
			}
		}
	}
}

// A peer that grants no window gets no body, and no stream waits for ever.
func TestAWindowOfZeroIsAnOutcome(t *testing.T) {
	t.Parallel()
	addr := h2(t, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}, func(*peer, uint32) { t.Error("a body came") })
	both(t, func() *load.Plan {
		return loadtest.Plan(t, addr, func(p *load.Plan) {
			p.HTTP, p.Streams, p.Limits.FirstEvent = load.H2C, 1, loadtest.Later
			p.Limits.KillAll = loadtest.Later // the List of the sweep cannot be sent either
		})
	})
}
