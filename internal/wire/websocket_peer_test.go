package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

var errPeerClosed = errors.New("closed")

// wsPeer reads a connection with gobwas/ws: its messages up to Close, or to the first error. The
// end of the input is none.
func wsPeer(input []byte, fromClient bool) (messages []string, err error) {
	add := func(op ws.OpCode, r io.Reader) error {
		p, err := io.ReadAll(r)
		if err == nil && op == ws.OpClose && len(p) > 0 {
			err = ws.CheckCloseFrameData(ws.ParseCloseFrameData(p))
		}
		if err != nil {
			return err
		}
		messages = append(messages, fmt.Sprintf("%s %q", WSOpcode(op), p))
		if op == ws.OpClose {
			return errPeerClosed
		}
		return nil
	}
	state := ws.StateClientSide
	if fromClient {
		state = ws.StateServerSide
	}
	rd := wsutil.Reader{
		Source: bytes.NewReader(input), State: state, CheckUTF8: true,
		OnIntermediate: func(h ws.Header, r io.Reader) error { return add(h.OpCode, r) },
	}
	for {
		h, err := rd.NextFrame()
		if err == nil {
			err = add(h.OpCode, &rd)
		}
		if errors.Is(err, errPeerClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return messages, nil
		}
		if err != nil {
			return messages, err
		}
	}
}

// wsOurs decodes the same, up to the first violation that gobwas/ws knows too, or Close.
func wsOurs(input []byte, fromClient bool) (messages []string, first *Violation) {
	d := WSDecoder{FromClient: fromClient}
	done := func() bool { return first != nil || d.Ended() }
	d.OnViolation = func(v Violation) {
		if !done() && wsPeerKnows(v) {
			first = &v
		}
	}
	d.OnMessage = func(m WSMessage) {
		if !done() {
			messages = append(messages, fmt.Sprintf("%s %q", m.Opcode, m.Payload))
		}
	}
	feedBytes(&d, input)
	return messages, first
}

// wsPeerKnows excludes what gobwas/ws does not check: the form of a length.
func wsPeerKnows(v Violation) bool { return v.Kind != WSLengthForm }

// wholeFrames cuts off an incomplete last frame: what is wrong with its payload is seen
// sooner by a decoder that streams.
func wholeFrames(input []byte) []byte {
	for end := 0; ; {
		h, n := ParseWSHead(input[end:])
		if n == 0 || h.Length > uint64(len(input)-end-n) {
			return input[:end]
		}
		end += n + int(h.Length)
	}
}

// compareWithPeer fails if gobwas/ws reads another connection.
func compareWithPeer(t *testing.T, input []byte, fromClient bool) {
	t.Helper()
	input = wholeFrames(input)
	theirs, err := wsPeer(input, fromClient)
	ours, first := wsOurs(input, fromClient)
	if (err != nil) != (first != nil) && !wsDiffers(input, fromClient) {
		t.Fatalf("%x\ngobwas/ws: %v\n     ours: %v", input, err, first)
	}
	if n := min(len(ours), len(theirs)); !slices.Equal(ours[:n], theirs[:n]) || err == nil && first == nil && len(ours) != len(theirs) {
		t.Fatalf("%x\ngobwas/ws: %q\n     ours: %q", input, theirs, ours)
	}
}

// wsDiffers reports whether the input has what is judged differently: gobwas/ws does not know the status
// codes 1012 to 1014, allows those from 5000 on, and takes a Close of one byte for
// an empty one with a code of 0.
func wsDiffers(input []byte, fromClient bool) bool {
	differs := false
	d := WSDecoder{FromClient: fromClient, OnMessage: func(m WSMessage) {
		code, _, ok := ParseWSClose(m.Payload)
		differs = differs || m.Opcode == WSClose && (!ok || code >= 1012 && code <= 1014 || code >= 5000)
	}}
	d.Feed(input)
	return differs
}

// randomWS writes frames, most of them valid.
func randomWS(rng *rand.Rand, fromClient bool) []byte {
	texts := []string{"", "a", "κόσμε", "\xce", "\xba", "\xe2\x82", "\xac", "\xff", "\x03\xe8", "\x03\xe8bye", "\x03\xed", "\x0f\xa0\xce\xba"}
	var p []byte
	open := false
	for range 1 + rng.IntN(6) {
		h := WSHead{FIN: rng.IntN(3) > 0, Opcode: wsOpcodes[1+rng.IntN(5)], Masked: fromClient}
		switch {
		case h.Opcode.Control():
			h.FIN = rng.IntN(20) > 0
		case open && rng.IntN(20) > 0:
			h.Opcode = WSContinuation
			fallthrough
		default:
			open = !h.FIN
		}
		switch rng.IntN(40) {
		case 0:
			h.Masked = !h.Masked
		case 1:
			h.RSV = byte(rng.IntN(8))
		case 2:
			h.Opcode = WSOpcode(rng.IntN(16))
		case 3:
			h.LengthBits = []uint8{16, 64}[rng.IntN(2)]
		}
		if h.Masked {
			h.Key = [4]byte{byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32()), byte(rng.Uint32())}
		}
		payload := []byte(texts[rng.IntN(len(texts))])
		if rng.IntN(10) == 0 {
			payload = bytes.Repeat([]byte{'x'}, 120+rng.IntN(20))
		}
		p = AppendWSFrame(p, h, payload)
	}
	if rng.IntN(10) == 0 {
		p = p[:rng.IntN(len(p))]
	}
	return p
}

func TestAnotherImplementationReadsTheSameConnections(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 455))
	broken := 0
	const rounds = 20000
	for i := range rounds {
		fromClient := i%2 == 0
		input := randomWS(rng, fromClient)
		compareWithPeer(t, input, fromClient)
		if _, first := wsOurs(input, fromClient); first != nil {
			broken++
		}
	}
	if broken < rounds/4 || broken > rounds*3/4 {
		t.Errorf("%d of %d connections have a violation; both sides should be tested", broken, rounds)
	}
}

func TestAnotherImplementationWritesTheSameFrames(t *testing.T) {
	key := [4]byte{1, 2, 3, 4}
	for _, n := range []int{0, 1, 125, 126, 127, 65535, 65536} {
		payload := bytes.Repeat([]byte("abc"), n/3+1)[:n]
		for op := range WSOpcode(16) {
			for _, fin := range []bool{false, true} {
				for rsv := range byte(8) {
					f := ws.NewFrame(ws.OpCode(op), fin, payload)
					f.Header.Rsv = rsv
					h := WSHead{FIN: fin, RSV: rsv, Opcode: op}
					if got := AppendWSFrame(nil, h, payload); !bytes.Equal(got, ws.MustCompileFrame(f)) {
						t.Fatalf("%+v with %d bytes is written as %x", h, n, got[:min(14, len(got))])
					}
					h.Masked, h.Key = true, key
					if got := AppendWSFrame(nil, h, payload); !bytes.Equal(got, ws.MustCompileFrame(ws.MaskFrameWith(f, key))) {
						t.Fatalf("%+v with %d bytes is written as %x", h, n, got[:min(14, len(got))])
					}
				}
			}
		}
	}
}

// FuzzWSAgainstPeer compares the decoder with gobwas/ws.
func FuzzWSAgainstPeer(f *testing.F) {
	wsSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte, fromClient bool, _ uint16) { compareWithPeer(t, input, fromClient) })
}
