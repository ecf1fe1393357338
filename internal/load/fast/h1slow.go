//go:build linux && (amd64 || arm64)

package fast

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/wire"
)

// slow is the strict decoder of an HTTP/1.1 response: of its head, and of all of it when
// its framing is not plain chunks.
type slow struct {
	dec     wire.ResponseDecoder
	text    []byte // the head so far
	primed  bool   // the decoder reads our prefix, which is not reported
	headed  bool
	chunked bool // and the head has no breach
	done    bool
	reuse   bool
	plain   bool // the head may become the known head
	broken  *account.Failure
	trailer []wire.Field
	// switches: the response switches to a WebSocket, with these fields.
	switches bool
	fields   []wire.Field
}

// slow gives the rest of the response to a strict decoder. prefix brings the decoder to the
// present position in a chunked body; "" is the beginning of the head.
func (l *loop) slow(ci int32, c *conn, prefix string) {
	w := &slow{}
	if n := len(l.spareSlow); n > 0 {
		w, l.spareSlow = l.spareSlow[n-1], l.spareSlow[:n-1]
	}
	i := c.stream
	s := l.streams.At(i)
	*w = slow{text: w.text[:0], dec: wire.ResponseDecoder{
		Method: func() string {
			if w.done {
				return ""
			}
			return "POST"
		},
		Upgrade: func() bool { return !s.IsCall() && l.starts[s.Request()].upgrades },
		OnHead:  func(h wire.Head) { l.slowHead(i, s, w, &h) },
		OnBody: func(p []byte) {
			if !w.primed {
				l.streams.Body(i, s, p)
			}
		},
		OnEnd:       func(trailers []wire.Field) { w.done, w.trailer = true, trailers },
		OnViolation: func(v wire.Violation) { l.slowViolation(i, s, w, v) },
	}}
	c.framing = atSlow
	l.slows[ci] = w
	if prefix != "" {
		w.primed = true
		w.dec.Feed([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + prefix))
		w.primed, w.headed, w.chunked, w.reuse = false, true, false, true
	}
}

// prefix returns the bytes that bring a decoder to the present position in a chunked body.
func (c *conn) prefix() string {
	size := ""
	if c.digits > 0 {
		size = strconv.FormatInt(c.remain, 16)
	}
	const one = "1\r\nx" // a chunk whose data is complete
	switch c.framing {
	case atSizeLF:
		return size + "\r"
	case atDataCR:
		return one
	case atDataLF:
		return one + "\r"
	case atEndCR:
		return "0\r\n"
	case atEndLF:
		return "0\r\n\r"
	default: // atSize: with a chunk, to get past the head
		return one + "\r\n" + size
	}
}

// keptHead bounds the head that a spare decoder keeps, and maxSpare the spare decoders.
const (
	keptHead = 64 << 10
	maxSpare = 1024
)

// dropSlow frees the decoder of a connection.
func (l *loop) dropSlow(ci int32) {
	w := l.slows[ci]
	delete(l.slows, ci)
	if w != nil && len(l.spareSlow) < maxSpare && cap(w.text) <= keptHead {
		*w = slow{text: w.text[:0]}
		l.spareSlow = append(l.spareSlow, w)
	}
}

func (l *loop) slowHead(i int32, s *account.Stream, w *slow, h *wire.Head) {
	if h.Status == 101 && w.dec.Upgrade() {
		w.headed, w.switches, w.fields = true, true, h.Fields
	}
	if h.Status < 200 || w.primed {
		return
	}
	w.headed = true
	w.reuse = h.Framing != wire.FramingClose && h.Proto == "HTTP/1.1"
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, "connection") && httpguts.HeaderValuesContainsToken([]string{f.Value}, "close") {
			w.reuse = false
		}
	}
	w.chunked = h.Framing == wire.FramingChunked && w.reuse && w.broken == nil && !s.IsCall()
	w.plain = w.chunked && l.streams.PlainHead(s.Class(), h.Status, h.Fields)
	l.streams.Head(i, s, h.Status, h.Fields)
}

func (l *loop) slowViolation(i int32, s *account.Stream, w *slow, v wire.Violation) {
	switch v.Kind {
	case wire.HTTPTruncated:
		// The failure of the connection describes it better.
	case wire.HTTPStatusLine:
		if w.broken == nil {
			w.broken = account.NoHTTP(load.HTTP11, v.Detail)
		}
	default:
		text := string(v.Kind) + ": " + v.Detail
		if w.broken == nil {
			w.broken = account.Breach("%s", text)
		}
		l.streams.Breach(i, s, text)
	}
}

// feedSlow feeds the strict decoder. After the head of a chunked response, the fast parser
// continues.
func (l *loop) feedSlow(ci int32, c *conn, p []byte) []byte {
	w := l.slows[ci]
	for len(p) > 0 && !w.headed && !w.done && !w.dec.Lost() {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		if len(w.text) < keptHead {
			w.text = append(w.text, p[:n]...)
		}
		w.dec.Feed(p[:n])
		p = p[n:]
	}
	if w.switches {
		l.switched(ci, c, w)
		return p
	}
	if w.headed && w.chunked && !w.done {
		if w.plain && bytes.HasPrefix(w.text, []byte("HTTP/1.1 200")) {
			l.known[l.streams.At(c.stream).Request()].learn(w.text)
		}
		l.dropSlow(ci)
		c.framing, c.remain, c.digits = atSize, 0, 0
		return p
	}
	w.dec.Feed(p)
	switch {
	case w.done:
		l.answeredSlow(ci, c, w)
	case w.dec.Lost():
		f := w.broken
		if f == nil {
			f = account.Breach("the framing of the response is broken")
		}
		l.lose(ci, c, f)
	}
	return nil
}

// answeredSlow ends a response that the strict decoder has read to its end.
func (l *loop) answeredSlow(ci int32, c *conn, w *slow) {
	i := c.stream
	trailers, reuse := w.trailer, w.reuse && w.dec.Idle() && !c.unsent
	if reuse {
		l.dropSlow(ci)
		c.framing = atHead
		l.park(ci, c)
	} else {
		l.closeConn(ci, c)
	}
	l.streams.End(i, l.streams.At(i), trailers)
}

// eofSlow tells the decoder that the connection has ended. It returns true if that also
// ends the response.
func (l *loop) eofSlow(ci int32, c *conn) bool {
	w := l.slows[ci]
	w.dec.Close()
	if !w.done {
		return false
	}
	w.reuse = false
	l.answeredSlow(ci, c, w)
	return true
}
