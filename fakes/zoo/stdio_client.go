package zoo

import (
	"bytes"

	"assay/internal/wire"
)

// wsClientFaults returns the faults in how the frames of the client are checked.
func wsClientFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-unmasked-accepted",
			Title:  "Unmasked frames of the client are accepted",
			Breaks: []string{"stdio.client.masked"},
			Source: "RFC 6455 5.1: hand-written servers; the mask protects proxies between",
		}, eachClientFrame(func(f wsFrame) wsFrame {
			f.Masked = true
			return f
		})},
		{Fault{
			ID:     "stdio-reserved-accepted",
			Title:  "Reserved bits and frames with a reserved opcode are ignored",
			Breaks: []string{"stdio.client.reserved"},
			Source: "RFC 6455 5.2: hand-written servers with a default branch",
		}, eachClientFrames(func(f wsFrame, next func(wsFrame)) {
			f.RSV = 0
			if f.Opcode <= wire.WSBinary || f.Opcode >= wire.WSClose && f.Opcode <= wire.WSPong {
				next(f)
			}
		})},
		{Fault{
			ID:     "stdio-control-unchecked",
			Title:  "Control frames may be fragmented, and as long as they like",
			Breaks: []string{"stdio.client.control"},
			Source: "RFC 6455 5.5: hand-written servers",
		}, eachClientFrame(func(f wsFrame) wsFrame {
			if !f.Opcode.Control() || f.Opcode > wire.WSPong {
				return f
			}
			f.FIN = true
			return f.with(f.payload[:min(len(f.payload), wire.MaxWSControl)])
		})},
		{Fault{
			ID:     "stdio-sequence-unchecked",
			Title:  "A continuation without a start is a message, and a new message ends one that is not whole",
			Breaks: []string{"stdio.client.sequence"},
			Source: "RFC 6455 5.4: hand-written servers that read FIN and nothing else",
		}, toServer(looseSequence)},
		{Fault{
			ID:     "stdio-utf-8-unchecked",
			Title:  "Text that is not UTF-8 is accepted",
			Breaks: []string{"stdio.client.utf-8"},
			Source: "RFC 6455 8.1: Go and Rust servers that take bytes for text",
		}, toServer(func() func(wsFrame, func(wsFrame)) {
			text, held := false, []byte(nil)
			return func(f wsFrame, next func(wsFrame)) {
				if f.isData() {
					text = f.Opcode == wire.WSText || text && f.Opcode == wire.WSContinuation
				}
				if !text || !f.isData() {
					next(f)
					return
				}
				if held = append(held, f.payload...); f.FIN {
					next(f.as(wire.WSText, string(bytes.ToValidUTF8(held, []byte("?")))))
					text, held = false, nil
				}
			}
		})},
		{Fault{
			ID:     "stdio-too-big-cut",
			Title:  "Of a message of more than 1 MiB, the first MiB is taken",
			Breaks: []string{"stdio.client.too-big"},
			Source: "RFC 6455 7.4.1: servers with a buffer of one size",
		}, eachClientFrame(func(f wsFrame) wsFrame {
			if len(f.payload) > mostTaken {
				return f.with(f.payload[:mostTaken])
			}
			return f
		})},
		{Fault{
			ID:     "stdio-fragments-dropped",
			Title:  "Of a binary message in fragments, the last one is taken",
			Breaks: []string{"stdio.client.fragmented"},
			Source: "RFC 6455 5.4: hand-written servers that read FIN as the end of the data",
		}, toServer(func() func(wsFrame, func(wsFrame)) {
			binary := false
			return func(f wsFrame, next func(wsFrame)) {
				if f.isData() && f.Opcode != wire.WSContinuation {
					binary = f.Opcode == wire.WSBinary
				}
				if f.isData() && binary && !f.FIN {
					f = f.with(nil)
				}
				next(f)
			}
		})},
		{Fault{
			ID:     "stdio-pong-refused",
			Title:  "An unsolicited pong is a protocol error",
			Breaks: []string{"stdio.ping.pong-ignored"},
			Source: "RFC 6455 5.5.3: keepalives that expect every pong",
		}, onWSFrames(func(*wsConn) wsStage {
			pinged := false
			return wsStage{
				toClient: func(f wsFrame, next func(wsFrame)) {
					pinged = pinged || f.Opcode == wire.WSPing
					next(f)
				},
				toServer: func(f wsFrame, next func(wsFrame)) {
					if f.Opcode == wire.WSPong && !pinged {
						f.RSV = wire.WSRSV3
					}
					next(f)
				},
			}
		})},
	}
}

// mostTaken is how much of a message a server with a fixed buffer takes.
const mostTaken = 1 << 20

// eachClientFrames changes the frames of the client one by one.
func eachClientFrames(change func(f wsFrame, next func(wsFrame))) func(*build) {
	return toServer(func() func(wsFrame, func(wsFrame)) { return change })
}

// eachClientFrame replaces every frame of the client.
func eachClientFrame(change func(f wsFrame) wsFrame) func(*build) {
	return eachClientFrames(func(f wsFrame, next func(wsFrame)) { next(change(f)) })
}

// looseSequence repairs the sequence of fragments.
func looseSequence() func(f wsFrame, next func(wsFrame)) {
	open := false
	return func(f wsFrame, next func(wsFrame)) {
		if !f.isData() || f.Opcode > wire.WSBinary {
			next(f)
			return
		}
		switch start := f.Opcode != wire.WSContinuation; {
		case start && open:
			end := f
			end.FIN, end.Opcode = true, wire.WSContinuation
			next(end.with(nil))
		case !start && !open:
			f.Opcode = wire.WSBinary
		}
		open = !f.FIN
		next(f)
	}
}
