package canned

import (
	"bytes"
	"strings"

	"assay/internal/wire"
)

// attachPath is the path of stdio over WebSocket.
const attachPath = "/attach"

// acceptHere stands for the Sec-WebSocket-Accept in the head of a response.
const acceptHere = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="

// switching is the head of a 101 response.
const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + acceptHere + "\r\n\r\n"

// killedCode is the exit code of a killed process on this surface.
const killedCode = 128 + 9

// attaches reports whether a request asks for stdio over WebSocket.
func (r *requestHead) attaches() bool {
	path, _, _ := strings.Cut(r.path, "?")
	return r.method == "GET" && strings.HasSuffix(path, attachPath) && r.upgrades && r.key != ""
}

// appendSwitch appends the head of the response to a key.
func (e *encoding) appendSwitch(dst []byte, key string) []byte {
	n := len(dst)
	dst = append(dst, e.head1...)
	copy(dst[n+len(switching)-len(acceptHere)-4:], wire.WSAccept(key))
	return dst
}

// output, exit and tail of stdio over WebSocket.
func outputFrame(p []byte) []byte {
	return wire.AppendWSServer(nil, wire.WSBinary, wire.AppendStdioOutput(nil, wire.StdioStdout, p))
}

func exitFrame(code int32, killed bool) []byte {
	if killed {
		code = killedCode
	}
	return wire.AppendWSServer(nil, wire.WSText, wire.AppendStdioExit(nil, int(code)))
}

func closeFrame() []byte {
	return wire.AppendWSServer(nil, wire.WSClose, wire.AppendWSClose(nil, 1000, ""))
}

// readMessages reads the frames of a client; it returns the rest of p.
func (c *conn) readMessages(p []byte) []byte {
	for !c.closed {
		h, n := wire.ParseWSHead(p)
		if n == 0 || h.Length > maxUnparsed {
			if n > 0 {
				c.drop()
			}
			return p
		}
		if uint64(len(p)-n) < h.Length {
			return p
		}
		payload := bytes.Clone(p[n : n+int(h.Length)])
		p = p[n+int(h.Length):]
		wire.MaskWS(payload, h.Key, 0)
		c.handle(h.Opcode, payload)
	}
	return nil
}

// handle acts on a message of a client: any signal kills the process, and input is ignored. A
// Close frame ends the connection, and a process that still runs is killed.
func (c *conn) handle(op wire.WSOpcode, payload []byte) {
	switch op {
	case wire.WSClose:
		if c.h1.stream != nil {
			c.send(wire.AppendWSServer(nil, wire.WSClose, payload))
		}
		c.drop()
	case wire.WSPing:
		c.send(wire.AppendWSServer(nil, wire.WSPong, payload))
	case wire.WSText:
		if s := c.h1.stream; s != nil && bytes.Contains(payload, []byte(`"signal"`)) {
			c.gateway.kill(s.pid)
		}
	case wire.WSBinary, wire.WSContinuation, wire.WSPong:
	}
}
