package transport

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// feed decodes received bytes.
func (h *mux) feed(p []byte) {
	if h.in.Off() == 0 && h.in.Partial() < len(http1Begin) && strings.HasPrefix(string(h.conn.received.kept), http1Begin) {
		h.fail(breach{kind: wire.H2Preface, code: http2.ErrCodeProtocol, detail: "the peer answers HTTP/1 to the preface of HTTP/2"})
		return
	}
	var over *h2.TooLongError
	err := h.in.Feed(p, func(f h2.Cut) bool {
		h.take(f)
		return h.conn.lostAt < 0 && !h.conn.closed
	})
	switch {
	case !errors.As(err, &over):
	case over.Off == 0:
		h.fail(breach{kind: wire.H2Preface, code: http2.ErrCodeProtocol, detail: fmt.Sprintf(
			"the peer does not begin with SETTINGS: what came first would be a frame of %d bytes", over.Length)})
	default:
		h.note(h.received(&over.Cut, h.conn.lastRead))
		h.fail(breach{kind: wire.H2FrameSize, code: http2.ErrCodeFrameSize, off: over.Off, stream: over.StreamID,
			detail: fmt.Sprintf("a %s frame of %d bytes is over the limit of %d", h2.TypeName(over.Type), over.Length, h2.DefaultMaxFrame)})
	}
}

// http1Begin is the beginning of an HTTP/1 response.
const http1Begin = "HTTP/1."

func (h *mux) received(f *h2.Cut, at bundle.Stamp) bundle.H2Frame {
	return bundle.H2Frame{
		Dir: dirReceived, Type: h2.TypeName(f.Type), Flags: byte(f.Flags), Stream: f.StreamID, Len: int(f.Length), At: at,
	}
}

// take handles one whole frame.
func (h *mux) take(f h2.Cut) {
	rec := h.received(&f, h.conn.lastRead)
	if detail := h.badPreface(f); detail != "" {
		h.note(rec)
		h.fail(breach{kind: wire.H2Preface, code: http2.ErrCodeProtocol, off: f.Off, detail: detail})
		return
	}
	if most := h.conn.recorder.memory.extent().busy; h.busy >= most {
		h.note(rec)
		h.abandon(fmt.Sprintf("the connection has more than %d frames without content", most))
		return
	}
	h.busy++
	inBlock := h.block != nil
	h.source.Reset(f.Bytes)
	frame, err := h.framer.ReadFrame()
	if err != nil {
		h.note(rec)
		h.unreadable(f, err, inBlock)
		return
	}
	rec.Detail = describe(frame, h.conn.recorder.redact)
	switch frame := frame.(type) {
	case *http2.HeadersFrame:
		h.block = &headerBlock{stream: f.StreamID, off: f.Off, endStream: frame.StreamEnded()}
		rec.Detail = h.fragment(f, frame.HeaderBlockFragment(), frame.HeadersEnded())
	case *http2.ContinuationFrame:
		rec.Detail = h.fragment(f, frame.HeaderBlockFragment(), frame.HeadersEnded())
	case *http2.DataFrame:
		if len(frame.Data()) > 0 {
			h.busy--
		}
		h.dataFrame(f, frame)
	case *http2.SettingsFrame:
		h.settings(f, frame)
	case *http2.PingFrame:
		if !frame.IsAck() {
			h.answer(h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: frame.Data[:]}.Append(nil))
		}
	case *http2.WindowUpdateFrame:
		h.windowUpdate(f, frame)
	case *http2.RSTStreamFrame:
		h.rstStream(f, frame)
	case *http2.GoAwayFrame:
		h.goAwayFrame(f, frame)
	case *http2.PushPromiseFrame:
		h.fail(breach{kind: wire.H2Push, code: http2.ErrCodeProtocol, off: f.Off, stream: f.StreamID,
			detail: "PUSH_PROMISE although ENABLE_PUSH is 0"})
	}
	h.note(rec)
}

// abandon closes the connection of a peer that only keeps us busy.
func (h *mux) abandon(why string) {
	c := h.conn
	rest := h.underWay()
	c.endedByUs("fin")
	c.shut()
	for _, x := range rest {
		x.leaveUnread(why)
	}
}

// badPreface describes what is wrong with the peer's first frame; "" for SETTINGS, and
// for later frames. On a raw connection the peer may refuse the client first.
func (h *mux) badPreface(f h2.Cut) string {
	switch {
	case h.settingsCame, h.raw && f.Type == http2.FrameGoAway:
		return ""
	case f.Type != http2.FrameSettings:
		return fmt.Sprintf("the peer begins with %s, not with SETTINGS", h2.TypeName(f.Type))
	case f.Flags.Has(http2.FlagSettingsAck):
		return "the peer begins with an acknowledgement, not with SETTINGS of its own"
	}
	return ""
}

