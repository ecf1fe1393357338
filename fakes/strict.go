package fakes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/process/processconnect"
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

// shape is what a method takes and gives.
type shape int

const (
	unary        shape = iota
	serverStream       // one message in, a stream out
	clientStream       // a stream in, one message out
)

// methods are the procedures and their shapes.
func methods() map[string]shape {
	return map[string]shape{
		processconnect.ProcessListProcedure:        unary,
		processconnect.ProcessConnectProcedure:     serverStream,
		processconnect.ProcessStartProcedure:       serverStream,
		processconnect.ProcessUpdateProcedure:      unary,
		processconnect.ProcessStreamInputProcedure: clientStream,
		processconnect.ProcessSendInputProcedure:   unary,
		processconnect.ProcessSendSignalProcedure:  unary,
		processconnect.ProcessCloseStdinProcedure:  unary,
	}
}

// strict stands in front of connect-go, which takes what the Connect protocol
// forbids: it reads the request itself, refuses what is wrong in the shape of
// the call, and hands on a plain, complete and uncompressed request. next never
// sees a request that is not one.
type strict struct {
	next    http.Handler
	auth    authorizer
	errors  errorWriter
	methods map[string]shape
	// frames puts the decorators of the frame seam around a sink.
	frames func(frameSink) frameSink
}

var _ http.Handler = (*strict)(nil)

// call is one request on its way through the strict layer.
type call struct {
	w           http.ResponseWriter
	r           *http.Request
	shape       shape
	contentType string // canonical, as the answer has it
	codec       string // json, proto
	encoding    string // of the request: gzip or ""
	timeout     time.Duration
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	form, known := s.methods[r.URL.Path]
	if !known {
		limitReading(w, drainGrace)
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		limitReading(w, drainGrace)
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	c := &call{w: w, r: r, shape: form}
	if !c.readContentType() {
		limitReading(w, drainGrace)
		w.Header().Set("Accept-Post", acceptPost(form))
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	if err := s.admit(c); err != nil {
		s.refuse(c, err)
		return
	}
	s.serve(c)
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
	if err := checkVersion(c.r.Header); err != nil {
		return err
	}
	if c.timeout, err = parseTimeout(c.r.Header); err != nil {
		return err
	}
	if err := c.negotiate(); err != nil {
		return err
	}
	if c.timeout > 0 {
		limitReading(c.w, c.timeout)
	}
	return c.readBody()
}

// refuse answers with an error in the shape of the call.
func (s *strict) refuse(c *call, err error) {
	limitReading(c.w, drainGrace)
	if c.shape == unary {
		c.w.Header().Set("Accept-Encoding", gzipName)
		s.errors.unary(c.w, err)
		return
	}
	c.w.Header().Set("Connect-Accept-Encoding", gzipName)
	// The seams of the way out are there for refusals as well.
	s.errors.stream(newStreamWriter(c.w, s.frames), c.contentType, err)
}

// serve hands the call to connect-go.
func (s *strict) serve(c *call) {
	if c.shape == unary {
		s.next.ServeHTTP(c.w, c.r)
		return
	}
	if c.shape == clientStream {
		// An error is answered while the client still sends.
		_ = http.NewResponseController(c.w).EnableFullDuplex()
		defer limitReading(c.w, drainGrace)
	}
	w := newStreamWriter(c.w, s.frames)
	s.next.ServeHTTP(w, c.r.WithContext(context.WithValue(c.r.Context(), streamWriterKey{}, w)))
}

// readContentType finds the codec. The media type is compared without case and
// its parameters are ignored, save that a charset other than UTF-8 is not
// supported.
func (c *call) readContentType() (ok bool) {
	values := c.r.Header.Values("Content-Type")
	if len(values) != 1 {
		return false
	}
	base, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return false
	}
	prefix := "application/connect+"
	if c.shape == unary {
		prefix = "application/"
	}
	codec, found := strings.CutPrefix(base, prefix)
	if !found || codec != "json" && codec != "proto" {
		return false
	}
	charset, hasCharset := params["charset"]
	if hasCharset && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	c.codec, c.contentType = codec, base
	if hasCharset && codec == "json" {
		c.contentType = base + "; charset=utf-8"
	}
	c.r.Header.Set("Content-Type", c.contentType)
	return true
}

// acceptPost lists the content types of a shape.
func acceptPost(form shape) string {
	if form == unary {
		return "application/json, application/proto"
	}
	return "application/connect+json, application/connect+proto"
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
	body := c.r.Body
	switch c.shape {
	case unary:
		msg, err := readMessage(body, c.encoding)
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	case serverStream:
		frames := newEnvelopeReader(body, c.codec, c.encoding)
		msg, err := frames.single()
		if err != nil {
			return err
		}
		return c.replaceBody(msg)
	default:
		c.r.Body = &envelopePipe{frames: newEnvelopeReader(body, c.codec, c.encoding)}
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
		return invalid("the request ended before its declared length")
	default:
		return invalid("read request: %v", err)
	}
}
