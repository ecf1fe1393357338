package transport_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// h2peer is an HTTP/2 server that sends exactly the frames of a test.
type h2peer struct {
	c    *net.TCPConn
	f    *http2.Framer
	enc  *hpack.Encoder
	buf  bytes.Buffer
	dec  *hpack.Decoder
	seen []string // the types of frames that were read
}

// h2Server passes every connection to fn after reading the client's preface. The
// connection stays open until the end of the test, unless fn closes it.
func h2Server(t *testing.T, fn func(p *h2peer)) way {
	addr := rawServer(t, func(c *net.TCPConn) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		p := &h2peer{c: c, f: http2.NewFramer(c, c), dec: hpack.NewDecoder(4096, nil)}
		p.f.AllowIllegalWrites = true
		p.enc = hpack.NewEncoder(&p.buf)
		fn(p)
	})
	return way{addr, transport.Options{HTTP: transport.H2C}}
}

// settings sends the server's preface.
func (p *h2peer) settings(s ...http2.Setting) { p.f.WriteSettings(s...) }

// read reads one frame and records its type; it returns nil at the end of the
// connection. It acknowledges SETTINGS.
func (p *h2peer) read() http2.Frame {
	f, err := p.f.ReadFrame()
	if err != nil {
		return nil
	}
	p.seen = append(p.seen, f.Header().Type.String())
	if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
		p.f.WriteSettingsAck()
	}
	return f
}

// await reads until a frame of the type arrives.
func (p *h2peer) await(kind http2.FrameType) http2.Frame {
	for f := p.read(); f != nil; f = p.read() {
		if f.Header().Type == kind {
			return f
		}
	}
	return nil
}

// request reads a whole request and returns its stream, 0 at the end of the connection.
func (p *h2peer) request() uint32 {
	f := p.await(http2.FrameHeaders)
	if f == nil {
		return 0
	}
	for h := f.Header(); !h.Flags.Has(http2.FlagDataEndStream); {
		if f = p.await(http2.FrameData); f == nil {
			return 0
		}
		h = f.Header()
	}
	return f.Header().StreamID
}

// drain reads until the connection ends.
func (p *h2peer) drain() {
	for p.read() != nil {
	}
}

// block encodes fields, given as name, value, name, value.
func (p *h2peer) block(fields ...string) []byte {
	p.buf.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(p.buf.Bytes())
}

// headers sends a whole header block.
func (p *h2peer) headers(id uint32, end bool, fields ...string) {
	p.f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: true, BlockFragment: p.block(fields...)})
}

// stream answers with the head of a Connect stream.
func (p *h2peer) stream(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/connect+json")
}

// whole answers with a whole Connect stream.
func (p *h2peer) whole(id uint32) {
	p.stream(id)
	p.f.WriteData(id, true, []byte(envelope(0, startEvent)+envelope(0, endEvent)+envelope(2, "{}")))
}

// ask makes a Start on a connection; the exchange says why it could not be sent.
func (c *client) ask(conn *transport.Conn) *transport.Exchange {
	call := startCall()
	call.Headers = []bundle.Header{{Name: "host", Value: "t"}, {Name: "content-type", Value: "application/connect+json"}}
	x, err := conn.Request(c.ctx, call, false)
	if err == nil {
		_ = x.Data(c.ctx, []byte(envelope(0, "{}")), true)
	}
	return x
}
