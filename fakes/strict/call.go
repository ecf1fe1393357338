package strict

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
)

// Call is one request on its way through a Layer.
type Call struct {
	// Request is the request. A policy may replace it to change its context.
	Request  *http.Request
	Protocol Protocol
	Codec    string // json or proto

	method    method
	policy    *Policy
	w         http.ResponseWriter
	canonical string    // content type of the response
	raw       io.Reader // the body of a streaming request
	encoded   string    // encoding of the request: gzip or ""
	timeout   time.Duration
}

// Enveloped reports whether the messages of the call are in envelopes.
func (c *Call) Enveloped() bool { return c.Protocol.IsGRPC() || c.method.shape != unary }

// Encoding returns the declared encoding of the request's messages: gzip, or ""
// for identity.
func (c *Call) Encoding() string { return c.encoded }

// ResponseHeader returns the header of the response.
func (c *Call) ResponseHeader() http.Header { return c.w.Header() }

// readContentType finds the protocol and the codec.
func (c *Call) readContentType() bool {
	values := c.Request.Header.Values("Content-Type")
	if len(values) != 1 {
		return false
	}
	m, ok := parseMediaType(values[0], c.method.shape)
	if ok {
		c.setType(m)
		c.Request.Header.Set("Content-Type", c.canonical)
	}
	return ok
}

func (c *Call) setType(m mediaType) {
	c.Protocol, c.Codec, c.canonical = m.protocol, m.codec, m.canonical
}

// readTimeout reads the timeout of the call's protocol. connect-go reads the
// header again, so a timeout that means no deadline is removed.
func (c *Call) readTimeout() (time.Duration, error) {
	d, err := c.Protocol.ParseTimeout(c.Request.Header)
	if err == nil && d == 0 {
		c.Request.Header.Del("Grpc-Timeout")
	}
	return d, err
}

// readBody reads and checks the body, and replaces it with a plain one.
func (c *Call) readBody() error {
	switch {
	case !c.Enveloped():
		msg, err := ReadBody(c.Request.Body)
		if err == nil && c.encoded == gzipName {
			msg, err = gunzip(msg, connect.CodeInvalidArgument)
		}
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	case c.method.shape == unary || c.method.shape == serverStream:
		msg, err := newEnvelopeReader(c, c.Request.Body).single()
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	default:
		c.raw = c.Request.Body
		c.Request.Body = &envelopePipe{frames: newEnvelopeReader(c, c.raw)}
		c.Request.ContentLength = -1
		return nil
	}
}

// readError converts an error of reading a request for the client.
func readError(err error) *connect.Error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the request was not complete in time"))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("the request ended before its declared length: %w", err)
	default:
		return invalid("read request: %v", err)
	}
}
