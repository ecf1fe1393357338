package fakes

import (
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/internal/wire"
)

// onPolicy changes the policy of the strict layer.
func onPolicy(change func(*strict.Policy)) func(*seams, uint64) {
	return func(s *seams, _ uint64) { change(&s.policy) }
}

// lenient is onPolicy for a deviation.
func lenient(change func(*strict.Policy)) func(*seams, *Options) {
	return func(s *seams, _ *Options) { change(&s.policy) }
}

// plainTypesOnly refuses content types with a parameter other than charset.
func plainTypesOnly(r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	_, hasCharset := params["charset"]
	if err == nil && (len(params) > 1 || len(params) == 1 && !hasCharset) {
		r.Header.Set("Content-Type", "")
	}
}

// exactEncodings compares names of encodings with their case.
func exactEncodings(p *strict.Policy) { p.EncodingName = func(name string) string { return name } }

// encodesAsAsked makes the choice of connect-go: the request's encoding, else
// gzip where it is listed.
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

// emptyEncodingHeader sends an empty Connect-Content-Encoding beside the refusal
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

// cutIsCanceled has canceled for a request that ends before its declared length.
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

// flagsInternal has internal for reserved bits.
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

// emptyJSON takes an empty JSON message in an envelope for the empty message.
func emptyJSON(p *strict.Policy) {
	next := p.Message
	p.Message = func(c *strict.Call, payload []byte) ([]byte, error) {
		if c.Codec == "json" && len(payload) == 0 {
			return []byte("{}"), nil
		}
		return next(c, payload)
	}
}

// unlimited takes messages of any length.
func unlimited(p *strict.Policy) { p.MaxLength = math.MaxUint32 }

// connectCodes has invalid_argument for malformed gRPC requests.
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

// zeroTimeoutCode has a code of its own for a Connect timeout of zero.
func zeroTimeoutCode(code connect.Code) func(*strict.Policy) {
	return func(p *strict.Policy) {
		next := p.Timeout
		p.Timeout = func(c *strict.Call) (time.Duration, error) {
			d, err := next(c)
			if v := c.Request.Header.Get("Connect-Timeout-Ms"); err != nil && c.Protocol == strict.Connect && v != "" && strings.Trim(v, "0") == "" {
				err = recode(err, code)
			}
			return d, err
		}
	}
}

// expiredKey marks a call whose deadline had passed before it came.
type expiredKey struct{}

// hasExpired reports whether the deadline of a call had passed before it came.
func hasExpired(ctx context.Context) bool { return ctx.Value(expiredKey{}) != nil }

// signedTimeouts reads a Connect-Timeout-Ms as the real daemon does: a plus sign
// is left out, and zero or less is a deadline that has passed. Of a stream the
// daemon notices that only after it has started the process, and 0 is no limit
// to the process itself.
func signedTimeouts(p *strict.Policy) {
	const name = "Connect-Timeout-Ms"
	next := p.Timeout
	p.Timeout = func(c *strict.Call) (time.Duration, error) {
		v := c.Request.Header.Get(name)
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil || c.Protocol != strict.Connect: // the strict reading has an error for it
		case n > 0:
			c.Request.Header.Set(name, strings.TrimPrefix(v, "+"))
		case !c.Enveloped():
			return 0, connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
		default:
			c.Request.Header.Del(name)
			c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), expiredKey{}, true))
		}
		return next(c)
	}
}

// plainNotFound answers an unknown gRPC method like any unknown path.
func plainNotFound(p *strict.Policy) {
	p.NotFound = around(p.NotFound, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				strict.LimitRest(w)
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// jsonNotFound answers an unknown path or method with HTTP 404 and a JSON error.
// The answer to gRPC, which is not an HTTP error, stays.
func jsonNotFound(p *strict.Policy) {
	p.NotFound = around(p.NotFound, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			trial := &statusOnly{header: http.Header{}}
			if next.ServeHTTP(trial, r); trial.status < http.StatusBadRequest {
				next.ServeHTTP(w, r)
				return
			}
			jsonNoRoute(w, r)
		})
	})
}

// verbsNotFound answers an HTTP method that a procedure does not have like an
// unknown path.
func verbsNotFound(p *strict.Policy) {
	p.WrongVerb = func(http.Handler) http.Handler { return http.HandlerFunc(jsonNoRoute) }
}

func jsonNoRoute(w http.ResponseWriter, r *http.Request) {
	strict.LimitRest(w)
	strict.WriteError(w, connect.NewError(connect.CodeNotFound, errors.New("route "+r.Method+" "+r.URL.Path+" not found")))
}

// statusOnly is a response of which only the status is used.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }

// bareUnknownVerbs leaves Allow out of the 405 for a method that HTTP does not
// know.
func bareUnknownVerbs(p *strict.Policy) {
	p.WrongVerb = around(p.WrongVerb, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
				http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
				next.ServeHTTP(w, r)
			default:
				strict.LimitRest(w)
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		})
	})
}
