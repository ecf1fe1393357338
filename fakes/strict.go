package fakes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
)

// maxMessage is the largest request message that is read, compressed or not:
// generous for any input that a client sends at once, and small enough that a
// length prefix of 4 GiB is refused before anything is allocated for it.
const maxMessage = 16 << 20

// drainGrace is how long a refusal waits for what the client has not sent yet:
// net/http reads the rest of a request before it answers, so that the
// connection can be used on. A rest that does not come must not hold the
// refusal back.
const drainGrace = 500 * time.Millisecond

// strict stands in front of connect-go, which takes what the protocols
// forbid: it reads the request itself, refuses what is wrong in the shape of
// the call, and hands on a plain, complete and uncompressed request. next never
// sees a request that is not one.
type strict struct {
	next    http.Handler
	auth    authorizer
	errors  errorWriter
	methods map[string]method
	lax     lax
	// protocols are those that are served; empty is all.
	protocols []string
	// frames puts the decorators of the frame seam around a sink.
	frames func(frameSink) frameSink
	// opening changes the beginning of Connect's streams; nil changes nothing.
	opening func(*opening)
}

var _ http.Handler = (*strict)(nil)

// call is one request on its way through the strict layer.
type call struct {
	mediaType
	method
	lax      lax
	w        http.ResponseWriter
	r        *http.Request
	raw      io.Reader // the body of a stream of requests, as it comes
	encoding string    // of the request: gzip or ""
	timeout  time.Duration
}

// enveloped reports whether the messages of the call are in envelopes.
func (c *call) enveloped() bool { return c.protocol.isGRPC() || c.shape != unary }

