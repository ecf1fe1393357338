package zoo

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"assay/internal/base/crash"
	"assay/internal/wire"
)

// wsFrameFaults returns the faults in the frames that the server sends.
func wsFrameFaults() []fault {
	return []fault{
		{Fault{
			ID:     "stdio-frames-masked",
			Title:  "The frames of the server are masked",
			Breaks: []string{"stdio.frame.unmasked"},
			Source: "RFC 6455 5.1: servers that write with the client's half of a library",
		}, eachFrame(func(f wsFrame) wsFrame {
			f.Masked, f.Key = true, [4]byte{0x37, 0xfa, 0x21, 0x3d}
			return f
		})},
		{Fault{
			ID:     "stdio-reserved-bit",
			Title:  "Output has the bit of compression, and is not compressed",
			Breaks: []string{"stdio.frame.syntax"},
			Source: "RFC 7692 6: servers that compress what is long enough, and mark everything",
		}, eachFrame(func(f wsFrame) wsFrame {
			if f.Opcode == wire.WSBinary {
				f.RSV = wire.WSRSV1
			}
			return f
		})},
		{Fault{
			ID:     "stdio-length-long",
			Title:  "The length of every message has 64 bits",
			Breaks: []string{"stdio.frame.syntax"},
			Source: "RFC 6455 5.2: hand-written frames",
		}, eachFrame(func(f wsFrame) wsFrame {
			if f.isData() {
				f.LengthBits = 64
			}
			return f
		})},
		{Fault{
			ID:     "stdio-pong-long",
			Title:  "A session begins with a pong of 126 bytes",
			Breaks: []string{"stdio.frame.control"},
			Source: "RFC 6455 5.5: heartbeats with a status in them",
		}, atBegin(func(next func(wsFrame)) { next(serverFrame(wire.WSPong, strings.Repeat("p", 126))) })},
		{Fault{
			ID:     "stdio-ping-fragmented",
			Title:  "A session begins with a ping whose FIN bit is clear",
			Breaks: []string{"stdio.frame.control"},
			Source: "RFC 6455 5.5: frames that are built from a zero value",
		}, atBegin(func(next func(wsFrame)) {
			f := serverFrame(wire.WSPing, "p")
			f.FIN = false
			next(f)
		})},
		{Fault{
			ID:     "stdio-fragment-stray",
			Title:  "An empty last fragment follows every message of output",
			Breaks: []string{"stdio.frame.fragments"},
			Source: "RFC 6455 5.4: servers that end a message again when they flush",
		}, eachFrames(func(f wsFrame, next func(wsFrame)) {
			next(f)
			if f.Opcode == wire.WSBinary {
				next(serverFrame(wire.WSContinuation, ""))
			}
		})},
		{Fault{
			ID:     "stdio-frame-cut",
			Title:  "A session that ends with another exit code than 0 ends inside of its Close frame",
			Breaks: []string{"stdio.frame.whole", "stdio.close.normal"},
			Source: "gateways that exit with their process, before the last write is done",
		}, cutClose},
		{Fault{
			ID:     "stdio-text-not-utf-8",
			Title:  "An error message quotes the client in Latin-1",
			Breaks: []string{"stdio.frame.text", "stdio.message.valid"},
			Source: "RFC 6455 8.1: servers that cut a quotation inside of a character",
		}, eachFrame(func(f wsFrame) wsFrame {
			if f.Opcode == wire.WSText && bytes.HasPrefix(f.payload, []byte(`{"type":"error","message":"`)) {
				f.payload = bytes.Replace(f.payload, []byte(`"message":"`), []byte("\"message\":\"\xab"), 1)
			}
			return f.with(f.payload)
		})},
		{Fault{
			ID:     "stdio-ping-unanswered",
			Title:  "A ping is not answered",
			Breaks: []string{"stdio.ping.answered", "stdio.ping.busy"},
			Source: "RFC 6455 5.5.2: hand-written servers, which the keepalive of a client or a proxy ends",
		}, eachFrames(func(f wsFrame, next func(wsFrame)) {
			if f.Opcode != wire.WSPong {
				next(f)
			}
		})},
		{Fault{
			ID:     "stdio-pong-empty",
			Title:  "A pong has no payload",
			Breaks: []string{"stdio.ping.answered", "stdio.ping.busy"},
			Source: "RFC 6455 5.5.3: hand-written servers",
		}, eachFrame(func(f wsFrame) wsFrame {
			if f.Opcode == wire.WSPong {
				return f.with(nil)
			}
			return f
		})},
		{Fault{
			ID:     "stdio-pong-starved",
			Title:  "A ping is not answered while output flows",
			Breaks: []string{"stdio.ping.busy"},
			Source: "daytona#3678: a pong waits for the lock of the output",
		}, toClient(starvedPong)},
	}
}

// serverFrame returns a frame of a server.
func serverFrame(op wire.WSOpcode, payload string) wsFrame {
	return wsFrame{wire.WSHead{FIN: true, Opcode: op}, []byte(payload)}
}

// eachFrames changes the frames of the server one by one.
func eachFrames(change func(f wsFrame, next func(wsFrame))) func(*build) {
	return toClient(func() func(wsFrame, func(wsFrame)) { return change })
}

// eachFrame replaces every frame of the server.
func eachFrame(change func(f wsFrame) wsFrame) func(*build) {
	return eachFrames(func(f wsFrame, next func(wsFrame)) { next(change(f)) })
}

