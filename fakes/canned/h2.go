package canned

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	frameHead     = 9
	maxFrame      = 16 << 10
	defaultWindow = 65_535
	ourWindow     = 1 << 20 // for the body of each request
	ourConnWindow = 1 << 30 // for those of a connection
	maxBlock      = 256 << 10
	maxRoutes     = 256
)

// h2 is the server side of a connection of HTTP/2.
type h2 struct {
	calls   map[uint32]*h2call
	last    uint32
	window  int64 // of the connection, for what we send
	initial int64 // of a stream
	taken   int64 // of our window
	decoder *hpack.Decoder
	block   []byte // of a head that goes on in the next frame
	blockOf uint32
	ended   bool // the head is all of the request
	method  string
	path    string
	typ     string
}

// h2call is a request, and then its answer.
type h2call struct {
	route  route
	body   []byte
	taken  int64
	window int64 // for what we send; the stream has it when there is one
	stream *stream
}

// openH2 begins HTTP/2.
func (c *conn) openH2() {
	h := &h2{calls: map[uint32]*h2call{}, window: defaultWindow, initial: defaultWindow}
	h.decoder = hpack.NewDecoder(4096, h.field)
	c.h2 = h
	settings := binary.BigEndian.AppendUint16(nil, uint16(http2.SettingMaxConcurrentStreams))
	settings = binary.BigEndian.AppendUint32(settings, 1<<20)
	settings = binary.BigEndian.AppendUint16(settings, uint16(http2.SettingInitialWindowSize))
	settings = binary.BigEndian.AppendUint32(settings, ourWindow)
	p := appendFrame(nil, http2.FrameSettings, 0, 0, settings)
	c.send(appendFrame(p, http2.FrameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, ourConnWindow-defaultWindow)))
}

// field takes one field of a head, as far as it matters.
func (h *h2) field(f hpack.HeaderField) {
	switch f.Name {
	case ":method":
		h.method = f.Value
	case ":path":
		h.path = f.Value
	case "content-type":
		h.typ = f.Value
	}
}

func appendFrameHead(dst []byte, n int, t http2.FrameType, flags http2.Flags, id uint32) []byte {
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), byte(t), byte(flags))
	return binary.BigEndian.AppendUint32(dst, id)
}

func appendFrame(dst []byte, t http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	return append(appendFrameHead(dst, len(payload), t, flags, id), payload...)
}

// goAway says what the client did wrong, and closes.
func (c *conn) goAway(code http2.ErrCode) {
	p := binary.BigEndian.AppendUint32(nil, c.h2.last)
	c.send(appendFrame(nil, http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint32(p, uint32(code))))
	if !c.closed {
		c.closeAfter()
	}
}

// readFrames reads whole frames; it returns what is left.
func (c *conn) readFrames(p []byte) []byte {
	for len(p) >= frameHead && !c.closed && !c.closing {
		n := int(p[0])<<16 | int(p[1])<<8 | int(p[2])
		if n > maxFrame {
			c.goAway(http2.ErrCodeFrameSize)
			return nil
		}
		if len(p) < frameHead+n {
			break
		}
		id := binary.BigEndian.Uint32(p[5:]) & (1<<31 - 1)
		if code := c.frame(http2.FrameType(p[3]), http2.Flags(p[4]), id, p[frameHead:frameHead+n]); code != http2.ErrCodeNo {
			c.goAway(code)
			return nil
		}
		p = p[frameHead+n:]
	}
	if c.closing {
		return nil
	}
	return p
}

// frame takes one frame; the error is one of the connection.
func (c *conn) frame(t http2.FrameType, flags http2.Flags, id uint32, p []byte) http2.ErrCode {
	h := c.h2
	if h.blockOf != 0 && (t != http2.FrameContinuation || id != h.blockOf) {
		return http2.ErrCodeProtocol
	}
	switch t {
	case http2.FrameHeaders:
		return c.headers(flags, id, p)
	case http2.FrameContinuation:
		if h.blockOf == 0 || len(h.block)+len(p) > maxBlock {
			return http2.ErrCodeProtocol
		}
		h.block = append(h.block, p...)
		if flags.Has(http2.FlagContinuationEndHeaders) {
			h.blockOf = 0
			return c.headed(id, h.block, h.ended)
		}
	case http2.FrameData:
		return c.requestData(flags, id, p)
	case http2.FrameSettings:
		return c.settings(flags, p)
	case http2.FramePing:
		if len(p) != 8 {
			return http2.ErrCodeFrameSize
		}
		if !flags.Has(http2.FlagPingAck) {
			c.send(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, p))
		}
	case http2.FrameWindowUpdate:
		return c.windowUpdate(id, p)
	case http2.FrameRSTStream:
		c.forget(id)
	case http2.FramePushPromise:
		return http2.ErrCodeProtocol
	default:
	}
	return http2.ErrCodeNo
}

// unpad takes the padding away; false when there is less than it says.
func unpad(p []byte, padded bool) ([]byte, bool) {
	if !padded {
		return p, true
	}
	if len(p) == 0 || int(p[0]) > len(p)-1 {
		return nil, false
	}
	return p[1 : len(p)-int(p[0])], true
}

func (c *conn) headers(flags http2.Flags, id uint32, p []byte) http2.ErrCode {
	p, ok := unpad(p, flags.Has(http2.FlagHeadersPadded))
	if flags.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return http2.ErrCodeFrameSize
		}
		p = p[5:]
	}
	if !ok || id%2 == 0 {
		return http2.ErrCodeProtocol
	}
	ended := flags.Has(http2.FlagHeadersEndStream)
	if flags.Has(http2.FlagHeadersEndHeaders) {
		return c.headed(id, p, ended)
	}
	c.h2.block, c.h2.blockOf, c.h2.ended = append([]byte(nil), p...), id, ended
	return http2.ErrCodeNo
}

