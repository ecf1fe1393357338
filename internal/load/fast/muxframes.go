//go:build linux && (amd64 || arm64)

package fast

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/net/http2"

	"assay/internal/load"
	"assay/internal/load/account"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// feed handles bytes of the connection. Frames that are whole in p are read in place.
func (c *mux) feed(p []byte) {
	if len(c.cut) > 0 {
		c.cut = append(c.cut, p...)
		n := c.frames(c.cut)
		if c.state == muxDead {
			return
		}
		c.cut = c.cut[:copy(c.cut, c.cut[n:])]
		if len(c.cut) == 0 {
			c.cut = nil // an idle connection holds no buffer
		}
		return
	}
	if n := c.frames(p); n < len(p) && c.state != muxDead {
		c.cut = append(c.cut, p[n:]...)
	}
}

// frames handles all frames that are whole in p, and returns their length.
func (c *mux) frames(p []byte) (used int) {
	for c.state != muxDead {
		b := p[used:]
		if len(b) < h2.HeaderLen {
			break
		}
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if n > h2.DefaultMaxFrame { // the Framer refuses it after its header
			if f := c.strict(http2.FrameType(b[3]), http2.Flags(b[4]), b[:h2.HeaderLen]); f != nil {
				c.die(f)
			} else {
				c.die(account.Breach("a frame of %d bytes", n))
			}
			return used
		}
		if len(b) < h2.HeaderLen+n {
			break
		}
		used += h2.HeaderLen + n
		if f := c.frame(b[:h2.HeaderLen+n]); f != nil {
			c.die(f)
		}
	}
	return used
}

// frame handles one frame. It returns a failure that ends the connection, or nil.
func (c *mux) frame(b []byte) *account.Failure {
	typ, flags := http2.FrameType(b[3]), http2.Flags(b[4])
	id := binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1)
	if c.state == muxOpen && len(c.block) == 0 {
		payload := b[h2.HeaderLen:]
		switch {
		case typ == http2.FrameData && flags&^http2.FlagDataEndStream == 0 && id != 0:
			return c.data(id, payload, len(payload), flags&http2.FlagDataEndStream != 0)
		case typ == http2.FrameHeaders && flags&^http2.FlagHeadersEndStream == http2.FlagHeadersEndHeaders && id != 0:
			if h := c.heads.find(payload); h != nil {
				return c.known(id, h, flags&http2.FlagHeadersEndStream != 0)
			}
		}
	}
	return c.strict(typ, flags, b)
}

// maxBlock bounds a header block with its continuations. The Framer refuses a block of more
// than twice maxHeaderList.
const maxBlock = 2*maxHeaderList + h2.DefaultMaxFrame

// strict handles a frame with the Framer, which needs complete header blocks.
func (c *mux) strict(typ http2.FrameType, flags http2.Flags, b []byte) *account.Failure {
	if len(c.block) > 0 {
		c.block = append(c.block, b...)
		if typ == http2.FrameContinuation && flags&http2.FlagContinuationEndHeaders == 0 && len(c.block) < maxBlock {
			return nil
		}
		b = c.block
		c.block = nil
	} else if typ == http2.FrameHeaders && flags&http2.FlagHeadersEndHeaders == 0 {
		c.block = append(c.block, b...)
		return nil
	}
	c.source.p = b
	for len(c.source.p) > 0 {
		f, err := c.framer.ReadFrame()
		if err != nil {
			return c.framed(err) // the rest belongs to the broken frame
		}
		if settings, ok := f.(*http2.SettingsFrame); c.state == muxShaking && (!ok || settings.IsAck()) {
			return account.NoHTTP(load.H2C, "the first frame is not SETTINGS")
		}
		if fail := c.take(f, b); fail != nil {
			return fail
		}
	}
	return nil
}

// take handles a frame that the Framer has read.
func (c *mux) take(f http2.Frame, b []byte) *account.Failure {
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f.StreamID, f.Data(), int(f.Length), f.StreamEnded())
	case *http2.MetaHeadersFrame:
		return c.headers(f, b)
	case *http2.RSTStreamFrame:
		c.reset(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.out = h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: f.Data[:]}.Append(c.out)
			c.touch()
			return c.flooded()
		}
	case *http2.WindowUpdateFrame:
		return c.grant(f)
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.PushPromiseFrame:
		return account.Breach("PUSH_PROMISE although push is off")
	}
	return nil
}

// data handles a DATA frame with payload p; n is its length with padding, which counts for
// flow control.
func (c *mux) data(id uint32, p []byte, n int, last bool) *account.Failure {
	if c.unacked += n; c.unacked >= muxConnWindow/2 {
		c.out = h2.AppendWindowUpdate(c.out, 0, uint32(c.unacked)) //nolint:gosec // below 2^30 and a frame
		c.unacked = 0
		c.touch()
	}
	i := c.ids.find(id)
	if i == account.None {
		if id >= c.nextID {
			return account.Breach("DATA on stream %d, which was never opened", id)
		}
		return nil // the driver has reset the stream
	}
	l := c.in.l
	s := l.streams.At(i)
	if !s.Headed() {
		l.streams.Breach(i, s, "DATA before HEADERS")
	}
	if len(p) > 0 {
		l.streams.Body(i, s, p)
	}
	if last {
		c.drop(id)
		l.streams.End(i, s, nil)
		return nil
	}
	if s.Unacked += int32(n); s.Unacked >= muxWindow/2 { //nolint:gosec // below 2^20 and a frame
		c.out = h2.AppendWindowUpdate(c.out, id, uint32(s.Unacked)) //nolint:gosec // see above
		s.Unacked = 0
		c.touch()
	}
	return nil
}

