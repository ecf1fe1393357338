package account

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // as RFC 6455 wants
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"unicode/utf8"

	"assay/internal/wire"
)

// The frames of stdio over WebSocket. A frame that is whole, unfragmented and in its usual
// form is read in place, so an idle stream keeps nothing. Any other form, and so every breach, goes to a
// wire.WSDecoder, which the stream keeps from then on.

// PongRoom is how many unsent bytes a connection may have for Write with skip: a peer that
// pings and does not read gets no more pongs.
const PongRoom = 16 << 10

// maxPlain bounds the payload of a frame that is collected without the strict decoder.
const maxPlain = 1 << 20

// keySize is the length of a Sec-WebSocket-Key, and acceptSize that of the response to it.
const (
	keySize    = 24
	acceptSize = 28
)

// Key returns the Sec-WebSocket-Key of a stream. It is made from the number of the stream,
// so that no stream needs to keep it.
func (a *Streams) Key(s *Stream) (key [keySize]byte) {
	draw := rand.NewPCG(a.run.secret, uint64(s.Number)) //nolint:gosec // any number will do
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:], draw.Uint64())
	binary.LittleEndian.PutUint64(random[8:], draw.Uint64())
	base64.StdEncoding.Encode(key[:], random[:])
	return key
}

// Upgrades reports whether the request of an entry asks for a WebSocket.
func (a *Streams) Upgrades(s *Stream) bool { return !s.has(flagCall) && a.class(s).ws }

// GoodSwitch handles a 101 response whose head equals one that Head has accepted, except for
// the value of Sec-WebSocket-Accept. It returns false, and does nothing, when that is not
// the response to the key of the stream.
func (a *Streams) GoodSwitch(i int32, s *Stream, accept []byte) bool {
	key := a.Key(s)
	a.payload = append(append(a.payload[:0], key[:]...), wire.WSGUID...)
	sum := sha1.Sum(a.payload) //nolint:gosec // as RFC 6455 wants
	var want [acceptSize]byte
	base64.StdEncoding.Encode(want[:], sum[:])
	if string(accept) != string(want[:]) {
		return false
	}
	a.GoodHead(s)
	a.started(i, s, unknownPID)
	return true
}

// upgraded handles the head of a 101 response. The process runs from here on.
func (a *Streams) upgraded(i int32, s *Stream, fields []wire.Field) {
	key := a.Key(s)
	head := wire.Head{Proto: "HTTP/1.1", Status: 101, Fields: fields}
	for _, v := range wire.CheckWSUpgrade(head, wire.WSOffer{Key: string(key[:])}) {
		a.giveUp(i, s, corrupt("the handshake is wrong: "+string(v.Kind)+": "+v.Detail))
		return
	}
	a.started(i, s, unknownPID)
}

// unknownPID stands for the pid of a process that has none on its surface.
const unknownPID = 1

// plainHead is the head of a frame in its usual form: final, without a mask and reserved bits,
// with the shortest length. need is the number of bytes to read before size is known.
type plainHead struct {
	op                 wire.WSOpcode
	need, length, size int
}

// readPlain reads the head of a frame. It returns false when the frame has another form.
func readPlain(p []byte) (h plainHead, ok bool) {
	h.need = 2
	if len(p) == 0 {
		return h, true
	}
	h.op = wire.WSOpcode(p[0] & 0x0f)
	switch h.op {
	case wire.WSText, wire.WSBinary, wire.WSClose, wire.WSPing, wire.WSPong:
	default:
		return h, false
	}
	if p[0]&0xf0 != 0x80 {
		return h, false
	}
	if len(p) < 2 {
		return h, true
	}
	switch n := int(p[1]); {
	case n <= wire.MaxWSControl:
		h.length = n
	case n == 126 && !h.op.Control():
		if h.need = 4; len(p) < 4 {
			return h, true
		}
		if h.length = int(binary.BigEndian.Uint16(p[2:])); h.length <= wire.MaxWSControl {
			return h, false
		}
	case n == 127 && !h.op.Control():
		if h.need = 10; len(p) < 10 {
			return h, true
		}
		long := binary.BigEndian.Uint64(p[2:])
		if long <= 1<<16-1 || long > maxPlain {
			return h, false
		}
		h.length = int(long)
	default: // a mask, or a control frame with a long length
		return h, false
	}
	h.size = h.need + h.length
	return h, true
}

// over reports whether nothing more is read of a stream.
func (s *Stream) over() bool { return s.phase == phaseFree || s.phase == phaseOver }

