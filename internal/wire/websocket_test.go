package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// wsFrames returns the frames of a server: each line is an opcode and a payload, with a "-"
// after the opcode if the frame is not the last of its message.
func wsFrames(t *testing.T, lines ...string) []byte {
	t.Helper()
	var p []byte
	for _, line := range lines {
		name, payload, _ := strings.Cut(line, " ")
		name, fragment := strings.CutSuffix(name, "-")
		op := slices.IndexFunc(wsOpcodes, func(o WSOpcode) bool { return o.String() == name })
		if op < 0 {
			t.Fatalf("no opcode %q", name)
		}
		p = AppendWSFrame(p, WSHead{FIN: !fragment, Opcode: wsOpcodes[op]}, []byte(payload))
	}
	return p
}

var wsOpcodes = []WSOpcode{WSContinuation, WSText, WSBinary, WSClose, WSPing, WSPong}

// wsSample returns frames of every kind, with violations in between.
func wsSample() []byte {
	var p []byte
	p = AppendWSServer(p, WSText, []byte("κόσμε"))
	p = AppendWSClient(p, WSBinary, [4]byte{1, 2, 3, 4}, bytes.Repeat([]byte{'x'}, 200))
	p = AppendWSFrame(p, WSHead{Opcode: WSText}, []byte("ab\xce"))
	p = AppendWSFrame(p, WSHead{FIN: true, RSV: 7, Opcode: WSPing, LengthBits: 64}, []byte("ping"))
	p = AppendWSFrame(p, WSHead{FIN: true, Opcode: WSContinuation, LengthBits: 16}, []byte("\xbacd\xff"))
	p = AppendWSFrame(p, WSHead{FIN: true, Opcode: 5}, nil)
	return AppendWSServer(p, WSClose, AppendWSClose(nil, 1006, "bye\xed\xa0\x80"))
}

func TestAnySplitOfAConnectionGivesTheSameFrames(t *testing.T) {
	good := wsSample()
	masked := AppendWSClient(nil, WSText, [4]byte{9, 8, 7, 6}, []byte("Hello, Wörld"))
	inputs := map[string][]byte{
		"frames with violations":      good,
		"cut in a head":               append(slices.Clone(good), 0x82, 127, 0),
		"cut in a payload":            append(slices.Clone(good), 0x82, 3, 0),
		"cut in a masked payload":     masked[:len(masked)-2],
		"a message over the limit":    wsFrames(t, "binary- "+strings.Repeat("a", 600), "ping x", "continuation- "+strings.Repeat("b", 500), "continuation c", "text d"),
		"a length with the high bit":  append(slices.Clone(good), 0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3),
		"a control frame of 600":      wsFrames(t, "close \x03\xe8"+strings.Repeat("ö", 299), "text after"),
		"a message inside a message":  wsFrames(t, "text- \xce", "binary whole", "continuation- \xba", "text- x\xce", "continuation \xff"),
		"an unfinished message":       wsFrames(t, "text- a", "ping"),
		"continuations of nothing":    wsFrames(t, "continuation- a", "continuation b"),
		"a whole frame for each byte": bytes.Repeat([]byte{0x81, 0}, 50),
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			assertSplitInvariant(t, input, func(chunks [][]byte) []string {
				return traceWS(chunks, WSDecoder{Limit: 1000})
			})
		})
	}
}