// unreadable handles a frame that the Framer rejects.
func (h *mux) unreadable(f h2.Cut, err error, inBlock bool) {
	b := breach{kind: wire.H2Protocol, code: http2.ErrCodeProtocol, off: f.Off, stream: f.StreamID}
	var conn http2.ConnectionError
	var stream http2.StreamError
	why := ""
	switch {
	case errors.As(err, &conn):
		b.code = http2.ErrCode(conn)
		if d := h.framer.ErrorDetail(); d != nil {
			why = ": " + d.Error()
		}
	case errors.As(err, &stream):
		b.code = stream.Code
	default:
		b.code, why = http2.ErrCodeFrameSize, ": it is too short"
	}
	b.detail = fmt.Sprintf("a malformed %s frame of %d bytes on stream %d%s", h2.TypeName(f.Type), f.Length, f.StreamID, why)
	switch {
	case inBlock || f.Type == http2.FrameContinuation && f.StreamID != 0:
		b.kind = wire.H2Continuation
		b.detail = fmt.Sprintf("%s on stream %d where it must not be%s", h2.TypeName(f.Type), f.StreamID, why)
	case b.code == http2.ErrCodeFrameSize:
		b.kind = wire.H2FrameSize
	case f.Type == http2.FrameWindowUpdate:
		b.kind, b.detail = wire.H2WindowIncrement, fmt.Sprintf("WINDOW_UPDATE by 0 on stream %d", f.StreamID)
	case f.Type == http2.FrameSettings && b.code == http2.ErrCodeFlowControl:
		b.kind = wire.H2Settings
	}
	if st := h.streams[f.StreamID]; stream.StreamID != 0 && st != nil {
		h.malformed(st, b)
		return
	}
	h.fail(b)
}

// dataFrame handles DATA: flow control first, then the content.
func (h *mux) dataFrame(f h2.Cut, frame *http2.DataFrame) {
	n := int64(f.Length)
	if h.recvWindow -= n; h.recvWindow < 0 {
		h.fail(breach{kind: wire.H2FlowControl, code: http2.ErrCodeFlowControl, off: f.Off, stream: f.StreamID,
			detail: fmt.Sprintf("DATA of %d bytes is more than the window of the connection", n)})
		return
	}
	h.giveBack(nil, n)
	st, ok := h.find(f)
	if !ok {
		return
	}
	late := breach{code: http2.ErrCodeProtocol, off: f.Off, stream: st.id}
	switch {
	case st.gotEnd:
		h.late(st, f)
		return
	case !st.headed:
		late.kind, late.detail = wire.H2Order, "DATA comes before the final HEADERS"
		h.malformed(st, late)
		return
	}
	if st.recvWindow -= n; st.recvWindow < 0 {
		h.malformed(st, breach{kind: wire.H2FlowControl, code: http2.ErrCodeFlowControl, off: f.Off,
			detail: fmt.Sprintf("DATA of %d bytes is more than the window of stream %d", n, st.id)})
		return
	}
	st.got += int64(len(frame.Data()))
	if st.length >= 0 && st.got > st.length {
		late.kind, late.detail = wire.H2ContentLength, fmt.Sprintf("DATA goes beyond the content-length of %d", st.length)
		h.malformed(st, late)
		return
	}
	st.x.feed(frame.Data())
	if st.cancelled {
		return
	}
	if frame.StreamEnded() {
		h.finishAnswer(st, f.Off, nil)
		return
	}
	h.giveBack(st, n)
}

// giveBack returns window for consumed bytes, once half of it is used.
func (h *mux) giveBack(st *stream, n int64) {
	if h.raw {
		return
	}
	unreturned, id, limit := &h.unreturned, uint32(0), int64(connWindow)
	if st != nil {
		unreturned, id, limit = &st.unreturned, st.id, streamWindow
	}
	*unreturned += n
	if *unreturned < limit/2 || st != nil && st.held {
		return
	}
	add := uint32(*unreturned)
	*unreturned = 0
	h.answer(h2.AppendWindowUpdate(nil, id, add))
}

// find returns the open stream of a frame. A frame on an unused stream is a connection
// error. Frames on a stream that we have reset may still be in flight: they are legal.
func (h *mux) find(f h2.Cut) (*stream, bool) {
	if st := h.streams[f.StreamID]; st != nil {
		return st, true
	}
	if h.unused(f.StreamID) {
		h.fail(breach{kind: wire.H2IdleStream, code: http2.ErrCodeProtocol, off: f.Off,
			detail: fmt.Sprintf("%s on stream %d, which is idle", h2.TypeName(f.Type), f.StreamID)})
		return nil, false
	}
	if st := h.closed[f.StreamID]; st != nil {
		h.late(st, f)
	}
	return nil, false
}