// headed takes a whole header block: that of a request, or of its trailers.
func (c *conn) headed(id uint32, block []byte, ended bool) http2.ErrCode {
	h := c.h2
	r, err := c.decode(block)
	if err != nil {
		return http2.ErrCodeCompression
	}
	call := h.calls[id]
	switch {
	case call != nil && !ended:
		return http2.ErrCodeProtocol
	case call == nil && id <= h.last:
		return http2.ErrCodeNo // trailers of a request that is answered or forgotten
	case call == nil:
		h.last = id
		call = &h2call{route: r, window: h.initial}
		h.calls[id] = call
	}
	if ended {
		c.serveCall(id, call)
	}
	return http2.ErrCodeNo
}

// decode finds the route of a header block. A block that neither uses nor changes
// the dynamic table means the same every time.
func (c *conn) decode(block []byte) (route, error) {
	g, h := c.gateway, c.h2
	if r, ok := g.routes[string(block)]; ok {
		return r, nil
	}
	h.method, h.path, h.typ = "", "", ""
	if _, err := h.decoder.Write(block); err != nil {
		return route{}, err
	}
	if err := h.decoder.Close(); err != nil {
		return route{}, err
	}
	r := routeOf(h.method, h.path, h.typ)
	if len(g.routes) < maxRoutes && isStatic(block) {
		g.routes[string(block)] = r
	}
	return r, nil
}

// isStatic reports whether a block, known to be valid, leaves the dynamic table alone.
func isStatic(p []byte) bool {
	for len(p) > 0 {
		var index uint64
		var ok bool
		switch b := p[0]; {
		case b >= 0x80: // an indexed field
			if index, p, ok = hpackInt(p, 7); !ok || index > 61 {
				return false
			}
			continue
		case b >= 0x20: // an insertion, or a new size
			return false
		default:
			if index, p, ok = hpackInt(p, 4); !ok || index > 61 {
				return false
			}
		}
		if index == 0 {
			if p, ok = skipString(p); !ok {
				return false
			}
		}
		if p, ok = skipString(p); !ok {
			return false
		}
	}
	return true
}

func skipString(p []byte) ([]byte, bool) {
	n, p, ok := hpackInt(p, 7)
	if !ok || n > uint64(len(p)) {
		return nil, false
	}
	return p[n:], true
}

// hpackInt reads an integer with a prefix of so many bits (RFC 7541, section 5.1).
func hpackInt(p []byte, prefix uint) (v uint64, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	most := uint64(1)<<prefix - 1
	if v = uint64(p[0]) & most; v < most {
		return v, p[1:], true
	}
	for i, shift := 1, 0; i < len(p) && shift < 28; i, shift = i+1, shift+7 {
		v += uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return v, p[i+1:], true
		}
	}
	return 0, nil, false
}

// requestData takes a part of a request's body, and gives its window back.
func (c *conn) requestData(flags http2.Flags, id uint32, p []byte) http2.ErrCode {
	h := c.h2
	if id == 0 || id > h.last {
		return http2.ErrCodeProtocol
	}
	if h.taken += int64(len(p)); h.taken >= ourConnWindow/2 {
		c.giveBack(0, h.taken)
		h.taken = 0
	}
	call := h.calls[id]
	if call == nil || call.stream != nil {
		return http2.ErrCodeNo
	}
	if call.taken += int64(len(p)); call.taken >= ourWindow/2 {
		c.giveBack(id, call.taken)
		call.taken = 0
	}
	p, ok := unpad(p, flags.Has(http2.FlagDataPadded))
	if !ok {
		return http2.ErrCodeProtocol
	}
	if call.route.action == sendSignal && len(call.body)+len(p) <= maxBody {
		call.body = append(call.body, p...)
	}
	if flags.Has(http2.FlagDataEndStream) {
		c.serveCall(id, call)
	}
	return http2.ErrCodeNo
}

func (c *conn) giveBack(id uint32, n int64) {
	c.send(appendFrame(nil, http2.FrameWindowUpdate, 0, id, binary.BigEndian.AppendUint32(nil, uint32(n))))
}

// serveCall answers a request that is complete.
func (c *conn) serveCall(id uint32, call *h2call) {
	if call.stream != nil {
		return
	}
	g := c.gateway
	a, stream := g.do(call.route, call.body)
	if !stream {
		delete(c.h2.calls, id)
		c.replyH2(id, a)
		return
	}
	call.stream = g.begin(c, call.route.dialect, id)
	call.stream.window = call.window
	g.pump(call.stream)
}

// replyH2 sends a whole answer. Such are short: they fit a frame and any window
// that a client leaves open.
func (c *conn) replyH2(id uint32, a answer) {
	block := headerBlock(":status", strconv.Itoa(a.status), "content-type", a.contentType)
	flags := http2.FlagHeadersEndHeaders
	if len(a.body)+len(a.trailers) == 0 {
		flags |= http2.FlagHeadersEndStream
	}
	p := appendFrame(nil, http2.FrameHeaders, flags, id, block)
	if len(a.body) > 0 {
		flags = 0
		if len(a.trailers) == 0 {
			flags = http2.FlagDataEndStream
		}
		c.h2.window -= int64(len(a.body))
		p = appendFrame(p, http2.FrameData, flags, id, a.body)
	}
	if len(a.trailers) > 0 {
		p = appendFrame(p, http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, id, headerBlock(a.trailers...))
	}
	c.send(p)
}

// forget ends a stream that the client has reset.
func (c *conn) forget(id uint32) {
	call := c.h2.calls[id]
	if call == nil {
		return
	}
	delete(c.h2.calls, id)
	if call.stream != nil {
		c.gateway.lost(call.stream)
	}
}
