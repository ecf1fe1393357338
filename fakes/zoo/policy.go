package zoo

import (
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/time/rate"

	"assay/fakes/strict"
	"assay/internal/wire"
)

// smallMessage is the size below which compresses-large-only does not compress.
const smallMessage = 1 << 10

// policyVariants returns the variants in the strict layer's decisions that the
// protocols leave open.
func policyVariants() []variant {
	return []variant{
		{Variant{
			ID:     "never-compresses",
			Title:  "Responses are never compressed, whatever the client accepts",
			Source: "the Connect protocol and gRPC: identity is always acceptable",
		}, onPolicy(neverCompresses)},
		{Variant{
			ID:     "compresses-large-only",
			Title:  "Messages of a response are compressed from 1 KiB on",
			Source: "the Connect protocol: the flag of each message decides",
		}, func(b *build) { b.CompressFrom = smallMessage }},
		{Variant{
			ID:     "status-in-trailers",
			Title:  "A gRPC call refused before it runs has a head, and its status in trailers",
			Source: "gRPC over HTTP/2, Responses: trailers-only is a choice of the server",
		}, onPolicy(func(p *strict.Policy) { p.StatusInTrailers = true })},
		{Variant{
			ID:     "router-json-404",
			Title:  "Unknown paths and methods get HTTP 404 with the JSON error not_found",
			Source: "routers of web frameworks; the Connect protocol infers unimplemented from 404 without a JSON error",
		}, onPolicy(jsonNotFound)},
		{Variant{
			ID:     "error-any-code-timeouts",
			Title:  "A timeout of zero is out_of_range",
			Source: "the Connect protocol has a grammar for timeouts, but no code for invalid ones",
		}, onPolicy(zeroTimeoutCode(connect.CodeOutOfRange))},
		{Variant{
			ID:     "limits-requests",
			Title:  "More than 100 requests a second, and 50 at once, get HTTP 429 with Retry-After",
			Source: "RFC 6585 section 4; gateways that limit the requests of a client",
		}, limitRequests(requestsPerSecond, requestsAtOnce)},
		{Variant{
			ID:     "head-like-get",
			Title:  "HEAD is served where GET is, without a body",
			Source: "RFC 9110 section 9.3.2",
		}, onPolicy(func(p *strict.Policy) { p.ServeHead = true })},
	}
}

// The limits of limits-requests.
const (
	requestsPerSecond = 100
	requestsAtOnce    = 50
)

// limitRequests refuses requests above a rate.
func limitRequests(perSecond rate.Limit, atOnce int) func(*build) {
	admitted := rate.NewLimiter(perSecond, atOnce)
	return onAnswer(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if admitted.Allow() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	})
}

// onPolicy changes the policy of the strict layer.
func onPolicy(change func(*strict.Policy)) func(*build) {
	return func(b *build) { change(&b.policy) }
}

// plainTypesOnly refuses content types with a parameter other than charset. The boundary
// of a form is part of its type.
func plainTypesOnly(r *http.Request) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	_, hasCharset := params["charset"]
	if err == nil && !strings.HasPrefix(media, "multipart/") && (len(params) > 1 || len(params) == 1 && !hasCharset) {
		r.Header.Set("Content-Type", "")
	}
}

// exactEncodings compares names of encodings case-sensitively.
func exactEncodings(p *strict.Policy) { p.EncodingName = func(name string) string { return name } }

// encodesAsAsked chooses like connect-go: the request's encoding, else gzip
// where it is listed.
func encodesAsAsked(p *strict.Policy) {
	p.ChooseEncoding = func(accept []string, sent string) string {
		if sent != "" {
			return sent
		}
		if len(accept) > 0 {
			for item := range strings.SplitSeq(accept[0], ",") {
				if strings.TrimSpace(item) == "gzip" {
					return "gzip"
				}
			}
		}
		return "identity"
	}
}

// neverCompresses responds in identity.
func neverCompresses(p *strict.Policy) {
	p.ChooseEncoding = func([]string, string) string { return "identity" }
}

// emptyEncodingHeader sends an empty Connect-Content-Encoding with the refusal
// of an encoding.
func emptyEncodingHeader(p *strict.Policy) {
	next := p.Refusal
	p.Refusal = func(c *strict.Call, err error) error {
		if errors.Is(err, strict.ErrUnknownEncoding) && c.Enveloped() && c.Protocol == strict.Connect {
			c.ResponseHeader().Set("Connect-Content-Encoding", "")
		}
		return next(c, err)
	}
}

