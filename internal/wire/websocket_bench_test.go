package wire

import (
	"bytes"
	"testing"
)

func TestWSFramesAreDecodedAndEncodedWithoutAllocation(t *testing.T) {
	key := [4]byte{1, 2, 3, 4}
	payload := []byte("\x01" + string(bytes.Repeat([]byte("κ"), 500)))
	server := AppendWSServer(nil, WSText, payload)
	client := AppendWSClient(nil, WSText, key, payload)
	fragments := AppendWSFrame(nil, WSHead{Opcode: WSText}, payload)
	fragments = AppendWSServer(fragments, WSPing, payload[:100])
	fragments = AppendWSFrame(fragments, WSHead{FIN: true}, payload)
	var frames, bytesSeen, messages int
	decoder := func(fromClient bool) *WSDecoder {
		return &WSDecoder{
			FromClient: fromClient,
			OnFrame:    func(WSFrame) { frames++ }, OnPayload: func(p []byte) { bytesSeen += len(p) },
			OnMessage: func(WSMessage) { messages++ }, OnViolation: func(v Violation) { t.Error(v) },
		}
	}
	s, c := decoder(false), decoder(true)
	buf := make([]byte, 0, 4096)
	tests := map[string]func(){
		"a frame of a server": func() { s.Feed(server) },
		"cut in the head":     func() { s.Feed(server[:3]); s.Feed(server[3:]) },
		"cut in the payload":  func() { s.Feed(server[:500]); s.Feed(server[500:]) },
		"cut in every byte":   func() { feedBytes(s, server) },
		"a frame of a client": func() { c.Feed(client) },
		"a client's, cut":     func() { c.Feed(client[:7]); c.Feed(client[7:501]); c.Feed(client[501:]) },
		"fragments":           func() { s.Feed(fragments) },
		"encoding":            func() { buf = AppendWSClient(buf[:0], WSBinary, key, payload); messages++ },
		"encoding by field": func() {
			buf = AppendWSFrame(buf[:0], WSHead{RSV: 5, Opcode: WSPing, LengthBits: 64, Masked: true}, payload)
			messages++
		},
		"encoding a close": func() { buf = AppendWSClose(buf[:0], 1000, "bye"); messages++ },
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			run()
			before := messages
			if n := testing.AllocsPerRun(100, run); n != 0 {
				t.Errorf("%v allocations", n)
			}
			if messages-before < 101 {
				t.Errorf("%d messages, want at least 101", messages-before)
			}
		})
	}
}

func BenchmarkWSDecoder(b *testing.B) {
	const frames = 64
	payload := bytes.Repeat([]byte{'x'}, 100)
	var server, client, text []byte
	for range frames {
		server = AppendWSServer(server, WSBinary, payload)
		client = AppendWSClient(client, WSBinary, [4]byte{1, 2, 3, 4}, payload)
		text = AppendWSServer(text, WSText, payload)
	}
	bench := func(name string, p []byte, d WSDecoder, chunk int) {
		b.Run(name, func(b *testing.B) {
			d.OnFrame, d.OnMessage = func(WSFrame) {}, func(WSMessage) {}
			b.ReportAllocs()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				for rest := p; len(rest) > 0; {
					n := min(chunk, len(rest))
					d.Feed(rest[:n])
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
		})
	}
	bench("server", server, WSDecoder{}, len(server))
	bench("server cut", server, WSDecoder{}, 77)
	bench("text", text, WSDecoder{}, len(text))
	bench("client", client, WSDecoder{FromClient: true}, len(client))
	bench("32 KiB", AppendWSServer(nil, WSBinary, make([]byte, 32<<10)), WSDecoder{}, 64<<10)
}

func BenchmarkMaskWS(b *testing.B) {
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		MaskWS(p, [4]byte{1, 2, 3, 4}, 1)
	}
}
