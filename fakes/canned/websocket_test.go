package canned

import (
	"strings"
	"testing"

	"assay/internal/wire"
)

// attach is a request for stdio over WebSocket, with the key of RFC 6455, section 1.3.
const attach = "GET /attach?cmd=seq&arg=2 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// said returns a message of a client.
func said(op wire.WSOpcode, payload string) string {
	return string(wire.AppendWSClient(nil, op, [4]byte{1, 2, 3, 4}, []byte(payload)))
}

// framesOf returns the messages behind the head of a 101 response.
func framesOf(t *testing.T, answer string) (all []string) {
	t.Helper()
	if head, rest, ok := strings.Cut(answer, "\r\n\r\n"); ok {
		if !strings.Contains(head+"\r\n", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") {
			t.Errorf("head %q", head)
		}
		answer = rest
	}
	d := wire.WSDecoder{
		OnMessage:   func(m wire.WSMessage) { all = append(all, m.Opcode.String()+" "+string(m.Payload)) },
		OnViolation: func(v wire.Violation) { t.Errorf("%+v", v) },
	}
	d.Feed([]byte(answer))
	return all
}

func TestAWebSocketHoldsTheEventsOfTheFile(t *testing.T) {
	t.Parallel()
	for _, file := range []string{twoLines, "{flush: together, events: [{lines: 1, times: 2}]}"} {
		r := newRig(t, file)
		c := r.dial()
		got := strings.Join(framesOf(t, r.say(c, attach)), "|")
		if want := "binary \x011\n|binary \x012\n|text {\"type\":\"exit\",\"code\":0}|close \x03\xe8"; got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		if c.closed {
			t.Error("the connection is closed before the client has answered the Close frame")
		}
		if r.say(c, said(wire.WSClose, "\x03\xe8")); !c.closed {
			t.Error("the connection is still open")
		}
		if b := r.counters; b.started != 1 || b.ok != 1 || b.killed != 0 {
			t.Errorf("counters %+v", b)
		}
	}
}

func TestASignalOverAWebSocketKills(t *testing.T) {
	t.Parallel()
	for _, cut := range []int{1, 5, 100} {
		r := newRig(t, ticks)
		c := r.dial()
		r.say(c, attach)
		var answer strings.Builder
		for text := said(wire.WSPing, "p") + said(wire.WSText, `{"type":"signal","signal":"SIGKILL"}`); text != ""; {
			n := min(cut, len(text))
			answer.WriteString(r.say(c, text[:n]))
			text = text[n:]
		}
		got := strings.Join(framesOf(t, answer.String()), "|")
		if want := "pong p|text {\"type\":\"exit\",\"code\":137}|close \x03\xe8"; got != want || r.counters.killed != 1 {
			t.Errorf("in pieces of %d: %q, want %q; counters %+v", cut, got, want, r.counters)
		}
	}
}

func TestAWebSocketThatTheClientEndsKills(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *rig, c *conn){
		"a Close frame": func(r *rig, c *conn) { r.say(c, said(wire.WSClose, "\x03\xe8")) },
		"a hang-up":     func(_ *rig, c *conn) { c.drop() },
		"a huge frame":  func(r *rig, c *conn) { r.say(c, "\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00") },
	} {
		r := newRig(t, ticks)
		c := r.dial()
		r.say(c, attach)
		if end(r, c); !c.closed || r.counters.killed != 1 || r.wheel.held != 0 || len(r.processes) != 0 {
			t.Errorf("%s: closed %v, counters %+v, %d timers", name, c.closed, r.counters, r.wheel.held)
		}
	}
}

func TestAnAttachWithoutAnUpgradeIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoLines)
	if got := r.say(r.dial(), "GET /attach?cmd=x HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 404 ") {
		t.Errorf("got %q", got)
	}
}
