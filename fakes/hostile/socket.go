package hostile

import (
	"net"
	"net/http"
	"strings"

	"assay/internal/base/crash"
	"assay/internal/wire"
)

// socketModes serve like the gateway, but answer handshakes on the stdio surface themselves.
func socketModes() []Mode {
	mode := func(id string, talk func(c net.Conn, switched string)) Mode {
		return Mode{ID: "ws-" + id, Layer: "websocket", Scope: Sockets, front: func(w http.ResponseWriter, r *call) bool {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return false
			}
			defer func() { _ = c.Close() }()
			accept := wire.WSAccept(r.Header.Get("Sec-WebSocket-Key"))
			talk(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+accept+"\r\n\r\n")
			return true
		}}
	}
	frame := func(op wire.WSOpcode, payload string) string {
		return string(wire.AppendWSServer(nil, op, []byte(payload)))
	}
	head := func(h wire.WSHead) string { return string(wire.AppendWSHead(nil, h)) }
	exit := frame(wire.WSText, `{"type":"exit","code":0}`) + frame(wire.WSClose, "\x03\xe8")
	block := frame(wire.WSBinary, "\x01"+strings.Repeat("x", 32<<10))
	// then switches protocols, sends a beginning and repeats the rest without end.
	then := func(id, first, more string) Mode {
		return mode(id, func(c net.Conn, switched string) {
			crash.Go(func() { drain(c) })
			if send(c, switched+first) && more != "" {
				flood(c, more)
			}
		})
	}
	return []Mode{
		mode("status-200", func(c net.Conn, _ string) { send(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }),
		mode("wrong-accept", func(c net.Conn, switched string) { send(c, strings.Replace(switched, "Accept: ", "Accept: x", 1)+exit) }),
		mode("gone-at-once", func(c net.Conn, switched string) { send(c, switched) }),
		mode("gone-in-frame", func(c net.Conn, switched string) { send(c, switched+block[:len(block)/2]) }),
		mode("silent", func(c net.Conn, switched string) {
			send(c, switched)
			drain(c)
		}),
		mode("gigabyte", func(c net.Conn, switched string) {
			crash.Go(func() { drain(c) })
			send(c, switched)
			for range 1 << 15 {
				if !send(c, block) {
					return
				}
			}
			send(c, exit)
		}),
		then("endless-output", "", block),
		then("endless-pings", "", strings.Repeat(frame(wire.WSPing, "are you there?"), 100)),
		then("endless-messages", "", strings.Repeat(frame(wire.WSText, `{"type":"error","message":"no"}`), 100)),
		then("endless-exits", "", strings.Repeat(frame(wire.WSText, `{"type":"exit","code":0}`), 100)),
		then("endless-fragments", head(wire.WSHead{Opcode: wire.WSBinary}), strings.Repeat(head(wire.WSHead{Opcode: wire.WSContinuation}), 1000)),
		then("endless-message", head(wire.WSHead{Opcode: wire.WSText}), head(wire.WSHead{Opcode: wire.WSContinuation, Length: 32 << 10})+strings.Repeat("x", 32<<10)),
		then("length-2-63", head(wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 63}), block),
		then("length-2-62", head(wire.WSHead{FIN: true, Opcode: wire.WSBinary, Length: 1 << 62}), block),
		then("invalid-utf-8", "", frame(wire.WSText, "\xff\xfe\xc0\x80")),
		then("compressed", "", head(wire.WSHead{FIN: true, RSV: 4, Opcode: wire.WSBinary, Length: 7})+"\xaa\x56\x4a\x2d\x2a\x52\x02"),
		then("garbage", "", "\x1b]0;owned\x07 not a frame \x7f\xff\x00"),
	}
}
