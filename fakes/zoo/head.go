package zoo

import (
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"time"
)

// heldOpen is how long a late body stays open: far longer than a pause of the
// machine, and short enough for a test.
const heldOpen = 6 * time.Second

// writeLimit is a time limit for whole responses; streams take longer.
const writeLimit = 700 * time.Millisecond

// headFaults returns the faults in the head of a response, and in when it ends.
func headFaults() []fault {
	return []fault{
		{Fault{
			ID:     "error-as-200",
			Title:  "Unary errors have HTTP status 200",
			Breaks: []string{"connect.unary.error-not-200"},
			Source: "gateways that use 200 for every outcome, as gRPC does",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			if isUnaryError(h, status) {
				return http.StatusOK
			}
			return status
		})},
		{Fault{
			ID:     "error-as-500",
			Title:  "Unary errors have HTTP status 500, whatever their code",
			Breaks: []string{"connect.unary.error-status", "control.sandbox.token"},
			Source: "e2b-dev/infra#3628",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/process.Process/") && isUnaryError(h, status) {
				return http.StatusInternalServerError
			}
			return status
		})},
		{Fault{
			ID:     "error-as-text",
			Title:  "Unary errors are text/plain",
			Breaks: []string{"connect.unary.error-content-type", "process.signal.not-found"},
			Source: "e2b-dev/E2B#806",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			if isUnaryError(h, status) {
				h.Set("Content-Type", "text/plain; charset=utf-8")
			}
			return status
		})},
		{Fault{
			ID:     "error-trailers-unprefixed",
			Title:  "Trailing metadata of a unary error is in the headers without its prefix",
			Breaks: []string{"connect.metadata.trailers-on-error"},
			Source: "connect-go, whose clients look for it there",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			for name, values := range h {
				if plain, ok := strings.CutPrefix(name, "Trailer-"); ok && isUnaryError(h, status) {
					delete(h, name)
					h[plain] = values
				}
			}
			return status
		})},
		{Fault{
			ID:     "encoding-not-negotiated",
			Title:  "A gzip request gets a gzip response, and gzip is chosen wherever it is listed",
			Breaks: []string{"connect.compression.unary-accepted", "connect.compression.preference"},
			Source: "connect-go, as measured",
		}, onPolicy(encodesAsAsked)},
		{Fault{
			ID:     "proto-refused",
			Title:  "The content types of protobuf over Connect get HTTP 415",
			Breaks: []string{"connect.type.unary-codecs"},
			Source: "hand-written gateways that read only JSON",
		}, onRequest(func(r *http.Request) {
			if kind := r.Header.Get("Content-Type"); kind == "application/proto" || kind == "application/connect+proto" {
				r.Header.Set("Content-Type", kind+"buf")
			}
		})},
		{Fault{
			ID:     "stream-gzipped",
			Title:  "A stream is compressed as a whole for a client that accepts gzip",
			Breaks: []string{"connect.compression.no-whole-stream"},
			Source: "middleware and proxies that compress every response",
		}, onAnswer(gzipped)},
		{Fault{
			ID:     "allow-missing",
			Title:  "HTTP 405 does not name the allowed methods",
			Breaks: []string{"connect.route.allow"},
			Source: "RFC 9110 15.5.6, which hand-written routers forget; connectrpc/conformance does not test it",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			h.Del("Allow")
			return status
		})},
		{Fault{
			ID:     "reserved-header",
			Title:  "Responses have a header in the namespace of the Connect protocol",
			Breaks: []string{"connect.metadata.reserved-names"},
			Source: "a mutant that connectrpc/conformance does not kill",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if isProcedure(r.URL.Path) {
				h.Set("Connect-Served-By", "gateway-1")
			}
			return status
		})},
		{Fault{
			ID:     "http-trailers",
			Title:  "Connect streams end with HTTP trailers",
			Breaks: []string{"connect.route.no-http-trailers"},
			Source: "gateways that serve gRPC and Connect with one writer",
		}, onHead(func(r *http.Request, h http.Header, status int) int {
			if isConnectStream(r) {
				h.Set(http.TrailerPrefix+"Grpc-Status", "0")
			}
			return status
		})},
		{Fault{
			ID:     "output-buffered",
			Title:  "A stream is sent only when its buffer is full, or at its end",
			Breaks: []string{"connect.stream.flushed"},
			Source: "a mutant that connectrpc/conformance does not kill; buffering proxies",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if isConnectStream(r) {
				w = unflushed{writer{w}}
			}
			next.ServeHTTP(w, r)
		})},
		{Fault{
			ID:     "body-held-open",
			Title:  "The body of a stream ends 6 s after its end-of-stream envelope",
			Breaks: []string{"connect.stream.prompt-end"},
			Source: "a mutant that connectrpc/conformance does not kill; moby/moby#9860",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
			if !isConnectStream(r) {
				return
			}
			hold(r.Context(), heldOpen)
		})},
		{Fault{
			ID:     "write-timeout",
			Title:  "Every response is cut off 0.7 s after its request",
			Breaks: []string{"http.message.complete"},
			Source: "connectrpc/connectrpc.com#178: http.Server.WriteTimeout",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit))
			next.ServeHTTP(w, r)
		})},
	}
}

// onFront decorates the handler of all requests.
func onFront(decorate func(next http.Handler) http.Handler) func(*build) {
	return func(b *build) { b.Seams.Front = around(b.Seams.Front, decorate) }
}