func TestWSViolations(t *testing.T) {
	tests := map[string]struct {
		input      []byte
		fromClient bool
		kind       Kind
		off        int64
	}{
		"a masked frame of a server":           {AppendWSClient(nil, WSText, [4]byte{}, nil), false, WSServerMasked, 0},
		"an unmasked frame of a client":        {wsFrames(t, "text"), true, WSClientUnmasked, 0},
		"RSV1":                                 {AppendWSFrame(nil, WSHead{FIN: true, RSV: WSRSV1, Opcode: WSBinary}, nil), false, WSReservedBits, 0},
		"RSV3 of a control frame":              {AppendWSFrame(wsFrames(t, "ping"), WSHead{FIN: true, RSV: WSRSV3, Opcode: WSPing}, nil), false, WSReservedBits, 2},
		"opcode 3":                             {AppendWSServer(nil, 3, nil), false, WSReservedOpcode, 0},
		"opcode 7":                             {AppendWSServer(nil, 7, nil), false, WSReservedOpcode, 0},
		"opcode 11":                            {AppendWSServer(nil, 11, nil), false, WSReservedOpcode, 0},
		"opcode 15":                            {AppendWSServer(nil, 15, nil), false, WSReservedOpcode, 0},
		"a fragmented ping":                    {wsFrames(t, "ping- x"), false, WSControlFragmented, 0},
		"a pong of 126 bytes":                  {wsFrames(t, "pong "+strings.Repeat("x", 126)), false, WSControlLength, 0},
		"125 in 16 bits":                       {AppendWSFrame(nil, WSHead{FIN: true, Opcode: WSBinary, LengthBits: 16}, make([]byte, 125)), false, WSLengthForm, 0},
		"65535 in 64 bits":                     {AppendWSFrame(nil, WSHead{FIN: true, Opcode: WSBinary, LengthBits: 64}, make([]byte, 65535)), false, WSLengthForm, 0},
		"a length of 2^63":                     {AppendWSHead(nil, WSHead{FIN: true, Opcode: WSBinary, Length: 1 << 63}), false, WSLengthHighBit, 0},
		"a continuation of nothing":            {wsFrames(t, "continuation x"), false, WSOrphan, 0},
		"a continuation after the last":        {wsFrames(t, "text- a", "continuation b", "continuation c"), false, WSOrphan, 6},
		"a message inside a message":           {wsFrames(t, "text- a", "text b", "continuation c"), false, WSInterrupted, 3},
		"an overlong form":                     {wsFrames(t, "text a\xc0\xaf"), false, WSTextUTF8, 3},
		"a surrogate, found at its middle":     {wsFrames(t, "text a\xed\xa0\x80"), false, WSTextUTF8, 4},
		"a character cut by the end":           {wsFrames(t, "text a\xe2\x82"), false, WSTextUTF8, 5},
		"UTF-8 wrong in the second frame":      {wsFrames(t, "text- \xf4", "ping", "continuation- \x90\x80", "continuation \x80"), false, WSTextUTF8, 7},
		"invalid UTF-8 twice is reported once": {wsFrames(t, "text \xff\xff"), false, WSTextUTF8, 2},
		"a Close of one byte":                  {wsFrames(t, "close \x03"), false, WSCloseLength, 0},
		"status code 1005":                     {AppendWSServer(nil, WSClose, AppendWSClose(nil, 1005, "")), false, WSCloseCode, 2},
		"a reason that is not UTF-8":           {AppendWSServer(nil, WSClose, AppendWSClose(nil, 1000, "a\xff")), false, WSCloseUTF8, 5},
		"a reason cut inside a character":      {AppendWSServer(nil, WSClose, AppendWSClose(nil, 1000, "a\xce")), false, WSCloseUTF8, 6},
		"data after Close":                     {wsFrames(t, "close", "ping", "close", "text x"), false, WSDataAfterClose, 6},
		"one byte of a head":                   {[]byte{0x81}, false, WSTruncatedHead, 1},
		"a head without its key":               {[]byte{0x81, 0x80, 1, 2, 3}, true, WSTruncatedHead, 5},
		"a payload of no bytes":                {[]byte{0x81, 1}, false, WSTruncatedPayload, 2},
		"no last frame":                        {wsFrames(t, "text- a", "ping"), false, WSUnfinished, 5},
		"a message of 1001 bytes":              {wsFrames(t, "binary- "+strings.Repeat("x", 999), "continuation xy"), false, WSMessageOverLimit, 1003},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limit := 1000
			if len(tt.input) > 60000 {
				limit = 0
			}
			var got []Violation
			d := WSDecoder{FromClient: tt.fromClient, Limit: limit, OnMessage: func(WSMessage) {}, OnViolation: func(v Violation) { got = append(got, v) }}
			d.Feed(tt.input)
			d.Close()
			if len(got) != 1 || got[0].Kind != tt.kind || got[0].Off != tt.off {
				t.Errorf("got %+v, want only %s at %d", got, tt.kind, tt.off)
			}
		})
	}
}