// feedFrames reads bytes of a WebSocket.
func (a *Streams) feedFrames(i int32, s *Stream, p []byte) {
	for len(p) > 0 && !s.over() {
		switch {
		case s.has(flagEOS):
			a.afterClose(i, s)
			return
		case s.has(flagStrict):
			a.strictFrames(i, s, p)
			return
		case s.cut != None:
			p = a.joinFrame(i, s, p)
		default:
			h, ok := readPlain(p)
			switch {
			case !ok:
				a.strictFrames(i, s, p)
				return
			case h.size == 0 || h.size > len(p):
				a.appendCut(s, p)
				return
			}
			a.frame(i, s, h, p[:h.size])
			p = p[h.size:]
		}
	}
}

// joinFrame continues an incomplete frame and returns the rest of p.
func (a *Streams) joinFrame(i int32, s *Stream, p []byte) []byte {
	b := a.cutBytes(s)
	h, _ := readPlain(b)
	n := min(len(p), max(h.size, h.need)-len(b))
	b = a.appendCut(s, p[:n])
	switch h, ok := readPlain(b); {
	case !ok:
		begin := bytes.Clone(b)
		a.dropCut(s)
		a.strictFrames(i, s, begin)
	case h.size == len(b):
		a.frame(i, s, h, b)
		a.dropCut(s)
	}
	return p[n:]
}

// frame handles a whole frame in its usual form. Text that the strict decoder has not
// accepted before, and a Close frame with a breach, go there.
func (a *Streams) frame(i int32, s *Stream, h plainHead, whole []byte) {
	payload := whole[h.need:]
	switch {
	case h.op == wire.WSText && !a.knownExit(i, s, payload), h.op == wire.WSClose && !isGoodClose(payload):
		a.strictFrames(i, s, whole)
	case h.op != wire.WSText:
		a.message(i, s, h.op, payload)
	}
}

// isGoodClose reports whether the payload of a Close frame breaks no rule.
func isGoodClose(p []byte) bool {
	code, reason, some := wire.ParseWSClose(p)
	return len(p) == 0 || some && wire.LegalWSCloseCode(code) && utf8.Valid(reason)
}

// mostFrames is the longest message of a WebSocket, of which each stream may have one.
const mostFrames = 8 << 20

// strictFrames gives bytes to the strict decoder of a stream.
func (a *Streams) strictFrames(i int32, s *Stream, p []byte) {
	x := a.extra(i, s)
	if x.frames == nil {
		s.set(flagStrict)
		x.fed, x.messageEnd = 0, 0
		x.frames = &wire.WSDecoder{
			Limit: mostFrames,
			OnMessage: func(m wire.WSMessage) {
				if m.Dropped || s.over() || s.has(flagEOS) {
					return
				}
				x.messageEnd = m.End
				a.message(i, s, m.Opcode, m.Payload)
			},
			OnViolation: func(v wire.Violation) {
				if !s.over() && !s.has(flagEOS) {
					a.violation(i, s, v)
				}
			},
		}
	}
	d := x.frames
	d.Feed(p)
	switch x.fed += int64(len(p)); {
	case s.over():
	case s.has(flagEOS) && x.fed > x.messageEnd:
		a.afterClose(i, s)
	case !s.has(flagEOS) && d.Lost():
		a.giveUp(i, s, corrupt(x.wrong))
	}
}

// Gone ends an entry whose connection has switched protocols and was closed by the peer.
func (a *Streams) Gone(i int32, s *Stream) {
	if s.has(flagEOS) && a.givenUp(i, s) == nil {
		a.End(i, s, nil)
		return
	}
	a.Fail(i, s, Closed(true, false))
}

// afterClose notes bytes behind the Close frame.
func (a *Streams) afterClose(i int32, s *Stream) {
	a.Breach(i, s, string(wire.WSDataAfterClose)+": bytes follow the Close frame")
}

// message handles one message or control frame.
func (a *Streams) message(i int32, s *Stream, op wire.WSOpcode, p []byte) {
	if s.has(flagEOS) {
		a.afterClose(i, s)
		return
	}
	switch op {
	case wire.WSPing:
		a.say(s, i, wire.WSPong, p, true)
	case wire.WSPong, wire.WSContinuation: // fragments come joined
	case wire.WSClose:
		a.closed(i, s, p)
	case wire.WSBinary:
		a.binary(i, s, p)
	case wire.WSText:
		a.text(i, s, p)
	}
}

// binary handles a message of output.
func (a *Streams) binary(i int32, s *Stream, p []byte) {
	stream := wire.StdioStdout
	if len(p) > 0 && (p[0] == wire.StdioStdout || p[0] == wire.StdioStderr) {
		stream, p = p[0], p[1:]
	} else {
		var d wire.StdioDecoder
		m, violations := d.Decode(wire.WSBinary, p)
		for _, v := range violations {
			a.violation(i, s, v)
		}
		p = m.Data
	}
	if s.ends > 0 {
		a.Breach(i, s, "output comes after the exit message")
	}
	a.firstMessage(s)
	a.output(i, s, p, stream == wire.StdioStderr)
}

