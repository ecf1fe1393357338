package authproxy

import (
	"bytes"
	"slices"
	"testing"
)

// frame returns a frame of a server.
func frame(head byte, payload int) []byte {
	out := []byte{head}
	switch {
	case payload < 126:
		out = append(out, byte(payload))
	case payload < 1<<16:
		out = append(out, 126, byte(payload>>8), byte(payload))
	default:
		out = append(out, 127, 0, 0, 0, 0, byte(payload>>24), byte(payload>>16), byte(payload>>8), byte(payload))
	}
	return append(out, bytes.Repeat([]byte{0x88}, payload)...) // which looks like Close
}

func TestTheEndOfAFrameIsFoundHoweverItIsCut(t *testing.T) {
	t.Parallel()
	head := []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
	for name, f := range map[string][]byte{
		"empty": frame(0x82, 0), "short": frame(0x82, 125), "medium": frame(0x81, 126), "full medium": frame(0x02, 65535), "long": frame(0x82, 65536),
		"masked": {0x81, 0x81, 1, 2, 3, 4, 5},
	} {
		for _, before := range [][]byte{nil, head} {
			var by frames
			for n, b := range slices.Concat(before, f) {
				if n > 0 && n != len(before) && by.between() {
					t.Fatalf("%s: after byte %d of %d", name, n, len(before)+len(f))
				}
				by.wrote([]byte{b})
			}
			if !by.between() {
				t.Errorf("%s: not at its end", name)
			}
			var whole frames
			if whole.wrote(slices.Concat(before, f, f)); !whole.between() {
				t.Errorf("%s: not at the end of two", name)
			}
		}
	}
}

func TestNothingFollowsAClose(t *testing.T) {
	t.Parallel()
	var f frames
	if !f.between() {
		t.Error("nothing was written, and a frame may not follow")
	}
	f.wrote(frame(0x89, 0))
	if !f.between() {
		t.Error("after a ping, a frame may not follow")
	}
	f.wrote([]byte{0x88, 2, 3, 0xe8})
	if f.between() {
		t.Error("a frame may follow a Close frame")
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(slices.Concat([]byte("HTTP/1.1 101 \r\n\r\n"), frame(0x82, 300)), 3)
	f.Add(closeIdle, 1)
	f.Fuzz(func(t *testing.T, p []byte, size int) {
		var whole, cut frames
		whole.wrote(p)
		for piece := range slices.Chunk(p, max(1, size)) {
			cut.wrote(piece)
		}
		if whole.between() != cut.between() || whole.payload != cut.payload {
			t.Errorf("in pieces of %d: %v %d, whole: %v %d", size, cut.between(), cut.payload, whole.between(), whole.payload)
		}
	})
}
