package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"

	"assay/internal/wire"
)

// h2MaxFrame is the largest frame that every peer takes (RFC 9113, section 4.2).
const h2MaxFrame = 16 << 10

// appendFrame appends a frame.
func appendFrame(dst []byte, typ http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), byte(typ), byte(flags))
	dst = binary.BigEndian.AppendUint32(dst, id)
	return append(dst, payload...)
}

// appendSettings appends ours: no push, and a large window for each stream.
func appendSettings(dst []byte) []byte {
	var p []byte
	for _, s := range []http2.Setting{{ID: http2.SettingEnablePush, Val: 0}, {ID: http2.SettingInitialWindowSize, Val: h2Window}} {
		p = binary.BigEndian.AppendUint16(p, uint16(s.ID))
		p = binary.BigEndian.AppendUint32(p, s.Val)
	}
	return appendFrame(dst, http2.FrameSettings, 0, 0, p)
}

func appendWindowUpdate(dst []byte, id, n uint32) []byte {
	return appendFrame(dst, http2.FrameWindowUpdate, 0, id, binary.BigEndian.AppendUint32(nil, n))
}

func appendReset(dst []byte, id uint32, code http2.ErrCode) []byte {
	return appendFrame(dst, http2.FrameRSTStream, 0, id, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

func appendData(dst []byte, id uint32, p []byte, last bool) []byte {
	var flags http2.Flags
	if last {
		flags = http2.FlagDataEndStream
	}
	return appendFrame(dst, http2.FrameData, flags, id, p)
}

// appendHeaders appends a field block, continued where it is longer than a frame.
func appendHeaders(dst []byte, id uint32, block []byte, last bool) []byte {
	typ, flags := http2.FrameHeaders, http2.Flags(0)
	if last {
		flags = http2.FlagHeadersEndStream
	}
	for {
		n := min(len(block), h2MaxFrame)
		if n == len(block) {
			flags |= http2.FlagHeadersEndHeaders // the same bit in CONTINUATION
		}
		dst = appendFrame(dst, typ, flags, id, block[:n])
		if block = block[n:]; len(block) == 0 {
			return dst
		}
		typ, flags = http2.FrameContinuation, 0
	}
}

// take takes a frame, or the error instead of one. It returns why the connection ends. It needs mu.
func (c *h2Conn) take(f http2.Frame, err error) *failure {
	if err != nil {
		return c.broken(err)
	}
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		return c.headers(f)
	case *http2.RSTStreamFrame:
		c.reset(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.out = appendFrame(c.out, http2.FramePing, http2.FlagPingAck, 0, f.Data[:])
		}
	case *http2.WindowUpdateFrame:
		return c.grant(f)
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.PushPromiseFrame:
		return &failure{outcome: Corrupt, detail: "PUSH_PROMISE although push is off"}
	}
	return nil
}

// broken sorts the errors of the Framer. A breach on one stream leaves the others alone.
func (c *h2Conn) broken(err error) *failure {
	var stream http2.StreamError
	switch {
	case errors.As(err, &stream):
		detail := fmt.Sprintf("the frame breaks HTTP/2: %v", stream.Code)
		if cause := c.in.ErrorDetail(); cause != nil {
			detail += ": " + cause.Error()
		}
		if st := c.streams[stream.StreamID]; st != nil {
			c.out = appendReset(c.out, st.id, stream.Code)
			st.over(func(a answer) { a.fail(&failure{outcome: Corrupt, detail: detail}, c.now) })
		}
		return nil
	case isConnectionEnd(err):
		f := broken(err, "on the connection")
		if f.outcome == Cancelled && c.unsent != nil {
			return c.unsent
		}
		if f.outcome == Reset && len(c.streams) > 0 {
			f.detail = "the HTTP/2 connection was closed: " + reason(err)
		}
		return f
	}
	return &failure{outcome: Corrupt, detail: "the connection breaks HTTP/2: " + err.Error()}
}

// over takes the stream away and tells its answer how it ended.
func (st *h2Stream) over(tell func(answer)) {
	delete(st.conn.streams, st.id)
	st.conn.ended++
	tell(st.a)
}

func (c *h2Conn) data(f *http2.DataFrame) *failure {
	n := int(f.Length) // with padding: it counts, too
	if c.unacked += n; c.unacked >= h2ConnWindow/2 {
		c.out = appendWindowUpdate(c.out, 0, uint32(c.unacked)) //nolint:gosec // below 2^30 and a frame
		c.unacked = 0
	}
	st := c.streams[f.StreamID]
	if st == nil {
		if f.StreamID >= c.nextID {
			return &failure{outcome: Corrupt, detail: fmt.Sprintf("DATA on stream %d, which nobody opened", f.StreamID)}
		}
		return nil // of a stream that we have reset
	}
	if !st.headed {
		st.a.breach("DATA before HEADERS")
	}
	if p := f.Data(); len(p) > 0 {
		st.a.data(p, c.now)
	}
	if f.StreamEnded() {
		st.over(func(a answer) { a.end(nil, c.now) })
		return nil
	}
	if st.unacked += n; st.unacked >= h2Window/2 {
		c.out = appendWindowUpdate(c.out, st.id, uint32(st.unacked)) //nolint:gosec // below 2^20 and a frame
		st.unacked = 0
	}
	return nil
}

func (c *h2Conn) headers(f *http2.MetaHeadersFrame) *failure {
	st := c.streams[f.StreamID]
	if st == nil {
		return nil
	}
	fields := make([]wire.Field, 0, len(f.Fields))
	status := 0
	for _, h := range f.Fields {
		if h.Name == ":status" {
			status, _ = strconv.Atoi(h.Value) // 0 is no status, and is said so
			continue
		}
		fields = append(fields, wire.Field{Name: h.Name, Value: h.Value})
	}
	switch {
	case f.Truncated:
		st.a.breach("the header list is over 64 KiB")
	case st.headed && !f.StreamEnded():
		st.a.breach("trailers without END_STREAM")
	case !st.headed && status >= 100 && status < 200 && !f.StreamEnded():
		return nil
	}
	if !st.headed {
		st.headed = true
		st.a.head(status, fields, c.now)
		fields = nil
	}
	if f.StreamEnded() {
		st.over(func(a answer) { a.end(fields, c.now) })
	}
	return nil
}

func (c *h2Conn) reset(f *http2.RSTStreamFrame) {
	st := c.streams[f.StreamID]
	if st == nil {
		return
	}
	why := &failure{outcome: Reset, detail: fmt.Sprintf("RST_STREAM with %v", f.ErrCode)}
	if f.ErrCode == http2.ErrCodeRefusedStream {
		why.outcome = Blocked
	}
	st.over(func(a answer) { a.fail(why, c.now) })
}

// settings takes the other side's settings and acknowledges them.
func (c *h2Conn) settings(f *http2.SettingsFrame) *failure {
	if f.IsAck() {
		return nil
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			c.most.Store(int64(s.Val))
		case http2.SettingInitialWindowSize:
			change := int64(s.Val) - c.peer.initial
			c.peer.initial = int64(s.Val)
			for _, st := range c.streams {
				st.window += change
			}
		case http2.SettingHeaderTableSize:
			c.table.Limit(s.Val)
		default: // frames are never longer than the default
		}
		return nil
	})
	if err != nil {
		return &failure{outcome: Corrupt, detail: "SETTINGS break HTTP/2: " + err.Error()}
	}
	c.out = appendFrame(c.out, http2.FrameSettings, http2.FlagSettingsAck, 0, nil)
	c.resume()
	return nil
}

// grant takes a WINDOW_UPDATE.
func (c *h2Conn) grant(f *http2.WindowUpdateFrame) *failure {
	if f.StreamID == 0 {
		if c.peer.window += int64(f.Increment); c.peer.window > 1<<31-1 {
			return &failure{outcome: Corrupt, detail: "the connection's window grows beyond 2^31-1"}
		}
	} else if st := c.streams[f.StreamID]; st != nil {
		st.window += int64(f.Increment)
	}
	c.resume()
	return nil
}

// goAway fails the streams that the other side will not answer; the rest goes on,
// and no new ones come.
func (c *h2Conn) goAway(f *http2.GoAwayFrame) {
	c.most.Store(0)
	why := &failure{outcome: Reset, detail: fmt.Sprintf("GOAWAY with %v, last stream %d", f.ErrCode, f.LastStreamID)}
	for id, st := range c.streams {
		if id > f.LastStreamID {
			st.over(func(a answer) { a.fail(why, c.now) })
		}
	}
}
