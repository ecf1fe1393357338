package zoo

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	"assay/internal/wire/h2"
)

// same passes every frame on.
func same(f h2.Frame, next func(h2.Frame)) { next(f) }

func TestAFrameIsTakenApartWhereverItIsCut(t *testing.T) {
	t.Parallel()
	frames := h2.Frame{Type: http2.FrameSettings}.Append(nil)
	frames = h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: []byte("assayed.")}.Append(frames)
	frames = h2.Frame{Type: http2.FrameData, Flags: http2.FlagDataEndStream, Stream: 1 << 20, Payload: bytes.Repeat([]byte("H"), 70_000)}.Append(frames)
	for name, tc := range map[string]struct{ preface, in string }{
		"of a server":                   {"", string(frames)},
		"of a client":                   {http2.ClientPreface, http2.ClientPreface + string(frames)},
		"HTTP/1.1 of a server":          {"", "HTTP/1.1 200 OK\r\n\r\n"},
		"HTTP/1.1 of a client":          {http2.ClientPreface, "POST / HTTP/1.1\r\n\r\n"},
		"HTTP/1.1 that begins the same": {http2.ClientPreface, "PRI / HTTP/1.1\r\n\r\n"},
	} {
		for _, size := range []int{1, 2, 8, 9, 10, 23, 24, 25, 1000, len(tc.in)} {
			c := newH2Cutter(tc.preface)
			var out []byte
			for piece := range slices.Chunk([]byte(tc.in), size) {
				out = append(out, c.cut(piece, same)...)
			}
			if string(out) != tc.in {
				t.Errorf("%s, in pieces of %d: %d bytes came out of %d", name, size, len(out), len(tc.in))
			}
		}
	}
}

func TestAFrameCanBeChangedDroppedAndAdded(t *testing.T) {
	t.Parallel()
	in := h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: make([]byte, 8)}.Append(nil)
	in = h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream, Stream: 3}.Append(in)
	for name, tc := range map[string]struct {
		stage h2Stage
		want  []byte
	}{
		"a dropped PING": {
			dropToClient(func() func(h2.Frame) bool { return func(f h2.Frame) bool { return f.Type == http2.FramePing } })(),
			h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream, Stream: 3}.Append(nil),
		},
		"a reset instead of an end": {
			resetForEnd(),
			h2.Frame{Type: http2.FrameRSTStream, Stream: 3, Payload: make([]byte, 4)}.Append(
				h2.Frame{Type: http2.FrameHeaders, Flags: http2.FlagHeadersEndHeaders, Stream: 3}.Append(
					h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: make([]byte, 8)}.Append(nil))),
		},
	} {
		c := newH2Cutter("")
		if got := c.cut(in, tc.stage.toClient); !bytes.Equal(got, tc.want) {
			t.Errorf("%s: got %x, want %x", name, got, tc.want)
		}
	}
}

// For any input, nothing is lost except held bytes, and nothing panics.
func FuzzH2Cutter(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), 3)
	f.Add(h2.Frame{Type: http2.FrameSettings}.Append(nil), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		c := newH2Cutter("")
		var out []byte
		for piece := range slices.Chunk(in, max(1, size)) {
			out = append(out, c.cut(piece, same)...)
		}
		held := len(c.held) + c.frames.Partial()
		if len(out)+held != len(in) || !bytes.HasPrefix(in, out) {
			t.Errorf("%x became %x, and %d bytes are held", in, out, held)
		}
	})
}
