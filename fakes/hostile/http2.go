package hostile

import (
	"bytes"
	"io"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/base/crash"
)

// http2Modes speak HTTP/2 with prior knowledge only, and misbehave at every HEADERS frame.
func http2Modes() []Mode {
	raw := func(id string, talk func(*net.TCPConn)) Mode {
		return Mode{ID: "h2-" + id, Layer: "http/2", Scope: Everything, HTTP2: true, talk: talk}
	}
	mode := func(id string, do func(*http2.Framer, uint32)) Mode { return raw(id, talkH2(do, true)) }
	nothing := func(*http2.Framer, uint32) {}
	all := []Mode{
		raw("preface-silence", func(*net.TCPConn) {}),
		raw("window-zero", talkH2(nothing, true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})),
		raw("settings-unacked", talkH2(nothing, false)),
		raw("garbage", func(c *net.TCPConn) {
			readSome(c)
			send(c, "\x00\x00\x00\xff\xff\xff\xff\xff\xffnonsense")
			_ = c.CloseWrite() // closing with unread data would send a reset, which may discard written data
		}),
		raw("goaway-at-once", func(c *net.TCPConn) {
			f := http2.NewFramer(c, c)
			_ = f.WriteSettings()
			_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
		}),
		raw("settings-flood-at-once", floodH2(endlessSettings)),
		raw("ping-flood-at-once", floodH2(pings)),
	}
	for _, a := range attacks() {
		all = append(all, mode(a.id, a.do))
	}
	return all
}

// attack is a way to misbehave on a stream.
type attack struct {
	id string
	do func(*http2.Framer, uint32)
}

// attacks lists what a peer can do after the HEADERS of a request.
func attacks() []attack {
	return []attack{
		{"silent", func(*http2.Framer, uint32) {}},
		{"endless-settings", func(f *http2.Framer, _ uint32) { repeat(f, endlessSettings) }},
		{"ping-flood", func(f *http2.Framer, _ uint32) { repeat(f, pings) }},
		{"goaway", func(f *http2.Framer, _ uint32) {
			_ = f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("calm down"))
		}},
		{"rst", func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream) }},
		{"rst-internal", func(f *http2.Framer, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeInternal) }},
		{"continuation-flood", func(f *http2.Framer, id uint32) {
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
			more := fields("x-more", strings.Repeat("more ", 200))
			for err == nil {
				err = f.WriteContinuation(id, false, more)
			}
		}},
		{"endless-head", func(f *http2.Framer, id uint32) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
		}},
		{"huge-head", func(f *http2.Framer, id uint32) {
			p := fields(":status", "200", "x-huge", strings.Repeat("x", 4<<20))
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p[:16000]})
			for p = p[16000:]; err == nil && len(p) > 0; p = p[min(16000, len(p)):] {
				err = f.WriteContinuation(id, len(p) <= 16000, p[:min(16000, len(p))])
			}
		}},
		{"hpack-bomb", func(f *http2.Framer, id uint32) {
			p := fields(":status", "200", "x", strings.Repeat("x", 4000)) // enters the dynamic table
			p = append(p, bytes.Repeat([]byte{0x80 | 62}, 12000)...)      // 12,000 references to it
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p, EndHeaders: true})
		}},
		{"data-on-0", func(f *http2.Framer, _ uint32) { _ = f.WriteRawFrame(http2.FrameData, 0, 0, []byte("data")) }},
		{"padding-flood", dataFlood(make([]byte, 255))},
		{"empty-data-flood", dataFlood(nil)},
	}
}

// dataFlood sends DATA frames without data, and never ends the stream.
func dataFlood(padding []byte) func(*http2.Framer, uint32) {
	return func(f *http2.Framer, id uint32) {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true,
			BlockFragment: fields(":status", "200", "content-type", "application/connect+json")})
		for err == nil {
			err = f.WriteDataPadded(id, false, nil, padding)
		}
	}
}

func endlessSettings(f *http2.Framer) error {
	return f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
}

func pings(f *http2.Framer) error { return f.WritePing(false, [8]byte{1}) }

// repeat writes a frame until the client closes the connection.
func repeat(f *http2.Framer, write func(*http2.Framer) error) {
	var err error
	for err == nil {
		err = write(f)
	}
}

// floodH2 repeats a frame without end, and reads all that the client sends.
func floodH2(write func(*http2.Framer) error) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		crash.Go(func() { drain(c) })
		f := http2.NewFramer(c, nil)
		if f.WriteSettings() == nil {
			repeat(f, write)
		}
	}
}

// fields encodes a header block.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

// talkH2 reads the preface, sends the settings, and misbehaves at every HEADERS frame.
func talkH2(do func(*http2.Framer, uint32), ack bool, settings ...http2.Setting) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			_ = c.Close()
			return
		}
		f := http2.NewFramer(c, c)
		_ = f.WriteSettings(settings...)
		for {
			frame, err := f.ReadFrame()
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if ack && !frame.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				do(f, frame.StreamID)
			}
			if err != nil {
				_ = c.Close()
				return
			}
		}
	}
}