// middleware serves a request in place of a handler, which it may call.
type middleware func(w http.ResponseWriter, r *http.Request, next http.Handler)

// over puts the middleware in front of a handler.
func (m middleware) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m(w, r, next) })
}

// onAnswer wraps the handling of every request.
func onAnswer(serve middleware) func(*build) { return onFront(serve.over) }

// writer is the response writer in a decorator of it.
type writer struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (w writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// onHead changes the header and the status of every response before it is sent.
func onHead(change func(r *http.Request, h http.Header, status int) int) func(*build) {
	return onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		head := &headWriter{writer: writer{w}, change: func(h http.Header, status int) int { return change(r, h, status) }}
		next.ServeHTTP(head, r)
		if !head.done {
			head.WriteHeader(http.StatusOK)
		}
	})
}

// headWriter changes the head of a response once, when it is sent.
type headWriter struct {
	writer
	change func(http.Header, int) int
	done   bool
}

func (w *headWriter) WriteHeader(status int) {
	if !w.done {
		w.done = true
		status = w.change(w.Header(), status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *headWriter) Write(p []byte) (int, error) {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Flush sends the written bytes.
func (w *headWriter) Flush() {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	// The next write returns the same error.
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// unflushed ignores flushes.
type unflushed struct{ writer }

// Flush does nothing.
func (unflushed) Flush() {}

// gzipped compresses the whole body of a stream for a client that accepts it.
func gzipped(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isConnectStream(r) || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	packed := gzipWriter{writer{w}, gzip.NewWriter(w)}
	defer func() { _ = packed.body.Close() }() // a client that has gone gets nothing
	next.ServeHTTP(packed, r)
}

// gzipWriter compresses a body.
type gzipWriter struct {
	writer
	body *gzip.Writer
}

func (w gzipWriter) Write(p []byte) (int, error) { return w.body.Write(p) }

// Flush sends the written bytes.
func (w gzipWriter) Flush() {
	// The next write returns the same errors.
	_ = w.body.Flush()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// isUnaryError reports whether a response is a unary error of an RPC.
func isUnaryError(h http.Header, status int) bool {
	return status >= 400 && h.Get("Content-Type") == "application/json"
}

// isConnectStream reports whether a request is for a stream of the Connect
// protocol.
func isConnectStream(r *http.Request) bool {
	return strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/connect+")
}

// slowAnswer is the delay of every response of slow-answers: longer than any
// machine needs by itself, and short against the deadlines of clients.
const slowAnswer = 25 * time.Millisecond

// headVariants returns the variants in the heads of responses and in their timing.
func headVariants() []variant {
	return []variant{
		{Variant{
			ID:     "no-date",
			Title:  "Responses have no Date",
			Source: "RFC 9110 section 6.6.1: a server without a clock sends none",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			h["Date"] = nil
			return status
		})},
		{Variant{
			ID:     "unknown-headers",
			Title:  "Responses have unrequested headers",
			Source: "RFC 9110 section 5.1: unknown fields are ignored; proxies add them",
		}, onHead(func(_ *http.Request, h http.Header, status int) int {
			h.Set("Server", "gateway/1.0 (sandbox)")
			h.Set("Via", "1.1 edge-7")
			h.Set("X-Request-Id", "01J9ZC8Q4Y")
			h.Set("Server-Timing", `edge;dur=0.4, origin;dur=1.2;desc="start, exec"`)
			return status
		})},
		{Variant{
			ID:     "early-hints",
			Title:  "An informational response, 103, precedes every response",
			Source: "RFC 9110 section 15.2: a client must be able to read any number of them",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.ProtoAtLeast(1, 1) {
				w.WriteHeader(http.StatusEarlyHints)
			}
			next.ServeHTTP(w, r)
		})},
		{Variant{
			ID:     "slow-answers",
			Title:  "Every response begins 25 ms late",
			Source: "gateways on another continent",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			hold(r.Context(), slowAnswer)
			next.ServeHTTP(w, r)
		})},
		{Variant{
			ID:     "one-byte-data",
			Title:  "The first 4 KiB of a response over HTTP/2 are DATA frames of 1 byte each, the rest of 61 bytes",
			Source: "RFC 9113 section 6.1: the boundaries of DATA frames mean nothing",
		}, onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.ProtoMajor >= 2 {
				w = &byteWriter{writer: writer{w}}
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// hold waits for d, or until ctx is done.
func hold(ctx context.Context, d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

// singleBytes is how many bytes of a response a byteWriter flushes one by one, and
// restPiece is the size of the later pieces: a frame per byte of several megabytes
// would prove nothing more, and take minutes on a busy machine.
const (
	singleBytes = 4 << 10
	restPiece   = 61
)

// byteWriter flushes the first bytes of a response one by one.
type byteWriter struct {
	writer
	written int
}

func (b *byteWriter) Write(p []byte) (n int, err error) {
	flush := http.NewResponseController(b.ResponseWriter)
	for n < len(p) {
		piece := 1
		if b.written >= singleBytes {
			piece = min(restPiece, len(p)-n)
		}
		if _, err := b.ResponseWriter.Write(p[n : n+piece]); err != nil {
			return n, err
		}
		n, b.written = n+piece, b.written+piece
		if err := flush.Flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Flush sends the head when there is nothing else.
func (b *byteWriter) Flush() {
	// The next write returns the same error.
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}
