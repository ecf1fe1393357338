package fakes

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/net/http2"
)

// same passes every frame on.
func same(f h2Frame, next func(h2Frame)) { next(f) }

func TestAFrameIsTakenApartWhereverItIsCut(t *testing.T) {
	frames := h2Frame{kind: http2.FrameSettings}.append(nil)
	frames = h2Frame{kind: http2.FramePing, flags: http2.FlagPingAck, payload: []byte("assayed.")}.append(frames)
	frames = h2Frame{kind: http2.FrameData, flags: http2.FlagDataEndStream, stream: 1 << 20, payload: bytes.Repeat([]byte("H"), 70_000)}.append(frames)
	for name, tc := range map[string]struct{ preface, in string }{
		"of a server":                   {"", string(frames)},
		"of a client":                   {http2.ClientPreface, http2.ClientPreface + string(frames)},
		"HTTP/1.1 of a server":          {"", "HTTP/1.1 200 OK\r\n\r\n"},
		"HTTP/1.1 of a client":          {http2.ClientPreface, "POST / HTTP/1.1\r\n\r\n"},
		"HTTP/1.1 that begins the same": {http2.ClientPreface, "PRI / HTTP/1.1\r\n\r\n"},
	} {
		for _, size := range []int{1, 2, 8, 9, 10, 23, 24, 25, 1000, len(tc.in)} {
			c := h2Cutter{preface: tc.preface}
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
	in := h2Frame{kind: http2.FramePing, flags: http2.FlagPingAck, payload: make([]byte, 8)}.append(nil)
	in = h2Frame{kind: http2.FrameHeaders, flags: http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream, stream: 3}.append(in)
	for name, tc := range map[string]struct {
		stage h2Stage
		want  []byte
	}{
		"a dropped PING": {
			dropToClient(func() func(h2Frame) bool { return func(f h2Frame) bool { return f.kind == http2.FramePing } })(),
			h2Frame{kind: http2.FrameHeaders, flags: http2.FlagHeadersEndHeaders | http2.FlagHeadersEndStream, stream: 3}.append(nil),
		},
		"a reset for an end": {
			resetForEnd(),
			h2Frame{kind: http2.FrameRSTStream, stream: 3, payload: make([]byte, 4)}.append(
				h2Frame{kind: http2.FrameHeaders, flags: http2.FlagHeadersEndHeaders, stream: 3}.append(
					h2Frame{kind: http2.FramePing, flags: http2.FlagPingAck, payload: make([]byte, 8)}.append(nil))),
		},
	} {
		if got := (&h2Cutter{}).cut(in, tc.stage.toClient); !bytes.Equal(got, tc.want) {
			t.Errorf("%s: got %x, want %x", name, got, tc.want)
		}
	}
}

// Whatever comes, nothing is lost that was not held back, and nothing panics.
func FuzzH2Cutter(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), 3)
	f.Add(h2Frame{kind: http2.FrameSettings}.append(nil), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		c := h2Cutter{}
		var out []byte
		for piece := range slices.Chunk(in, max(1, size)) {
			out = append(out, c.cut(piece, same)...)
		}
		if got := append(out, c.held...); !bytes.Equal(got, in) {
			t.Errorf("%x became %x", in, got)
		}
	})
}
