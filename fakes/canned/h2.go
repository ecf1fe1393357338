package canned

import (
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/wire"
	"assay/internal/wire/h2"
)

const (
	ourWindow     = 1 << 20 // for the body of each request
	ourConnWindow = 1 << 30 // for those of a connection
	maxBlock      = 256 << 10
	maxRoutes     = 256
)

// h2conn is the server side of an HTTP/2 connection.
type h2conn struct {
	calls   map[uint32]*h2call
	last    uint32
	window  int64 // of the connection, for sending
	initial int64 // of a stream
	taken   int64 // of our receive window
	decoder *hpack.Decoder
	block   []byte // of a head that continues in the next frame
	blockOf uint32
	ended   bool // the request has no body
	method  string
	path    string
	typ     string
	token   string
}

// h2call is a request, and then its response.
type h2call struct {
	route  route
	body   []byte
	taken  int64
	window int64 // for sending; moves to the stream when there is one
	stream *stream
}

// openH2 starts HTTP/2.
func (c *conn) openH2() {
	h := &h2conn{calls: map[uint32]*h2call{}, window: h2.DefaultWindow, initial: h2.DefaultWindow}
	h.decoder = hpack.NewDecoder(4096, h.field)
	c.h2 = h
	p := h2.AppendSettings(nil,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1 << 20},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: ourWindow})
	c.send(h2.AppendWindowUpdate(p, 0, ourConnWindow-h2.DefaultWindow))
}

// field keeps the relevant fields of a head.
func (h *h2conn) field(f hpack.HeaderField) {
	switch f.Name {
	case ":method":
		h.method = f.Value
	case ":path":
		h.path = f.Value
	case "content-type":
		h.typ = f.Value
	case "x-access-token":
		h.token = f.Value
	}
}

// goAway sends GOAWAY with an error and closes the connection.
func (c *conn) goAway(code http2.ErrCode) {
	c.send(h2.AppendGoAway(nil, c.h2.last, code))
	if !c.closed {
		c.closeAfter()
	}
}

// readFrames reads complete frames; it returns the rest of p.
func (c *conn) readFrames(p []byte) []byte {
	for len(p) >= h2.HeaderLen && !c.closed && !c.closing {
		head := h2.ParseHeader(p)
		if head.Length > h2.DefaultMaxFrame {
			c.goAway(http2.ErrCodeFrameSize)
			return nil
		}
		size := h2.HeaderLen + int(head.Length)
		if len(p) < size {
			break
		}
		if code := c.frame(head, p[h2.HeaderLen:size]); code != http2.ErrCodeNo {
			c.goAway(code)
			return nil
		}
		p = p[size:]
	}
	if c.closing {
		return nil
	}
	return p
}

// frame handles one frame; it returns a connection error.
func (c *conn) frame(f http2.FrameHeader, p []byte) http2.ErrCode {
	h := c.h2
	if h.blockOf != 0 && (f.Type != http2.FrameContinuation || f.StreamID != h.blockOf) {
		return http2.ErrCodeProtocol
	}
	switch f.Type {
	case http2.FrameHeaders:
		return c.headers(f.Flags, f.StreamID, p)
	case http2.FrameContinuation:
		if h.blockOf == 0 || len(h.block)+len(p) > maxBlock {
			return http2.ErrCodeProtocol
		}
		h.block = append(h.block, p...)
		if f.Flags.Has(http2.FlagContinuationEndHeaders) {
			h.blockOf = 0
			return c.headed(f.StreamID, h.block, h.ended)
		}
	case http2.FrameData:
		return c.requestData(f.Flags, f.StreamID, p)
	case http2.FrameSettings:
		return c.settings(f.Flags, p)
	case http2.FramePing:
		if len(p) != 8 {
			return http2.ErrCodeFrameSize
		}
		if !f.Flags.Has(http2.FlagPingAck) {
			c.send(h2.Frame{Type: http2.FramePing, Flags: http2.FlagPingAck, Payload: p}.Append(nil))
		}
	case http2.FrameWindowUpdate:
		return c.windowUpdate(f.StreamID, p)
	case http2.FrameRSTStream:
		c.forget(f.StreamID)
	case http2.FramePushPromise:
		return http2.ErrCodeProtocol
	default:
	}
	return http2.ErrCodeNo
}

// unpad removes the padding; false if it is too long.
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

// headed handles the complete header block of a request, or of its trailers.
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
		return http2.ErrCodeNo // trailers of a finished request
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

// decode returns the route of a header block. It caches blocks that do not use the
// dynamic table: they always mean the same.
func (c *conn) decode(block []byte) (route, error) {
	g, h := c.gateway, c.h2
	if r, ok := g.routes[string(block)]; ok {
		return r, nil
	}
	h.method, h.path, h.typ, h.token = "", "", "", ""
	if _, err := h.decoder.Write(block); err != nil {
		return route{}, err
	}
	if err := h.decoder.Close(); err != nil {
		return route{}, err
	}
	r := g.admit(routeOf(h.method, h.path, h.typ), h.token)
	if len(g.routes) < maxRoutes && h2.UseOfTable(block) == h2.NoTable {
		g.routes[string(block)] = r
	}
	return r, nil
}

// requestData handles a part of a request's body and returns its window.
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
	c.send(h2.AppendWindowUpdate(nil, id, uint32(n)))
}

// serveCall responds to a complete request.
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

// replyH2 sends a complete response. It is short enough for one frame and any usual window.
func (c *conn) replyH2(id uint32, a answer) {
	head := h2.EncodeFields(wire.Field{Name: ":status", Value: strconv.Itoa(a.status)}, wire.Field{Name: "content-type", Value: a.contentType})
	p := h2.Block{Stream: id, Fields: head, EndStream: len(a.body)+len(a.trailers) == 0}.Append(nil, h2.DefaultMaxFrame)
	if len(a.body) > 0 {
		c.h2.window -= int64(len(a.body))
		p = h2.AppendData(p, id, a.body, len(a.trailers) == 0)
	}
	if len(a.trailers) > 0 {
		p = h2.Block{Stream: id, Fields: h2.EncodeFields(a.trailers...), EndStream: true}.Append(p, h2.DefaultMaxFrame)
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