func TestEveryViolationOfAHeadIsReported(t *testing.T) {
	p := AppendWSFrame(nil, WSHead{RSV: WSRSV2, Opcode: 0xB, Masked: true, LengthBits: 64}, make([]byte, 126))
	var got []Kind
	d := WSDecoder{OnViolation: func(v Violation) { got = append(got, v.Kind) }}
	d.Feed(p)
	want := []Kind{WSReservedBits, WSReservedOpcode, WSControlFragmented, WSControlLength, WSServerMasked, WSLengthForm}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLegalFramesHaveNoViolations(t *testing.T) {
	long := strings.Repeat("x", 125)
	for name, input := range map[string][]byte{
		"empty messages, and Close":         wsFrames(t, "text", "binary", "ping", "pong", "close"),
		"control frames inside a message":   wsFrames(t, "text- a", "ping "+long, "continuation-", "pong", "continuation b"),
		"a character over three frames":     wsFrames(t, "text- \xe2", "continuation- \x82", "ping", "continuation \xac"),
		"non-characters and the last one":   wsFrames(t, "text \xef\xbf\xbe\xf4\x8f\xbf\xbf\xee\x80\x80\xed\x9f\xbf"),
		"bytes that are not text in binary": wsFrames(t, "binary \xff\xfe"),
		"ping and pong after Close":         wsFrames(t, "close", "ping", "pong"),
		"Close inside a message":            wsFrames(t, "text- a", "close"),
		"126 and 65536 bytes":               wsFrames(t, "binary "+strings.Repeat("x", 126), "binary "+strings.Repeat("x", 65536)),
		"nothing":                           nil,
	} {
		t.Run(name, func(t *testing.T) {
			d := WSDecoder{OnViolation: func(v Violation) { t.Error(v) }}
			d.Feed(input)
			if !d.Idle() || d.Ended() != strings.Contains(name, "Close") {
				t.Errorf("idle %t, ended %t", d.Idle(), d.Ended())
			}
			d.Close()
		})
	}
}

func TestBitsOfNegotiatedExtensionsAreLegalAndTheirPayloadIsNoText(t *testing.T) {
	p := AppendWSFrame(nil, WSHead{FIN: true, RSV: WSRSV1, Opcode: WSText}, []byte{0xff})
	d := WSDecoder{AllowedRSV: WSRSV1, OnViolation: func(v Violation) { t.Error(v) }}
	d.Feed(p)
}

func TestOnlyTheCloseCodesOfTheRegistryAreLegal(t *testing.T) {
	var legal []string
	for code := range 1 << 16 {
		from := code
		if LegalWSCloseCode(uint16(code)) && !LegalWSCloseCode(uint16(code-1)) {
			for LegalWSCloseCode(uint16(code + 1)) {
				code++
			}
			legal = append(legal, fmt.Sprintf("%d-%d", from, code))
		}
	}
	if got, want := strings.Join(legal, " "), "1000-1003 1007-1014 3000-4999"; got != want {
		t.Errorf("legal codes %s, want %s", got, want)
	}
}

func TestMessagesAreCollectedFromTheirFrames(t *testing.T) {
	var got []string
	d := WSDecoder{OnMessage: func(m WSMessage) {
		got = append(got, fmt.Sprintf("%s %d-%d %d %d %q", m.Opcode, m.Off, m.End, m.Frames, m.Size, m.Payload))
	}}
	d.Feed(wsFrames(t, "binary- ab", "ping p", "continuation-", "text t", "continuation cd", "text-  x", "binary- y", "continuation z", "close"))
	want := []string{
		`ping 4-7 1 1 "p"`, `text 9-12 1 1 "t"`, `binary 0-16 3 4 "abcd"`,
		`binary 20-26 2 2 "yz"`, `close 26-28 1 0 ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAMessageOverTheLimitIsStreamedAndNotCollected(t *testing.T) {
	var streamed int
	var got []WSMessage
	d := WSDecoder{
		Limit:     10,
		OnPayload: func(p []byte) { streamed += len(p) },
		OnMessage: func(m WSMessage) { got = append(got, m) },
	}
	feedBytes(&d, wsFrames(t, "binary- 123456", "continuation 78901", "text just-right"))
	if streamed != 21 || len(got) != 2 || !got[0].Dropped || got[0].Payload != nil || got[0].Size != 11 || got[1].Dropped {
		t.Errorf("%d bytes streamed, messages %+v", streamed, got)
	}
}

func TestAMessageWithoutMemoryIsDropped(t *testing.T) {
	var got []WSMessage
	d := WSDecoder{
		Reserve:     func(n int) bool { return n <= 4 },
		OnMessage:   func(m WSMessage) { got = append(got, m) },
		OnViolation: func(v Violation) { t.Error(v) },
	}
	feedBytes(&d, wsFrames(t, "binary 1234", "binary 12345", "binary 1"))
	if len(got) != 3 || got[0].Dropped || !got[1].Dropped || got[2].Dropped {
		t.Errorf("messages %+v, want only the second one dropped", got)
	}
}

func TestAHugeFrameNeedsNoMemory(t *testing.T) {
	head := AppendWSHead(nil, WSHead{FIN: true, Opcode: WSBinary, Length: 1<<63 - 1})
	var streamed int64
	d := WSDecoder{OnPayload: func(p []byte) { streamed += int64(len(p)) }, OnMessage: func(WSMessage) { t.Error("a message") }}
	d.Feed(head)
	chunk := make([]byte, 1<<20)
	for range 1 << 10 {
		d.Feed(chunk)
	}
	if streamed != 1<<30 || d.Lost() || cap(d.message.pieces) != 0 {
		t.Errorf("%d bytes streamed, lost %t, %d bytes kept", streamed, d.Lost(), cap(d.message.pieces))
	}
}

func TestTheMemoryOfAHugeMessageIsGivenBack(t *testing.T) {
	var sizes []int
	d := WSDecoder{OnMessage: func(m WSMessage) { sizes = append(sizes, len(m.Payload)) }}
	p := AppendWSServer(nil, WSBinary, make([]byte, 2*keepBuffer))
	d.Feed(p[:len(p)/2])
	d.Feed(p[len(p)/2:])
	if kept := cap(d.message.pieces); kept > keepBuffer || !slices.Equal(sizes, []int{2 * keepBuffer}) {
		t.Errorf("%d bytes are kept after messages of %d", kept, sizes)
	}
}

func TestAfterALengthOf2To63TheRestIsCounted(t *testing.T) {
	d := WSDecoder{OnPayload: func(p []byte) { t.Errorf("payload %q", p) }}
	d.Feed(AppendWSHead(nil, WSHead{FIN: true, Opcode: WSText, Length: 1<<64 - 1}))
	d.Feed([]byte("rest"))
	d.Close()
	if !d.Lost() || d.Skipped() != 4 || d.Idle() {
		t.Errorf("lost %t, %d bytes skipped", d.Lost(), d.Skipped())
	}
}

func TestTheMaskIsTheSameFromEveryPosition(t *testing.T) {
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		for pos := range uint64(9) {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			want := slices.Clone(p)
			for i := range want {
				want[i] ^= key[(pos+uint64(i))%4]
			}
			if got := AppendWSMasked([]byte("x"), p, key, pos); string(got) != "x"+string(want) {
				t.Fatalf("%d bytes at %d: %x, want %x", n, pos, got[1:], want)
			}
		}
	}
}

func TestEveryHeadIsReadAsItWasWritten(t *testing.T) {
	lengths := []uint64{0, 1, 125, 126, 127, 128, 1<<16 - 1, 1 << 16, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for first := range 256 {
		for _, length := range lengths {
			for _, bits := range []uint8{0, 7, 16, 64} {
				h := WSHead{FIN: first&0x80 != 0, RSV: byte(first >> 4 & 7), Opcode: WSOpcode(first & 15), Length: length, LengthBits: bits}
				if h.Masked = length%2 == 1; h.Masked {
					h.Key = [4]byte{1, 2, 3, 4}
				}
				p := AppendWSHead(nil, h)
				got, n := ParseWSHead(append(p, 0xff))
				if bits == 0 {
					h.LengthBits = shortestForm(length)
				}
				if fits := bits == 0 || bits == 64 || bits == 16 && length < 1<<16 || length <= 125; fits && (got != h || n != len(p)) {
					t.Fatalf("%x reads %+v in %d bytes, want %+v", p, got, n, h)
				}
			}
		}
	}
}

func TestUTF8FailsWhereNoTextCanGoOn(t *testing.T) {
	for _, tail := range []string{"", "\x80", "\xbf", "\x80\x80", "\x80\xbf", "\x80\x80\x80", "\xbf\xbf\xbf", "x"} {
		for b := range 1 << 16 {
			text := []byte{byte(b >> 8), byte(b)}
			text = append(text, tail...)
			var u utf8Check
			bad := u.feed(text)
			if valid := bad < 0 && !u.cut(); valid != utf8.Valid(text) {
				t.Fatalf("%q: valid %t", text, valid)
			}
			if bad >= 0 && !hopeless(text[:bad+1]) || bad > 0 && hopeless(text[:bad]) {
				t.Fatalf("%q: fails at %d", text, bad)
			}
		}
	}
}

// hopeless reports whether no text begins with p.
func hopeless(p []byte) bool {
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			return utf8.FullRune(p)
		}
		p = p[n:]
	}
	return false
}
