package strict

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxMessage is the largest request message that is read, compressed or not:
// large enough for any input that a client sends at once, and small enough that
// a length prefix of 4 GiB is refused before anything is allocated for it.
const MaxMessage = 16 << 20

// drainGrace limits the wait for the rest of a refused request. net/http reads the rest
// before it sends the response, so that the connection stays usable; a missing rest must
// not delay the refusal.
const drainGrace = 500 * time.Millisecond

// Layer reads the requests of an RPC service before connect-go does. It refuses malformed
// requests and passes on plain, complete and uncompressed ones.
type Layer struct {
	// Admit authorizes a request and returns the request for the handler. It must be set.
	Admit func(r *http.Request) (*http.Request, error)
	// Protocols lists the served protocols by name; empty means all.
	Protocols []string
	// Policy holds the decisions of the layer; see DefaultPolicy.
	Policy Policy
}

// Over puts the layer in front of the handler of a service.
func (l *Layer) Over(next http.Handler, service protoreflect.ServiceDescriptor) http.Handler {
	return &procedures{Layer: l, next: next, methods: methodsOf(service)}
}

// Routes puts the layer in front of a mux: requests without a route pass through
// Policy.NotFound, and a gRPC client gets unimplemented for an unknown service.
func (l *Layer) Routes(mux *http.ServeMux) http.Handler {
	missed := Decorated[http.Handler](l.Policy.NotFound, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), grpcType) {
			l.unknownMethod(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			missed.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// procedures is a Layer in front of one service.
type procedures struct {
	*Layer
	next    http.Handler
	methods map[string]method
}

var _ http.Handler = (*procedures)(nil)

func (s *procedures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, known := s.methods[r.URL.Path]
	if !known {
		Decorated[http.Handler](s.Policy.NotFound, http.HandlerFunc(s.unknownMethod)).ServeHTTP(w, r)
		return
	}
	c := &Call{Request: r, w: w, method: m, policy: &s.Policy}
	if s.isGet(r) && m.get && s.has(Connect) {
		s.serveGet(c)
		return
	}
	if r.Method != http.MethodPost {
		Decorated[http.Handler](s.Policy.WrongVerb, m.wrongVerb(s.Policy.ServeHead)).ServeHTTP(w, r)
		return
	}
	if !c.readContentType() || !s.serves(r, c.Protocol) {
		refuseType(w, r, m.shape)
		return
	}
	s.run(c)
}

// isGet reports whether the HTTP method is GET, or HEAD where HEAD is served.
func (l *Layer) isGet(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead && l.Policy.ServeHead
}

// has reports whether a protocol is served at all.
func (l *Layer) has(p Protocol) bool {
	return len(l.Protocols) == 0 || slices.Contains(l.Protocols, p.String())
}

// serves reports whether a protocol is served over the version of HTTP of r.
func (l *Layer) serves(r *http.Request, p Protocol) bool { return l.has(p) && l.Policy.Serves(r, p) }

// wrongVerb responds with HTTP 405.
func (m method) wrongVerb(head bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		LimitRest(w)
		w.Header().Set("Allow", m.allow(head))
		w.WriteHeader(http.StatusMethodNotAllowed)
	})
}

// refuseType responds with HTTP 415.
func refuseType(w http.ResponseWriter, r *http.Request, form shape) {
	LimitRest(w)
	w.Header().Set("Accept-Post", acceptPost(form, r.ProtoMajor >= 2))
	w.WriteHeader(http.StatusUnsupportedMediaType)
}

// unknownMethod responds with HTTP 404. A gRPC call gets unimplemented, because all its
// outcomes have HTTP status 200.
func (l *Layer) unknownMethod(w http.ResponseWriter, r *http.Request) {
	LimitRest(w)
	m, ok := parseMediaType(r.Header.Get("Content-Type"), serverStream)
	if !ok || !m.protocol.IsGRPC() || r.Method != http.MethodPost || !l.serves(r, m.protocol) {
		http.NotFound(w, r)
		return
	}
	l.writeGRPC(w, m.canonical, connect.NewError(connect.CodeUnimplemented, fmt.Errorf("unknown method %s", r.URL.Path)))
}