// known handles a known header block.
func (c *mux) known(id uint32, h *knownBlock, last bool) *account.Failure {
	i := c.ids.find(id)
	if i == account.None {
		return nil
	}
	l := c.in.l
	s := l.streams.At(i)
	switch {
	case s.IsCall():
	case !s.Headed() && !last && h.goodFor == s.Class():
		l.streams.GoodHead(s)
		return nil
	case last && h.goodEnd && l.streams.GoodEnd(i, s):
		c.drop(id)
		return nil
	}
	c.fields(i, s, h.status, h.fields, last)
	return nil
}

// headers handles a header block that the Framer has read from b.
func (c *mux) headers(f *http2.MetaHeadersFrame, b []byte) *account.Failure {
	fields := make([]wire.Field, 0, len(f.Fields))
	status := 0
	for _, h := range f.Fields {
		if h.Name == ":status" {
			status, _ = strconv.Atoi(h.Value) // an invalid status counts as 0, which fails
			continue
		}
		fields = append(fields, wire.Field{Name: h.Name, Value: h.Value})
	}
	i := c.ids.find(f.StreamID)
	if f.Truncated {
		c.heads.forget()
		if i != account.None {
			c.in.l.streams.Breach(i, c.in.l.streams.At(i), "the header list is over 64 KiB")
		}
	} else {
		c.remember(i, b, status, fields)
	}
	if i != account.None {
		c.fields(i, c.in.l.streams.At(i), status, fields, f.StreamEnded())
	}
	return nil
}

// fields handles a head or trailers.
func (c *mux) fields(i int32, s *account.Stream, status int, fields []wire.Field, last bool) {
	l := c.in.l
	headed := s.Headed()
	switch {
	case headed && !last:
		l.streams.Breach(i, s, "trailers without END_STREAM")
	case !headed && status >= 100 && status < 200 && !last:
		return
	}
	if !headed {
		l.streams.Head(i, s, status, fields)
		fields = nil
	}
	if last {
		c.drop(s.ID)
		l.streams.End(i, s, fields)
	}
}

func (c *mux) reset(f *http2.RSTStreamFrame) {
	i := c.ids.find(f.StreamID)
	if i == account.None {
		return
	}
	c.drop(f.StreamID)
	c.in.l.streams.Fail(i, c.in.l.streams.At(i), account.ResetStream(f.ErrCode))
}

// settings applies the peer's settings and acknowledges them.
func (c *mux) settings(f *http2.SettingsFrame) *account.Failure {
	if f.IsAck() {
		return nil
	}
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			if c.nextID <= muxLastID {
				c.most = int64(s.Val)
			}
		case http2.SettingInitialWindowSize:
			change := int64(s.Val) - c.initial
			c.initial = int64(s.Val)
			for n := range c.pending {
				c.pending[n].window += change
			}
		case http2.SettingHeaderTableSize:
			c.table.Limit(s.Val)
		default: // MAX_FRAME_SIZE: we never send longer frames than the default
		}
		return nil
	})
	if err != nil {
		return account.Breach("SETTINGS break HTTP/2: %v", err)
	}
	c.out = h2.Frame{Type: http2.FrameSettings, Flags: http2.FlagSettingsAck}.Append(c.out)
	c.touch()
	c.resume()
	if c.state == muxShaking {
		c.shaken()
	}
	return c.flooded()
}

// mostUnread bounds the output for a peer that sends PING or SETTINGS and reads no answers.
const mostUnread = 16 << 20

// flooded returns a failure when more output than mostUnread waits.
func (c *mux) flooded() *account.Failure {
	if c.stuck == 0 || len(c.out) <= mostUnread {
		return nil
	}
	return account.Breach("the peer sends PING or SETTINGS and reads nothing: %d MB of answers wait", mostUnread>>20)
}

// grant handles a WINDOW_UPDATE.
func (c *mux) grant(f *http2.WindowUpdateFrame) *account.Failure {
	if f.StreamID == 0 {
		if c.window += int64(f.Increment); c.window > 1<<31-1 {
			return account.Breach("the connection's window grows beyond 2^31-1")
		}
	}
	for n := range c.pending {
		if c.pending[n].id == f.StreamID {
			c.pending[n].window += int64(f.Increment)
		}
	}
	c.resume()
	return nil
}

// goAway fails the streams that the peer will not answer. The others continue; the
// connection gets no new ones.
func (c *mux) goAway(f *http2.GoAwayFrame) {
	c.retire(account.GoAway(f.ErrCode, f.LastStreamID))
	c.nextID = muxLastID + 1
	var lost []uint32
	c.ids.each(func(id uint32, _ int32) {
		if id > f.LastStreamID {
			lost = append(lost, id)
		}
	})
	for _, id := range lost {
		i := c.ids.find(id)
		c.drop(id)
		c.in.l.streams.Fail(i, c.in.l.streams.At(i), account.GoAway(f.ErrCode, f.LastStreamID))
	}
}