// atBegin sends frames in front of the first one of the server.
func atBegin(begin func(next func(wsFrame))) func(*build) {
	return toClient(func() func(wsFrame, func(wsFrame)) {
		begun := false
		return func(f wsFrame, next func(wsFrame)) {
			if !begun && f.Opcode != wire.WSClose {
				begin(next)
			}
			begun = true
			next(f)
		}
	})
}

// fragment cuts a message into fragments of at most size bytes.
func fragment(f wsFrame, size int, next func(wsFrame)) {
	if !f.isData() || !f.FIN || len(f.payload) <= size {
		next(f)
		return
	}
	parts := slices.Collect(slices.Chunk(f.payload, size))
	for n, part := range parts {
		head := f.WSHead
		head.FIN, head.LengthBits = n == len(parts)-1, 0
		if n > 0 {
			head.Opcode = wire.WSContinuation
		}
		next(wsFrame{head, part})
	}
}

// cutClose sends all but the last byte of the Close frame of a session that fails.
func cutClose(b *build) {
	onWSFrames(func(c *wsConn) wsStage {
		failed := false
		cut := false
		return wsStage{
			toClient: func(f wsFrame, next func(wsFrame)) {
				if code, ok := exitOf(f.payload); ok && f.Opcode == wire.WSText {
					failed = code != 0
				}
				cut = cut || failed && f.Opcode == wire.WSClose
				c.last = cut
				next(f)
			},
			write: func(p []byte) error {
				if cut {
					p = p[:len(p)-1]
				}
				_, err := c.Conn.Write(p)
				return err
			},
		}
	})(b)
}

// The rate of output above which starvedPong sends no pong.
const (
	busyBytes = 4 << 10
	busyTime  = 250 * time.Millisecond
)

// starvedPong drops pongs within busyTime of the last of busyBytes of output without a pause.
func starvedPong() func(f wsFrame, next func(wsFrame)) {
	var last time.Time
	flowed := 0
	return func(f wsFrame, next func(wsFrame)) {
		rests := time.Since(last) > busyTime
		switch {
		case f.Opcode == wire.WSPong && flowed > busyBytes && !rests:
			return
		case f.isData():
			if rests {
				flowed = 0
			}
			flowed += len(f.payload)
			last = time.Now()
		}
		next(f)
	}
}

// pingEvery is the interval of the pings of stdio-pings.
const pingEvery = 50 * time.Millisecond

// wsFrameVariants returns the variants in the frames that the server sends.
func wsFrameVariants() []variant {
	return []variant{
		{Variant{
			ID:     "stdio-fragments",
			Title:  "Every message is cut into fragments of at most 1,000 bytes, the first of 1 byte, with pings between",
			Source: "RFC 6455 section 5.4: fragments mean nothing, and control frames may be between them",
		}, eachFrames(func(f wsFrame, next func(wsFrame)) {
			if !f.isData() || len(f.payload) < 2 {
				next(f)
				return
			}
			first, rest := f, f
			first.FIN, rest.Opcode = false, wire.WSContinuation
			next(first.with(f.payload[:1]))
			next(serverFrame(wire.WSPing, ""))
			fragment(rest.with(f.payload[1:]), 1000, next)
		})},
		{Variant{
			ID:     "stdio-pings",
			Title:  "The server sends a ping with a payload every 50 ms",
			Source: "RFC 6455 section 5.5.2: a ping may come at any time; kubectl and ttyd send them for idle proxies",
		}, onWSFrames(pings)},
		{Variant{
			ID:     "stdio-pongs",
			Title:  "An unsolicited pong precedes every message",
			Source: "RFC 6455 section 5.5.3: a one-way heartbeat",
		}, eachFrames(func(f wsFrame, next func(wsFrame)) {
			if f.isData() && f.FIN {
				next(serverFrame(wire.WSPong, "alive"))
			}
			next(f)
		})},
		{Variant{
			ID:     "stdio-drops-offenders",
			Title:  "After a protocol error of the client, the connection ends without a Close frame",
			Source: "RFC 6455 section 7.1.7: a server that fails a connection may omit the Close frame",
		}, onWSFrames(func(c *wsConn) wsStage {
			return wsStage{toClient: func(f wsFrame, next func(wsFrame)) {
				switch code, _, _ := wire.ParseWSClose(f.payload); {
				case f.Opcode == wire.WSClose && (code == 1002 || code == 1003 || code == 1007 || code == 1009):
					c.last = true
				default:
					next(f)
				}
			}}
		})},
	}
}

// pings sends pings until the Close frame.
func pings(c *wsConn) wsStage {
	over := make(chan struct{})
	closing := false
	crash.Go(func() {
		beat := time.NewTicker(pingEvery)
		defer beat.Stop()
		for {
			select {
			case <-over:
				return
			case <-c.closed:
				return
			case <-beat.C:
				c.ping("beat", over)
			}
		}
	})
	return wsStage{toClient: func(f wsFrame, next func(wsFrame)) {
		if f.Opcode == wire.WSClose && !closing {
			closing = true
			close(over)
		}
		next(f)
	}}
}

// ping sends a ping unless over is closed.
func (c *wsConn) ping(payload string, over <-chan struct{}) {
	c.writing.Lock()
	defer c.writing.Unlock()
	select {
	case <-over:
	default:
		_, _ = c.Conn.Write(wire.AppendWSServer(nil, wire.WSPing, []byte(payload))) // the client may be gone
	}
}