// late handles a frame on a stream that the peer has ended.
func (h *mux) late(st *stream, f h2.Cut) {
	if st.cancelled || st.x == nil || f.Type != http2.FrameData && f.Type != http2.FrameHeaders {
		return
	}
	how := "END_STREAM"
	if st.reset != "" {
		how = "RST_STREAM"
	}
	st.x.violate(inHTTP, wire.Violation{Kind: wire.H2ClosedStream, Off: f.Off,
		Detail: fmt.Sprintf("%s on stream %d after its %s", h2.TypeName(f.Type), st.id, how)})
}

func (h *mux) settings(f h2.Cut, frame *http2.SettingsFrame) {
	if frame.IsAck() {
		h.ownAcknowledged()
		return
	}
	h.settingsCame = true
	_ = frame.ForeachSetting(func(s http2.Setting) error {
		if h.conn.lostAt >= 0 {
			return nil
		}
		if err := s.Valid(); err != nil || s.ID == http2.SettingEnablePush && s.Val != 0 {
			h.fail(breach{kind: wire.H2Settings, code: http2.ErrCodeProtocol, off: f.Off,
				detail: fmt.Sprintf("%s=%d is not allowed from a server", s.ID, s.Val)})
			return nil
		}
		h.setting(s, f.Off)
		return nil
	})
	h.answer(h2.Frame{Type: http2.FrameSettings, Flags: http2.FlagSettingsAck}.Append(nil))
}

func (h *mux) setting(s http2.Setting, off int64) {
	switch s.ID {
	case http2.SettingMaxConcurrentStreams:
		h.maxStreams = s.Val
	case http2.SettingMaxFrameSize:
		h.maxFrame = int(s.Val)
	case http2.SettingInitialWindowSize:
		grown := int64(s.Val) - h.initialWindow
		h.initialWindow = int64(s.Val)
		for _, st := range h.streams {
			if st.sendWindow += grown; st.sendWindow > h2.MaxWindow {
				h.fail(breach{kind: wire.H2FlowControl, code: http2.ErrCodeFlowControl, off: off, stream: st.id,
					detail: fmt.Sprintf("INITIAL_WINDOW_SIZE=%d makes the window of stream %d larger than 2^31-1", s.Val, st.id)})
				return
			}
		}
	case http2.SettingHeaderTableSize:
		h.table.Limit(s.Val)
	default: // irrelevant to a client without push
	}
}

func (h *mux) windowUpdate(f h2.Cut, frame *http2.WindowUpdateFrame) {
	b := breach{kind: wire.H2FlowControl, code: http2.ErrCodeFlowControl, off: f.Off, stream: f.StreamID,
		detail: fmt.Sprintf("WINDOW_UPDATE by %d makes the window of stream %d larger than 2^31-1", frame.Increment, f.StreamID)}
	if f.StreamID == 0 {
		if h.sendWindow += int64(frame.Increment); h.sendWindow > h2.MaxWindow {
			h.fail(b)
		}
		return
	}
	st, ok := h.find(f)
	if !ok {
		return
	}
	if st.sendWindow += int64(frame.Increment); st.sendWindow > h2.MaxWindow {
		h.malformed(st, b)
	}
}

func (h *mux) rstStream(f h2.Cut, frame *http2.RSTStreamFrame) {
	name := h2.CodeName(frame.ErrCode)
	if h.raw && len(h.conn.queue) > 0 && h.streams[f.StreamID] == nil && !h.unused(f.StreamID) {
		x := h.conn.queue[0] // the written bytes did not open the stream
		h.conn.queue = h.conn.queue[1:]
		x.rec.Stream = f.StreamID
		x.cut(bundle.OutcomeReset, "the peer reset the stream ("+name+")")
		return
	}
	st, ok := h.find(f)
	if !ok {
		return
	}
	st.reset = name
	st.x.cut(bundle.OutcomeReset, "the peer reset the stream ("+name+")"+st.x.progress())
	h.forget(st)
}

func (h *mux) goAwayFrame(f h2.Cut, frame *http2.GoAwayFrame) {
	said := describe(frame, h.conn.recorder.redact)
	if h.goAway != nil && frame.LastStreamID > h.goAway.last {
		h.report(breach{kind: wire.H2GoAway, off: f.Off, detail: fmt.Sprintf(
			"GOAWAY with last stream %d after one with %d", frame.LastStreamID, h.goAway.last)})
	}
	h.goAway = &goAway{last: frame.LastStreamID, detail: said}
	for _, x := range h.live() {
		if st := h.streams[x.rec.Stream]; st.id > frame.LastStreamID {
			st.reset = "GOAWAY"
			x.cut(bundle.OutcomeClosed, "the peer refused the stream with GOAWAY ("+said+")")
			h.forget(st)
		}
	}
}