// cutIsCanceled returns canceled for a request that ends before its declared
// length.
func cutIsCanceled(p *strict.Policy) {
	next := p.Refusal
	p.Refusal = func(c *strict.Call, err error) error {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = recode(err, connect.CodeCanceled)
		}
		return next(c, err)
	}
}

// endStreamInRequest accepts an end-of-stream envelope in a Connect request.
func endStreamInRequest(p *strict.Policy) {
	next := p.Flags
	p.Flags = func(c *strict.Call, flags byte) error {
		if c.Protocol == strict.Connect {
			flags &^= wire.FlagEndStream
		}
		return next(c, flags)
	}
}

// flagsInternal returns internal for reserved bits.
func flagsInternal(p *strict.Policy) {
	next := p.Flags
	p.Flags = func(c *strict.Call, flags byte) error {
		known := wire.FlagCompressed
		if c.Protocol == strict.Connect {
			known |= wire.FlagEndStream
		}
		if flags&^known != 0 {
			return connect.NewError(connect.CodeInternal, errors.New("protocol error: invalid envelope flags "+strconv.Itoa(int(flags))))
		}
		return next(c, flags)
	}
}

// emptyJSON accepts an envelope without payload as an empty JSON message.
func emptyJSON(p *strict.Policy) {
	next := p.Message
	p.Message = func(c *strict.Call, payload []byte) ([]byte, error) {
		if c.Codec == "json" && len(payload) == 0 {
			return []byte("{}"), nil
		}
		return next(c, payload)
	}
}

// unlimited accepts messages of any length.
func unlimited(p *strict.Policy) { p.MaxLength = math.MaxUint32 }

// connectCodes returns invalid_argument for malformed gRPC requests.
func connectCodes(p *strict.Policy) {
	next := p.Malformed
	p.Malformed = func(strict.Protocol) connect.Code { return next(strict.Connect) }
}

// grpcOverHTTP1 serves gRPC over every version of HTTP.
func grpcOverHTTP1(p *strict.Policy) {
	p.Serves = func(*http.Request, strict.Protocol) bool { return true }
}

// patientBodies waits for the rest of a request without a limit.
func patientBodies(p *strict.Policy) {
	next := p.Timeout
	p.Timeout = func(c *strict.Call) (time.Duration, error) {
		_, err := next(c)
		return 0, err
	}
}

// plainNotFound responds to an unknown gRPC method as to any unknown path.
func plainNotFound(p *strict.Policy) {
	p.NotFound = around(p.NotFound, middleware(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			strict.LimitRest(w)
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}).over)
}

// jsonNotFound responds to an unknown path or method with HTTP 404 and a JSON
// error. The response to gRPC, which is not an HTTP error, stays.
func jsonNotFound(p *strict.Policy) { notFoundBy(jsonNoRoute)(p) }

// notFoundBy responds to an unknown path or method by a handler. The response to
// gRPC, which is not an HTTP error, stays.
func notFoundBy(answer http.HandlerFunc) func(p *strict.Policy) {
	return func(p *strict.Policy) {
		p.NotFound = around(p.NotFound, middleware(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			trial := &statusOnly{header: http.Header{}}
			if next.ServeHTTP(trial, r); trial.status < http.StatusBadRequest {
				next.ServeHTTP(w, r)
				return
			}
			answer(w, r)
		}).over)
	}
}

// verbsNotFound responds to an HTTP method that a procedure does not accept as
// to an unknown path.
func verbsNotFound(p *strict.Policy) {
	p.WrongVerb = func(http.Handler) http.Handler { return http.HandlerFunc(jsonNoRoute) }
}

func jsonNoRoute(w http.ResponseWriter, r *http.Request) {
	strict.LimitRest(w)
	strict.WriteError(w, connect.NewError(connect.CodeNotFound, errors.New("route "+r.Method+" "+r.URL.Path+" not found")))
}

// statusOnly is a response writer that keeps only the status.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }

// bareUnknownVerbs omits Allow from the 405 for an unknown HTTP method.
func bareUnknownVerbs(p *strict.Policy) {
	p.WrongVerb = around(p.WrongVerb, middleware(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
			next.ServeHTTP(w, r)
		default:
			strict.LimitRest(w)
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}).over)
}
