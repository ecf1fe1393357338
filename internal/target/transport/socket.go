package transport

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/internal/base/crash"
	"assay/internal/envd"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// framingUpgrade is the framing of a 101 response: WebSocket frames until the connection ends.
const framingUpgrade = "upgrade"

// socket decodes the frames of a WebSocket that carries stdio: output and the exit become
// events, text becomes messages. Unless the connection is raw, it answers pings and the close.
type socket struct {
	x     *Exchange
	dec   wire.WSDecoder
	stdio wire.StdioDecoder

	current int            // index of the frame under way, -1 if it is not recorded
	text    bool           // the message under way is a text
	sent    wire.WSDecoder // what we send, to know whether we have sent a close
	closing bool           // we have sent a close
	replies chan []byte    // frames to send by ourselves
	keys    *rand.ChaCha8  // of our masks
}

func newSocket(x *Exchange) *socket {
	s := &socket{x: x, current: -1, keys: rand.NewChaCha8([32]byte{byte(x.rec.ID)}), stdio: wire.StdioDecoder{Panes: true}}
	s.dec = wire.WSDecoder{
		Reserve: x.reserve, OnFrame: s.frame, OnMessage: s.message,
		OnViolation: func(v wire.Violation) { x.violate(inFrame, v) },
	}
	s.sent = wire.WSDecoder{FromClient: true, OnFrame: func(f wire.WSFrame) {
		s.closing = s.closing || f.Head.Opcode == wire.WSClose
	}}
	return s
}

func (s *socket) feed(p []byte, _ bundle.Stamp) { s.dec.Feed(p) }

func (s *socket) close() {}

// frame records one frame when its head is complete.
func (s *socket) frame(f wire.WSFrame) {
	s.current = -1
	if s.x.over {
		return
	}
	h := f.Head
	if h.RSV&s.dec.AllowedRSV != 0 {
		s.x.leaveUnread("an extension changed its messages")
		return
	}
	first := h.RSV<<4 | byte(h.Opcode)
	if h.FIN {
		first |= 0x80
	}
	rec := bundle.Frame{Flags: first, Off: f.Off, Len: int64(min(h.Length, 1<<62)), At: s.x.recorder.clock.Stamp()}
	if h.Opcode == wire.WSText || h.Opcode == wire.WSBinary {
		s.text = h.Opcode == wire.WSText
	}
	output := h.Opcode == wire.WSBinary || h.Opcode == wire.WSContinuation && !s.text
	s.current = s.x.addFrame(rec, nil, !output && h.Opcode != wire.WSPing)
}

// message records one complete message in its last frame.
func (s *socket) message(m wire.WSMessage) {
	x := s.x
	if x.over {
		return
	}
	at := x.recorder.clock.Stamp()
	if s.current >= 0 {
		f := x.frame(s.current)
		f.At, f.Head, f.Whole = at, x.frameHead(m.Payload, frameHead), len(m.Payload) <= frameHead
		if !x.keep(min(len(m.Payload), frameHead)) {
			return
		}
	}
	switch {
	case m.Opcode == wire.WSPing:
		s.reply(wire.WSPong, m.Payload)
		x.pings += m.End - m.Off
	case m.Opcode == wire.WSPong:
		x.pings += m.End - m.Off
	case m.Opcode == wire.WSClose:
		s.closed(m, at)
	case m.Dropped:
		x.leaveUnread("it has a message that is too long")
	case m.Opcode == wire.WSText || m.Opcode == wire.WSBinary:
		s.stdioMessage(m, at)
	}
	x.changed.fire()
}

// stdioMessage records the event in a message of the stdio protocol, if it has one.
func (s *socket) stdioMessage(m wire.WSMessage, at bundle.Stamp) {
	said, violations := s.stdio.Decode(m.Opcode, m.Payload)
	for _, v := range violations {
		v.Off += m.Off
		s.x.violate(inFrame, v)
	}
	streams := map[byte]string{wire.StdioStdout: envd.Stdout, wire.StdioStderr: envd.Stderr}
	switch {
	case m.Opcode == wire.WSBinary && streams[said.Stream] != "":
		s.x.linkEvent(envd.Event{Kind: envd.KindData, Stream: streams[said.Stream], Data: said.Data}, s.current, at)
	case said.Type == wire.StdioExit && len(violations) == 0:
		s.x.linkEvent(envd.Event{Kind: envd.KindEnd, Exit: envd.Exit{Code: int32(said.Code)}}, s.current, at)
	}
}

