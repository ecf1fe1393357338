package canned

import (
	"encoding/binary"

	"golang.org/x/net/http2"

	"assay/internal/wire/h2"
)

// settings applies the client's SETTINGS: only INITIAL_WINDOW_SIZE matters.
func (c *conn) settings(flags http2.Flags, p []byte) http2.ErrCode {
	if flags.Has(http2.FlagSettingsAck) {
		return http2.ErrCodeNo
	}
	if len(p)%6 != 0 {
		return http2.ErrCodeFrameSize
	}
	for ; len(p) > 0; p = p[6:] {
		value := int64(binary.BigEndian.Uint32(p[2:]))
		if http2.SettingID(binary.BigEndian.Uint16(p)) != http2.SettingInitialWindowSize {
			continue
		}
		if value > h2.MaxWindow {
			return http2.ErrCodeFlowControl
		}
		for _, call := range c.h2.calls {
			call.window += value - c.h2.initial
			if call.stream != nil {
				call.stream.window += value - c.h2.initial
			}
		}
		c.h2.initial = value
	}
	c.send(h2.Frame{Type: http2.FrameSettings, Flags: http2.FlagSettingsAck}.Append(nil))
	c.unstick()
	return http2.ErrCodeNo
}

// windowUpdate resumes what waited for window.
func (c *conn) windowUpdate(id uint32, p []byte) http2.ErrCode {
	if len(p) != 4 {
		return http2.ErrCodeFrameSize
	}
	n := int64(binary.BigEndian.Uint32(p) & (1<<31 - 1))
	if id == 0 {
		if c.h2.window += n; n == 0 || c.h2.window > h2.MaxWindow {
			return http2.ErrCodeFlowControl
		}
		c.unstick()
		return http2.ErrCodeNo
	}
	call := c.h2.calls[id]
	switch {
	case call == nil:
	case call.stream == nil:
		call.window += n
	default:
		if call.stream.window += n; call.stream.stuck {
			c.gateway.pump(call.stream)
		}
	}
	return http2.ErrCodeNo
}

// sendFrames sends the next unit of a stream as frames; false if the window is too small
// for all of it.
func (c *conn) sendFrames(s *stream) bool {
	g, e := c.gateway, s.enc
	body, last := e.tail.body, false
	switch s.stage {
	case atStart:
		body = nil
	case atData:
		u, err := e.event(s.next)
		if err != nil {
			c.drop()
			return false
		}
		body = u.body
	case atEnd:
		body, last = s.end().body, e.tail.body == nil
	case atTail:
		last = true
	case over:
	}
	p := g.scratch[:0]
	if s.stage == atStart {
		if !s.headers {
			s.headers = true
			p = h2.Block{Stream: s.id, Fields: e.head2}.Append(p, h2.DefaultMaxFrame)
		}
		at := len(p)
		p = e.appendStart(p, s.pid, false)
		body = append([]byte(nil), p[at:]...)
		p = p[:at]
	}
	p, done := c.appendData(p, s, body, last)
	if done && last && e.trailers != nil {
		p = h2.Block{Stream: s.id, Fields: e.trailers, EndStream: true}.Append(p, h2.DefaultMaxFrame)
	}
	g.scratch = p
	c.send(p)
	return done && !c.closed
}

// appendData appends DATA frames with the rest of body, as far as the windows
// and maxUnsent allow; done if nothing is left.
func (c *conn) appendData(p []byte, s *stream, body []byte, last bool) (frames []byte, done bool) {
	for {
		rest := body[s.sent:]
		n := int(min(int64(len(rest)), s.window, c.h2.window, h2.DefaultMaxFrame))
		if n <= 0 && len(rest) > 0 || len(p) > maxUnsent {
			return p, false
		}
		p = h2.AppendData(p, s.id, rest[:n], last && n == len(rest) && s.enc.trailers == nil)
		s.sent += n
		s.window -= int64(n)
		c.h2.window -= int64(n)
		if s.sent == len(body) {
			s.sent = 0
			return p, true
		}
	}
}
