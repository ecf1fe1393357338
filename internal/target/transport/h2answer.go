package transport

import (
	"errors"
	"fmt"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// breach is a violation of HTTP/2 by the peer, with our error code for it.
type breach struct {
	kind   wire.Kind
	code   http2.ErrCode
	off    int64 // in the connection's bytes
	stream uint32
	detail string
}

// report attaches a breach to the exchange of its stream, else to the first
// under way, else to the last one. Without any, the next exchange gets it.
func (h *mux) report(b breach) {
	v := wire.Violation{Kind: b.kind, Off: b.off, Detail: b.detail}
	x := h.concerned(b.stream)
	if x == nil {
		if len(h.loose) < maxViolations {
			h.loose = append(h.loose, v)
		}
		return
	}
	x.violate(inHTTP, v)
}

func (h *mux) concerned(id uint32) *Exchange {
	if st := h.streams[id]; st != nil {
		return st.x
	}
	if under := h.underWay(); len(under) > 0 {
		return under[0]
	}
	return h.conn.last
}

// fail handles a connection error: nothing after it can be decoded.
func (h *mux) fail(b breach) {
	c := h.conn
	if c.lostAt >= 0 {
		return
	}
	h.report(b)
	c.lostAt = c.received.n
	h.fatal = b.detail
	h.block = nil
	for _, x := range h.underWay() {
		x.end(bundle.OutcomeGarbage, "the peer breaks HTTP/2: "+b.detail)
	}
	c.queue = nil
	clear(h.streams)
	h.answer(h2.AppendGoAway(nil, 0, b.code))
}

// malformed handles a stream error: the response is garbage.
func (h *mux) malformed(st *stream, b breach) {
	st.x.violate(inHTTP, wire.Violation{Kind: b.kind, Off: b.off, Detail: b.detail})
	h.refuse(st, b.code, b.detail)
}

// refuse resets the stream of a malformed response.
func (h *mux) refuse(st *stream, code http2.ErrCode, detail string) {
	st.x.end(bundle.OutcomeGarbage, "the peer breaks HTTP/2: "+detail)
	st.cancelled = true
	h.forget(st)
	h.answer(h2.AppendReset(nil, st.id, code))
}

// fragment takes a piece of the current header block and returns the block's
// description once it is complete.
func (h *mux) fragment(f h2.Cut, p []byte, ended bool) string {
	b := h.block
	b.bytes += len(p)
	b.frames++
	b.parts = append(b.parts, section{f.Off + h2.HeaderLen, f.Off + h2.HeaderLen + int64(f.Length)})
	lost := breach{kind: wire.H2Continuation, code: http2.ErrCodeEnhanceYourCalm, off: b.off, stream: b.stream}
	if b.bytes > maxBlock || b.frames > maxContinuations {
		lost.detail = fmt.Sprintf("a header block does not end within %d frames and %d bytes", maxContinuations, maxBlock)
		h.fail(lost)
		return ""
	}
	_, err := h.fields.Write(p)
	if err == nil && ended {
		err = h.fields.Close()
	}
	if err != nil {
		lost.kind, lost.code = wire.H2HeaderBlock, http2.ErrCodeCompression
		lost.detail = fmt.Sprintf("the header block cannot be decoded: %v", err)
		if errors.Is(err, hpack.ErrStringLength) {
			lost.kind, lost.code = wire.H2HeaderOverLimit, http2.ErrCodeEnhanceYourCalm
			lost.detail = fmt.Sprintf("a field of the header block is longer than %d bytes", wire.DefaultHeadLimit)
		}
		h.fail(lost)
		return ""
	}
	if !ended {
		return ""
	}
	if h.conn.recorder.redact.inFields(b.fields) {
		h.conn.received.secret = append(h.conn.received.secret, b.parts...)
	}
	text := b.text(h.conn.recorder.redact)
	h.block = nil
	h.headers(f, b)
	return text
}

// headers handles a complete header block.
func (h *mux) headers(f h2.Cut, b *headerBlock) {
	f.Type = http2.FrameHeaders // also for the last CONTINUATION
	st, ok := h.find(f)
	if !ok {
		return
	}
	if st.gotEnd {
		h.late(st, f)
		return
	}
	trailers := st.headed
	said, violations := b.read(trailers, h.conn.recorder.redact)
	if trailers && !b.endStream {
		violations = append(violations, wire.Violation{Kind: wire.H2Trailers, Off: b.off, Detail: "trailers without END_STREAM"})
	}
	if !trailers && said.status > 0 && said.status < 200 && b.endStream {
		violations = append(violations, wire.Violation{Kind: wire.H2Order, Off: b.off,
			Detail: fmt.Sprintf("a %d response ends the stream", said.status)})
	}
	if len(violations) > 0 {
		for _, v := range violations {
			st.x.violate(inHTTP, v)
		}
		h.refuse(st, http2.ErrCodeProtocol, violations[0].Detail)
		return
	}
	if trailers {
		h.finishAnswer(st, b.off, said.fields)
		return
	}
	st.x.begin(wire.Head{Proto: "HTTP/2", Status: said.status, Fields: said.fields, Framing: framingH2, Off: b.off})
	if said.status < 200 {
		return
	}
	st.headed = true
	if st.x.method != "HEAD" && said.status != 304 {
		st.length = said.length
	}
	if b.endStream {
		h.finishAnswer(st, b.off, nil)
	}
}

// framingH2 names the framing of a body that ends with its stream.
const framingH2 = "stream"

// finishAnswer ends a response at END_STREAM.
func (h *mux) finishAnswer(st *stream, off int64, trailers []wire.Field) {
	if st.cancelled {
		return
	}
	if st.length >= 0 && st.got != st.length {
		h.malformed(st, breach{kind: wire.H2ContentLength, code: http2.ErrCodeProtocol, off: off,
			detail: fmt.Sprintf("%d bytes of DATA where content-length says %d", st.got, st.length)})
		return
	}
	st.gotEnd = true
	st.x.trailersOff = off
	st.x.complete(trailers)
	if st.sentEnd {
		h.forget(st)
	}
}

// ended is called when the peer has ended the connection, and returns the outcome of
// its streams: after GOAWAY the connection was closed, even where unread bytes turned
// the close into a reset.
func (h *mux) ended(outcome bundle.Outcome, detail string) (bundle.Outcome, string) {
	if n := h.in.Partial(); n > 0 && h.conn.lostAt < 0 {
		h.report(breach{kind: wire.H2Truncated, off: h.in.Off(),
			detail: fmt.Sprintf("the connection ended after %d bytes of a frame", n)})
	}
	if h.goAway != nil {
		return bundle.OutcomeClosed, detail + " after GOAWAY (" + h.goAway.detail + ")"
	}
	return outcome, detail
}