// run serves a call whose protocol is known. A bidirectional stream needs the
// full duplex of HTTP/2.
func (s *procedures) run(c *Call) {
	if c.method.shape == bidiStream && c.Request.ProtoMajor < 2 {
		LimitRest(c.w)
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

// admit authorizes a call, then checks its head and its body.
func (s *procedures) admit(c *Call) error {
	r, err := s.Admit(c.Request)
	if err != nil {
		return err
	}
	c.Request = r
	if c.Protocol == Connect {
		if err := checkVersion(c.Request.Header); err != nil {
			return err
		}
	}
	if c.timeout, err = s.Policy.Timeout(c); err != nil {
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

// checkVersion refuses a protocol version other than 1; an absent one counts as 1.
func checkVersion(h http.Header) error {
	for _, v := range h.Values("Connect-Protocol-Version") {
		if v != "1" {
			return invalid("Connect-Protocol-Version must be \"1\": got %q", v)
		}
	}
	return nil
}

// refuse writes an error in the form of the call. The decorators of the response apply to
// refusals too.
func (s *procedures) refuse(c *Call, err error) {
	LimitRest(c.w)
	err = s.Policy.Refusal(c, err)
	switch {
	case c.Protocol.IsGRPC():
		s.writeGRPC(c.w, c.canonical, err)
	case !c.Enveloped():
		c.w.Header().Set("Accept-Encoding", gzipName)
		WriteError(c.w, err)
	default:
		c.w.Header().Set("Connect-Accept-Encoding", gzipName)
		write(s.streamWriter(c), c.canonical, err)
	}
}

// serve passes the call to connect-go.
func (s *procedures) serve(c *Call) {
	if !c.Enveloped() {
		s.next.ServeHTTP(c.w, c.Request)
		return
	}
	if c.method.shape == clientStream || c.method.shape == bidiStream {
		// An error response is sent while the client still sends.
		_ = http.NewResponseController(c.w).EnableFullDuplex()
	}
	w := s.streamWriter(c)
	s.next.ServeHTTP(w, c.Request.WithContext(context.WithValue(c.Request.Context(), streamWriterKey{}, w)))
	if c.raw != nil {
		c.drain()
	}
}

// streamWriter returns the writer of an enveloped response.
func (l *Layer) streamWriter(c *Call) *streamWriter {
	w := newStreamWriter(c.w, l.Policy.Frames)
	if c.Protocol == Connect {
		w.opens(c.Request, l.Policy.Opening)
	}
	return w
}

// LimitRest limits how long the server waits for the rest of a request whose response
// comes early.
func LimitRest(w http.ResponseWriter) { limitReading(w, drainGrace) }

// limitReading ends the wait for the rest of a request after d. The server sets a new
// deadline before it reads the next request of the connection.
func limitReading(w http.ResponseWriter, d time.Duration) {
	// Only the response writers of tests lack deadlines, and they do not stall.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(d))
}

// drain reads the rest of the request after the response, for a limited time. net/http
// would do so after the handler has returned, and in full duplex it would then read the
// next request as part of this one.
func (c *Call) drain() {
	LimitRest(c.w)
	if c.Request.ProtoMajor >= 2 {
		return // the stream is reset
	}
	_ = http.NewResponseController(c.w).Flush()
	_, _ = io.Copy(io.Discard, io.LimitReader(c.raw, MaxMessage))
}

// replaceBody replaces a completely read body by one in memory, and removes the read
// deadline, because the server treats its expiry as a disconnected client.
func (c *Call) replaceBody(b []byte) error {
	if c.timeout > 0 {
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(b))
	c.Request.ContentLength = int64(len(b))
	return nil
}
