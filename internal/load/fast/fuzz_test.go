//go:build linux && (amd64 || arm64)

package fast

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/load/loadtest"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// outcomeH1 feeds a response in pieces of piece bytes (0 is all at once) and then the end of
// the connection, and returns the outcome.
func outcomeH1(tb testing.TB, p []byte, piece int) string {
	l, sink := bench(tb, load.ProtocolConnect, load.CodecJSON, load.HTTP11, fiveLines)
	// The head of a good response is known from an earlier stream, as in a run.
	oneStream(l, wholeAnswer(), 1)
	i, s := l.testStream()
	ci, c := l.testConn(i, s)
	for rest := p; len(rest) > 0; {
		n := len(rest)
		if piece > 0 {
			n = min(piece, n)
		}
		l.feedConn(ci, rest[:n])
		rest = rest[n:]
	}
	if c.state == connBusy {
		l.arrived(0)
		l.eof(ci, c)
	}
	return told(tb, l, sink)
}

// told returns the outcome of the last stream. It answers a kill first.
func told(tb testing.TB, l *loop, sink *loadtest.Last) string {
	if l.streams.StartCalls(); l.streams.Calling() > 0 {
		i, s := l.queued()
		l.streams.Head(i, s, 200, []wire.Field{{Name: "grpc-status", Value: "0"}})
		l.streams.End(i, s, nil)
	}
	if sink.Count == 0 || l.streams.Open() != 0 || l.streams.Calling() != 0 {
		tb.Fatalf("%d ended, %d are open, %d calls", sink.Count, l.streams.Open(), l.streams.Calling())
	}
	r := sink.Result
	return fmt.Sprintf("%v %d %v %s", r.Outcome, r.Fate, r.Refused, r.Message)
}

// FuzzResponse: an HTTP/1.1 response has the same outcome in any split, and nothing panics.
func FuzzResponse(f *testing.F) {
	whole := wholeAnswer()
	f.Add(whole, byte(1))
	f.Add(whole[:len(whole)-30], byte(7))
	f.Add([]byte(strings.Replace(string(whole), "\r\n22\r\n", "\r\n22;x=y\r\n", 1)), byte(3))
	f.Add([]byte(strings.Replace(string(whole), "0\r\n\r\n", "0\r\nx: y\r\n\r\n", 1)), byte(2))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), byte(5))
	f.Add([]byte(strings.Replace(string(whole), "MQo=", "MQ==", 1)), byte(1))
	f.Fuzz(func(t *testing.T, p []byte, piece byte) {
		if len(p) > 4<<10 {
			return
		}
		all := outcomeH1(t, p, 0)
		if strings.Contains(all, "http.extra") {
			return // in a later read, the extra bytes belong to no stream
		}
		if got := outcomeH1(t, p, int(piece%64)+1); got != all {
			t.Errorf("in pieces of %d:\n%s\nat once:\n%s", piece%64+1, got, all)
		}
	})
}

// outcomeH2 does the same with the bytes of an HTTP/2 connection on which stream 1 is open.
func outcomeH2(tb testing.TB, p []byte, piece int) string {
	l, sink := bench(tb, load.ProtocolGRPC, load.CodecProto, load.H2C, fiveLines)
	c := l.testMux()
	c.testStream(l)
	for rest := p; len(rest) > 0 && c.state != muxDead; {
		n := len(rest)
		if piece > 0 {
			n = min(piece, n)
		}
		l.feedMux(c, rest[:n])
		rest = rest[n:]
	}
	if c.state != muxDead {
		c.die(account.ClosedH2("EOF"))
	}
	return told(tb, l, sink)
}

// FuzzMux: the same for HTTP/2.
func FuzzMux(f *testing.F) {
	head := []byte{0x88, 0x0f, 0x10, 22}
	head = append(head, "application/grpc+proto"...)
	good := headersOf(nil, 1, head, false)
	var body strings.Builder
	body.WriteString(loadtest.Env(0, "\x0a\x04\x0a\x02\x08\x07"))
	for n := 1; n <= 5; n++ {
		body.WriteString(loadtest.Env(0, fmt.Sprintf("\x0a\x06\x12\x04\x0a\x02%d\n", n)))
	}
	body.WriteString(loadtest.Env(0, "\x0a\x02\x1a\x00"))
	good = h2.AppendData(good, 1, []byte(body.String()), false)
	trailers := append([]byte{0x00, 0x0b}, "grpc-status\x010"...)
	f.Add(headersOf(good, 1, trailers, true), byte(1))
	f.Add(good, byte(5))
	f.Add(h2.AppendReset(good, 1, http2.ErrCodeCancel), byte(3))
	f.Add(h2.Frame{Type: http2.FramePing}.Append(good), byte(3))
	f.Add(h2.AppendData(headersOf(nil, 1, []byte{0x88, 0x40, 1, 'a', 1, 'b'}, false), 1, []byte("x"), true), byte(2))
	f.Add([]byte("\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff"), byte(4))
	f.Fuzz(func(t *testing.T, p []byte, piece byte) {
		if len(p) > 4<<10 {
			return
		}
		all := outcomeH2(t, p, 0)
		if got := outcomeH2(t, p, int(piece%64)+1); got != all {
			t.Errorf("in pieces of %d:\n%s\nat once:\n%s", piece%64+1, got, all)
		}
	})
}

// FuzzChangesTable: a block for which changesTable returns false does not change the table:
// references mean the same before and after it.
func FuzzChangesTable(f *testing.F) {
	f.Add([]byte{0x88, 0x0f, 0x10, 1, 'x'})
	f.Add([]byte{0x40, 1, 'a', 1, 'b'})
	f.Add([]byte{0x20, 0x88})
	f.Add([]byte{0x00, 1, 'a', 0x81, 0x8c})
	f.Fuzz(func(t *testing.T, p []byte) {
		if changesTable(p) {
			return
		}
		d := hpack.NewDecoder(4096, nil)
		references := []byte{0xbe, 0xbf}
		before, err := d.DecodeFull([]byte{0x40, 1, 'k', 1, 'v', 0x40, 1, 'l', 1, 'w', 0xbe, 0xbf})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.DecodeFull(p); err != nil {
			return // the connection ends
		}
		after, err := d.DecodeFull(references)
		if err != nil || fmt.Sprint(before[2:]) != fmt.Sprint(after) {
			t.Errorf("%x turns %v into %v, %v", p, before[2:], after, err)
		}
	})
}