// closed ends the exchange with the peer's close, and answers it.
func (s *socket) closed(m wire.WSMessage, at bundle.Stamp) {
	c := &bundle.Closing{At: at, Code: closeWithoutCode, Answer: s.closing}
	if code, reason, ok := wire.ParseWSClose(m.Payload); ok {
		c.Code, c.Reason = int(code), s.x.text(strings.ToValidUTF8(string(reason), "\uFFFD"))
	}
	s.x.rec.Closing = c
	if !s.closing {
		s.reply(wire.WSClose, m.Payload[:min(2, len(m.Payload))])
	}
	s.x.complete(nil)
}

// hangUp ends the connection after the peer has: many servers hold a session open until its client ends
// the connection too (RFC 6455, section 7.1.1). An answer to the peer's close comes first.
func (s *socket) hangUp() {
	c := s.x.conn
	if c.rawSocket || c.half || c.silent || s.x.rec.Closing != nil && !s.closing {
		return
	}
	c.half = true
	c.recorder.readers.Go(func() {
		c.closeWrite()
	})
}

// closeWithoutCode stands for a close frame without a code (RFC 6455, section 7.1.5).
const closeWithoutCode = 1005

// maxReplies is the number of our own frames that wait to be sent: of more pings only some are
// answered, which RFC 6455, section 5.5.3, allows.
const maxReplies = 16

// reply sends a frame by ourselves, unless the script does all of that.
func (s *socket) reply(op wire.WSOpcode, payload []byte) {
	c := s.x.conn
	if c.rawSocket || c.closed || c.silent || c.half {
		return
	}
	if s.replies == nil {
		s.replies = make(chan []byte, maxReplies)
		crash.Go(func() { s.answer(c) })
	}
	select {
	case s.replies <- wire.AppendWSClient(nil, op, s.key(), payload):
	default:
	}
}

// answer sends our own frames until the connection ends.
func (s *socket) answer(c *Conn) {
	for {
		changed := c.Changed() // before over, so that the last change is seen
		if c.over() {
			return
		}
		select {
		case p := <-s.replies:
			if c.Write(context.Background(), p) != nil {
				return
			}
		case <-changed:
		}
	}
}

// key returns the mask of a frame.
func (s *socket) key() (k [4]byte) {
	_, _ = s.keys.Read(k[:])
	return k
}

// SocketFrame returns a frame of a client for the WebSocket of the exchange, with a fresh mask.
func (x *Exchange) SocketFrame(op wire.WSOpcode, payload []byte) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	if s, ok := x.answer.(*socket); ok {
		key = s.key()
	}
	return wire.AppendWSClient(nil, op, key, payload)
}

// switches reports whether a status ends HTTP on the connection, as the request asked.
func (x *Exchange) switches(status int) bool {
	return status == 101 && x.rec.Shape == bundle.ShapeStdio
}

// checkUpgrade records what is wrong with a 101 response.
func (x *Exchange) checkUpgrade(h wire.Head) {
	sent := func(name string) []string {
		var values []string
		for _, f := range x.rec.Request.Headers {
			if strings.EqualFold(f.Name, name) {
				for v := range strings.SplitSeq(f.Value, ",") {
					v, _, _ = strings.Cut(v, ";")
					values = append(values, strings.TrimSpace(v))
				}
			}
		}
		return values
	}
	offer := wire.WSOffer{Protocols: sent("Sec-WebSocket-Protocol"), Extensions: sent("Sec-WebSocket-Extensions")}
	for _, f := range x.rec.Request.Headers {
		if strings.EqualFold(f.Name, "Sec-WebSocket-Key") {
			offer.Key = f.Value
		}
	}
	for _, v := range wire.CheckWSUpgrade(h, offer) {
		x.violate(inHTTP, v)
	}
	selected := slices.ContainsFunc(h.Fields, func(f wire.Field) bool { return strings.EqualFold(f.Name, "Sec-WebSocket-Extensions") })
	if s, ok := x.answer.(*socket); ok && selected && len(offer.Extensions) > 0 {
		s.dec.AllowedRSV = wire.WSRSV1 | wire.WSRSV2 | wire.WSRSV3
	}
}