// over is the same strictness in front of a service.
func (s strict) over(next http.Handler, methods map[string]method) http.Handler {
	s.next, s.methods = next, methods
	return &s
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, known := s.methods[r.URL.Path]
	if !known {
		s.notFound(w, r)
		return
	}
	if s.isGet(r) && m.get && has(s.protocols, connectRPC.String()) {
		s.serveGet(w, r, m)
		return
	}
	if r.Method != http.MethodPost {
		if s.lax.verbsNotFound {
			s.notFound(w, r)
			return
		}
		limitReading(w, drainGrace)
		if !s.lax.bareUnknownVerbs || isKnownVerb(r.Method) {
			w.Header().Set("Allow", m.allow(s.lax.headLikeGet))
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c := &call{method: m, lax: s.lax, w: w, r: r}
	if !c.readContentType() || !s.serves(c) {
		refuseType(w, r, m.shape)
		return
	}
	s.run(c)
}

// isGet reports whether a request asks by GET, or by HEAD where that is the same
// without a body.
func (s *strict) isGet(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead && s.lax.headLikeGet
}

// serves reports whether the protocol of a call is served over its version of
// HTTP: gRPC needs the trailers of HTTP/2.
func (s *strict) serves(c *call) bool {
	return has(s.protocols, c.protocol.String()) &&
		(c.protocol != grpcRPC || c.r.ProtoMajor >= 2 || s.lax.grpcOverHTTP1)
}

// refuseType answers a content type that is not served.
func refuseType(w http.ResponseWriter, r *http.Request, form shape) {
	limitReading(w, drainGrace)
	w.Header().Set("Accept-Post", acceptPost(form, r.ProtoMajor >= 2))
	w.WriteHeader(http.StatusUnsupportedMediaType)
}

// run serves a call whose form is known. What streams both ways needs the full
// duplex of HTTP/2.
func (s *strict) run(c *call) {
	if c.shape == bidiStream && c.r.ProtoMajor < 2 {
		limitReading(c.w, drainGrace)
		c.w.Header().Set("Connection", "close")
		c.w.WriteHeader(http.StatusHTTPVersionNotSupported)
		return
	}
	if err := s.admit(c); err != nil {
		s.refuse(c, err)
		return
	}
	s.serve(c)
}

// orNotFound is a mux that knows how to say to gRPC that a service is unknown.
func (s strict) orNotFound(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, pattern := mux.Handler(r)
		if pattern == "" && (s.lax.jsonNotFound || strings.HasPrefix(r.Header.Get("Content-Type"), grpcType)) {
			s.notFound(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// notFound answers what names no procedure: 404, and to gRPC, where every
// outcome of a call has HTTP status 200, unimplemented.
func (s *strict) notFound(w http.ResponseWriter, r *http.Request) {
	limitReading(w, drainGrace)
	m, ok := parseMediaType(r.Header.Get("Content-Type"), serverStream, false)
	c := &call{mediaType: m, r: r}
	if !ok || !m.protocol.isGRPC() || r.Method != http.MethodPost || s.lax.plainNotFound || !s.serves(c) {
		s.noRoute(w, r)
		return
	}
	s.errors.grpc(w, m.canonical, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("unknown method %s", r.URL.Path)))
}

// noRoute is HTTP 404, in text or, as many routers have it, in JSON.
func (s *strict) noRoute(w http.ResponseWriter, r *http.Request) {
	if !s.lax.jsonNotFound {
		http.NotFound(w, r)
		return
	}
	s.errors.unary(w, connect.NewError(connect.CodeNotFound, fmt.Errorf("route %s %s not found", r.Method, r.URL.Path)))
}

// isKnownVerb reports whether HTTP knows a method.
func isKnownVerb(verb string) bool {
	switch verb {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return true
	default:
		return false
	}
}

// admit checks all that stands in the head of a request, and then its body.
func (s *strict) admit(c *call) error {
	if err := s.auth.checkToken(c.r); err != nil {
		return err
	}
	r, err := s.auth.asUser(c.r)
	if err != nil {
		return err
	}
	c.r = r
	if c.protocol == connectRPC {
		if err := checkVersion(c.r.Header); err != nil {
			return err
		}
	}
	if err := c.readTimeout(); err != nil {
		return err
	}
	if err := c.negotiate(); err != nil {
		return err
	}
	if c.timeout > 0 && !c.lax.patientBodies {
		limitReading(c.w, c.timeout)
	}
	return c.readBody()
}

// readTimeout reads the timeout of the call's protocol. connect-go reads it
// again, so what is no deadline at all must not reach it.
func (c *call) readTimeout() (err error) {
	if c.lax.signedTimeouts && c.protocol == connectRPC {
		if err := c.readSignedTimeout(); err != nil {
			return err
		}
	}
	c.timeout, err = c.protocol.parseTimeout(c.r.Header)
	if err != nil && c.lax.zeroTimeoutCode != 0 && c.protocol == connectRPC && isZero(c.r.Header.Get("Connect-Timeout-Ms")) {
		return recode(err, c.lax.zeroTimeoutCode)
	}
	if err == nil && c.timeout == 0 {
		c.r.Header.Del("Grpc-Timeout")
	}
	return err
}

// refuse answers with an error in the shape of the call.
func (s *strict) refuse(c *call, err error) {
	limitReading(c.w, drainGrace)
	if c.lax.cutIsCanceled && errors.Is(err, io.ErrUnexpectedEOF) {
		err = recode(err, connect.CodeCanceled)
	}
	// The seams of the way out are there for refusals as well.
	switch {
	case c.protocol.isGRPC():
		s.errors.grpc(c.w, c.canonical, err)
	case c.shape == unary:
		c.w.Header().Set("Accept-Encoding", gzipName)
		s.errors.unary(c.w, err)
	default:
		c.w.Header().Set("Connect-Accept-Encoding", gzipName)
		s.errors.stream(s.streamWriter(c), c.canonical, err)
	}
}

// serve hands the call to connect-go.
func (s *strict) serve(c *call) {
	if !c.enveloped() {
		s.next.ServeHTTP(c.w, c.r)
		return
	}
	if c.shape == clientStream || c.shape == bidiStream {
		// An error is answered while the client still sends.
		_ = http.NewResponseController(c.w).EnableFullDuplex()
	}
	w := s.streamWriter(c)
	s.next.ServeHTTP(w, c.r.WithContext(context.WithValue(c.r.Context(), streamWriterKey{}, w)))
	if c.raw != nil {
		c.drain()
	}
}

// streamWriter is the way out of a call whose answer is in envelopes.
func (s *strict) streamWriter(c *call) *streamWriter {
	w := newStreamWriter(c.w, s.frames)
	if c.protocol == connectRPC {
		w.opens(c.r, s.opening)
	}
	return w
}

// drain reads what the client goes on to send after its answer, for a while.
// net/http would do it after the handler has returned, and in full duplex it
// would then take the next request for a part of this one.
func (c *call) drain() {
	limitReading(c.w, drainGrace)
	if c.r.ProtoMajor >= 2 {
		return // the stream is reset
	}
	_ = http.NewResponseController(c.w).Flush()
	_, _ = io.Copy(io.Discard, io.LimitReader(c.raw, maxMessage))
}

// readContentType finds the protocol and the codec.
func (c *call) readContentType() (ok bool) {
	values := c.r.Header.Values("Content-Type")
	if len(values) != 1 {
		return false
	}
	if c.mediaType, ok = parseMediaType(values[0], c.shape, c.lax.plainTypesOnly); ok {
		c.r.Header.Set("Content-Type", c.canonical)
	}
	return ok
}

// checkVersion refuses a version other than 1; none at all is taken as 1.
func checkVersion(h http.Header) error {
	for _, v := range h.Values("Connect-Protocol-Version") {
		if v != "1" {
			return invalid("Connect-Protocol-Version must be \"1\": got %q", v)
		}
	}
	return nil
}

// limitReading ends the wait for the rest of a request after d. The server
// sets a new limit before it reads the next request of the connection.
func limitReading(w http.ResponseWriter, d time.Duration) {
	// A writer without deadlines is one of a test, which does not stall.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d))
}

// readBody reads and checks the body, and puts a plain one in its place.
func (c *call) readBody() error {
	switch {
	case !c.enveloped():
		msg, err := readMessage(c.r.Body, c.encoding)
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	case c.shape == unary || c.shape == serverStream:
		msg, err := newEnvelopeReader(c, c.r.Body).single()
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	default:
		c.raw = c.r.Body
		c.r.Body = &envelopePipe{frames: newEnvelopeReader(c, c.raw)}
		c.r.ContentLength = -1
		return nil
	}
}

// replaceBody is for bodies that were read to their end: reading has no limit
// from here on, or the server would take the end of the time for the client's
// going away.
func (c *call) replaceBody(b []byte) error {
	if c.timeout > 0 {
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	}
	c.r.Body = io.NopCloser(bytes.NewReader(b))
	c.r.ContentLength = int64(len(b))
	return nil
}

// readError is an error of reading a request as the client is to see it.
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
