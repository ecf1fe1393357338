package strict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"assay/internal/wire"
)

// envelopeReader reads the request messages of a stream, and refuses every
// envelope that a client may not send.
type envelopeReader struct {
	body io.Reader
	call *Call
}

func newEnvelopeReader(c *Call, body io.Reader) *envelopeReader {
	return &envelopeReader{body: body, call: c}
}

// malformed returns the error for a request that breaks the framing.
func (c *Call) malformed(format string, args ...any) error {
	return connect.NewError(c.policy.Malformed(c.Protocol), fmt.Errorf(format, args...))
}

// next returns the next message, decompressed; io.EOF after the last one.
func (e *envelopeReader) next() ([]byte, error) {
	var head [wire.HeaderSize]byte
	n, err := io.ReadFull(e.body, head[:])
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, e.call.malformed("protocol error: incomplete envelope: %d of %d bytes of a header", n, wire.HeaderSize)
	case err != nil:
		return nil, readError(err)
	}
	flags, size := head[0], binary.BigEndian.Uint32(head[1:])
	if err := e.call.policy.Flags(e.call, flags); err != nil {
		return nil, err
	}
	if size > e.call.policy.MaxLength {
		return nil, tooLarge()
	}
	payload, err := e.payload(int64(size))
	if err != nil {
		return nil, err
	}
	if flags&wire.FlagEndStream != 0 { // the policy accepts it
		return nil, e.afterEnd()
	}
	if flags&wire.FlagCompressed != 0 {
		if payload, err = gunzip(payload, e.call.policy.Malformed(e.call.Protocol)); err != nil {
			return nil, err
		}
	}
	return e.call.policy.Message(e.call, payload)
}

// afterEnd reads the request after its end-of-stream envelope; nothing may
// follow.
func (e *envelopeReader) afterEnd() error {
	switch n, err := io.Copy(io.Discard, io.LimitReader(e.body, MaxMessage)); {
	case err != nil:
		return readError(err)
	case n > 0:
		return connect.NewError(connect.CodeInternal, fmt.Errorf("corrupt request: %d extra bytes after end of stream", n))
	default:
		return io.EOF
	}
}

// checkMessage refuses an undecodable message for which connect-go's code is
// not the protocol's.
func checkMessage(c *Call, payload []byte) ([]byte, error) {
	if c.Codec == "json" && len(payload) == 0 {
		return nil, c.malformed("unmarshal message: zero-length payload is not a valid JSON object")
	}
	if !c.Protocol.IsGRPC() {
		return payload, nil
	}
	m := c.method.input()
	var err error
	if c.Codec == "json" {
		err = Aside(func() error { return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(payload, m) })
	} else {
		err = proto.Unmarshal(payload, m)
	}
	if err != nil {
		return nil, c.malformed("unmarshal message: %v", err)
	}
	return payload, nil
}

// checkFlags refuses the end-of-stream bit, which only a server sends, reserved
// bits, and undeclared compression.
func checkFlags(c *Call, flags byte) error {
	reserved := ^wire.FlagCompressed
	if !c.Protocol.IsGRPC() {
		reserved &^= wire.FlagEndStream
	}
	switch {
	case flags&wire.FlagEndStream&^reserved != 0:
		return c.malformed("protocol error: the end-of-stream bit is set in a request envelope (flags 0x%02x)", flags)
	case flags&reserved != 0:
		return c.malformed("protocol error: reserved bits are set in an envelope (flags 0x%02x)", flags)
	case flags&wire.FlagCompressed != 0 && c.encoded == "":
		return connect.NewError(connect.CodeInternal, errors.New("protocol error: compressed message without a declared encoding"))
	default:
		return nil
	}
}

// payload reads size bytes, and allocates only for those that arrive.
func (e *envelopeReader) payload(size int64) ([]byte, error) {
	var buf bytes.Buffer
	n, err := io.CopyN(&buf, e.body, size)
	switch {
	case err == nil:
		return buf.Bytes(), nil
	case errors.Is(err, io.EOF):
		return nil, e.call.malformed("protocol error: promised %d bytes in enveloped message, got %d bytes", size, n)
	default:
		return nil, readError(err)
	}
}

// single reads a body that must hold exactly one message, and returns it as
// one plain envelope.
func (e *envelopeReader) single() ([]byte, error) {
	msg, err := e.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("unary request has zero messages"))
	case err != nil:
		return nil, err
	}
	switch _, err := e.next(); {
	case err == nil:
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("unary request has multiple messages"))
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return wire.AppendEnvelope(nil, 0, msg), nil
}

// envelopePipe is the body of a client stream as connect-go reads it: plain
// envelopes, one at a time as they arrive. The first refused envelope ends it
// with its error.
type envelopePipe struct {
	frames *envelopeReader
	buf    []byte
	err    error
}

func (p *envelopePipe) Read(b []byte) (int, error) {
	for len(p.buf) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		var msg []byte
		if msg, p.err = p.frames.next(); p.err == nil {
			p.buf = wire.AppendEnvelope(nil, 0, msg)
		}
	}
	n := copy(b, p.buf)
	p.buf = p.buf[n:]
	return n, nil
}

// Close does nothing. The server closes the body after the response; closing it
// here would delay the response until the client has sent everything.
func (*envelopePipe) Close() error { return nil }
