package wire

import (
	"bytes"
	"slices"
	"testing"
)

// wsSeeds adds connections of both roles to a fuzz target.
func wsSeeds(f *testing.F) {
	f.Helper()
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	f.Add(wsSample(), false, uint16(7))
	f.Add(AppendWSClient(nil, WSText, key, []byte("Hello")), true, uint16(3))
	fragments := AppendWSFrame(nil, WSHead{Opcode: WSText}, []byte("\xe2\x82"))
	fragments = AppendWSServer(fragments, WSPing, []byte("p"))
	f.Add(AppendWSFrame(fragments, WSHead{FIN: true}, []byte("\xac")), false, uint16(4))
	f.Add(AppendWSClient(nil, WSClose, key, AppendWSClose(nil, 1000, "bye")), true, uint16(8))
	f.Add([]byte{0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 1}, false, uint16(5))
	f.Add([]byte{0x82, 126, 0, 5, 1, 2, 3, 4, 5, 0x80, 0}, false, uint16(5))
}

// FuzzWSDecoder compares the decoder with itself in other splits, and the encoding of the
// decoded frames with the input.
func FuzzWSDecoder(f *testing.F) {
	wsSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte, fromClient bool, cut uint16) {
		options := WSDecoder{FromClient: fromClient, AllowedRSV: byte(cut) & 4, Limit: 1 << 9}
		want := traceWS([][]byte{input}, options)
		i := min(int(cut), len(input))
		for _, chunks := range [][][]byte{everyByte(input), {input[:i], input[i:]}} {
			if got := traceWS(chunks, options); !slices.Equal(got, want) {
				t.Fatalf("the split changes the result:\n got %q\nwant %q", got, want)
			}
		}
		clean := true
		d := options
		d.OnViolation = orderedWithin(t, len(input), &clean)
		again, received := encodeAgain(t, &d, input)
		if !bytes.HasPrefix(input, again) && !bytes.HasPrefix(again, input) {
			t.Fatalf("encoding the frames again gives %x", again)
		}
		if missing := int64(len(input)-len(again)) - d.Skipped(); d.Idle() && missing != 0 {
			t.Fatalf("%d bytes are in no frame", missing)
		}
		if received > len(input) {
			t.Fatalf("messages of %d bytes in an input of %d", received, len(input))
		}
		d.Close()
	})
}

// encodeAgain decodes input, and returns the frames encoded again and the bytes of all messages.
func encodeAgain(t *testing.T, d *WSDecoder, input []byte) (again []byte, received int) {
	t.Helper()
	var h WSHead
	var pos uint64
	d.OnFrame = func(f WSFrame) {
		if f.Off != int64(len(again)) {
			t.Fatalf("a frame at %d, want %d", f.Off, len(again))
		}
		h, pos = f.Head, 0
		again = AppendWSHead(again, h)
	}
	d.OnPayload = func(p []byte) {
		if h.Masked {
			again = AppendWSMasked(again, p, h.Key, pos)
		} else {
			again = append(again, p...)
		}
		pos += uint64(len(p))
	}
	d.OnMessage = func(m WSMessage) {
		received += len(m.Payload)
		if !m.Dropped && uint64(len(m.Payload)) != m.Size {
			t.Fatalf("%d bytes of a message of %d", len(m.Payload), m.Size)
		}
	}
	d.Feed(input)
	return again, received
}

// FuzzWSEncoder: what is encoded as a valid message is decoded as that message.
func FuzzWSEncoder(f *testing.F) {
	f.Add([]byte("Hello"), byte(1), uint32(0x37fa213d), uint16(2))
	f.Add([]byte{}, byte(9), uint32(0), uint16(0))
	f.Add(bytes.Repeat([]byte{0xff}, 300), byte(2), uint32(1), uint16(299))
	f.Fuzz(func(t *testing.T, payload []byte, opcode byte, key uint32, cut uint16) {
		op := WSOpcode(opcode & 0xf)
		k := [4]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24)}
		fragmented := !op.Control() && op != WSContinuation && int(cut) < len(payload)
		if op.Control() && len(payload) > MaxWSControl || op == WSContinuation || op.reserved() {
			return
		}
		var p []byte
		if fragmented {
			p = AppendWSFrame(p, WSHead{Opcode: op, Masked: true, Key: k}, payload[:cut])
			p = AppendWSFrame(p, WSHead{FIN: true, Masked: true, Key: k}, payload[cut:])
		} else {
			p = AppendWSClient(p, op, k, payload)
		}
		seen := false
		d := WSDecoder{
			FromClient: true,
			OnViolation: func(v Violation) {
				if op != WSText && op != WSClose {
					t.Fatalf("%x: %v", p, v)
				}
			},
			OnMessage: func(m WSMessage) {
				if seen = true; m.Opcode != op || !bytes.Equal(m.Payload, payload) {
					t.Fatalf("%x is decoded as %s %x", p, m.Opcode, m.Payload)
				}
			},
		}
		d.Feed(p)
		if !seen || !d.Idle() {
			t.Fatalf("%x is no message", p)
		}
	})
}