// firstMessage measures the first message of a stream.
func (a *Streams) firstMessage(s *Stream) {
	if s.last == 0 && s.ends == 0 {
		a.measureFirst(s)
	}
}

// knownExit handles an exit message that equals the last one that the strict decoder
// accepted: nearly all of a run are equal. It returns false for any other text.
func (a *Streams) knownExit(i int32, s *Stream, p []byte) bool {
	c := a.class(s)
	if s.ends > 0 || len(c.endBytes) == 0 || !bytes.Equal(p, c.endBytes) {
		return false
	}
	a.exited(i, s, c.endCode)
	return true
}

// text handles a text message.
func (a *Streams) text(i int32, s *Stream, p []byte) {
	var d wire.StdioDecoder
	m, violations := d.Decode(wire.WSText, p)
	for _, v := range violations {
		a.violation(i, s, v)
	}
	switch m.Type {
	case wire.StdioExit:
		if s.ends > 0 {
			a.Breach(i, s, "a second exit message")
			return
		}
		if c := a.class(s); len(violations) == 0 {
			c.endBytes, c.endCode = append(c.endBytes[:0], p...), int32(m.Code) //nolint:gosec // the decoder bounds it
		}
		a.exited(i, s, int32(m.Code)) //nolint:gosec // the decoder bounds it
	case wire.StdioError:
		a.refusedMessage(i, s, m.Message)
	}
}

// exited handles an exit message. It also tells whether a kill was the cause.
func (a *Streams) exited(_ int32, s *Stream, code int32) {
	a.firstMessage(s)
	switch {
	case s.kill != killSent && s.kill != killQueued:
	case s.kill == killSent && (a.class(s).Endless || code < 0 || code > 128):
		s.kill, s.doneAt = killDone, a.at
	default: // it had ended before
		s.kill = killSkipped
	}
	a.endEvent(s, code)
}

// closed handles the Close frame of the gateway: it is the end of the stream, and is
// answered. Code 1000 has to follow the exit message, and no other code may.
func (a *Streams) closed(i int32, s *Stream, p []byte) {
	code, reason, ok := wire.ParseWSClose(p)
	what := "a Close frame without a code"
	if ok {
		what = fmt.Sprintf("Close %d", code)
	}
	switch {
	case ok && code == 1000:
	case s.ends > 0:
		a.Breach(i, s, what+" after the exit message, want 1000")
	default:
		if len(reason) > 0 {
			what += fmt.Sprintf(" %.123q", reason)
		}
		if x := a.extra(i, s); x.rpc == nil {
			x.rpc = serverError("the gateway ended the session: " + what)
		}
	}
	s.set(flagEOS)
	s.phase, s.since = phaseEnding, a.at
	a.say(s, i, wire.WSClose, p[:min(len(p), 2)], false)
}

// refusedMessage handles an error message: the gateway does not accept what the driver has sent.
func (a *Streams) refusedMessage(i int32, s *Stream, message string) {
	if s.kill == killSent {
		a.giveUp(i, s, cancelled("it could not be killed: %.200s", message))
		return
	}
	a.giveUp(i, s, serverError(fmt.Sprintf("the gateway refused a message: %.200s", message)))
}

// say sends a message of the client.
func (a *Streams) say(s *Stream, i int32, op wire.WSOpcode, p []byte, skip bool) {
	var key [4]byte
	binary.LittleEndian.PutUint32(key[:], rand.Uint32())
	a.frameOut = wire.AppendWSClient(a.frameOut[:0], op, key, p)
	a.driver.Write(i, s, a.frameOut, skip)
}

// maxInput bounds a message of input.
const maxInput = 32 << 10

// sayInput writes the input of a process, and ends it.
func (a *Streams) sayInput(i int32, s *Stream) {
	for in := a.class(s).Stdin; len(in) > 0; {
		n := min(len(in), maxInput)
		a.say(s, i, wire.WSBinary, in[:n], false)
		in = in[n:]
	}
	a.payload = wire.AppendStdioEOF(a.payload[:0])
	a.say(s, i, wire.WSText, a.payload, false)
}

// killsAtOnce bounds the kills over sockets in one turn of a driver.
const killsAtOnce = 128

// sayKills sends the queued kills of processes that only their own socket reaches.
func (a *Streams) sayKills() {
	for range min(a.kills.Len(), killsAtOnce) {
		w := a.kills.Pop()
		s := a.entries.At(w.Stream)
		if s.Number != w.Number || s.phase != phaseLive || s.kill != killQueued {
			continue
		}
		s.kill, s.killedAt = killSent, a.now()
		s.doneAt = s.killedAt
		s.set(flagKillSent)
		a.sink.Killing()
		a.payload = wire.AppendStdioSignal(a.payload[:0], "SIGKILL")
		a.say(s, w.Stream, wire.WSText, a.payload, false)
	}
}
