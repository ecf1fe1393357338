package zoo

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/gateway"
	"assay/fakes/strict"
)

// timeoutFaults returns the faults in the handling of deadlines.
func timeoutFaults() []fault {
	return []fault{
		{Fault{
			ID:     "deadline-ignored",
			Title:  "The timeout of a call has no effect",
			Breaks: []string{"connect.timeout.expired", "connect.timeout.nothing-left", "connect.timeout.reaches-handler"},
			Source: "connectrpc/conformance has no effective case for it; its own reference server ignores the header",
		}, ignoreDeadlines},
		{Fault{
			ID:     "bad-timeout-ignored",
			Title:  "An unreadable timeout is ignored",
			Breaks: []string{"connect.timeout.not-a-number", "connect.timeout.eleven-digits", "connect.timeout.negative"},
			Source: "e2b-dev/infra#480; a mutant that connectrpc/conformance does not kill",
		}, onRequest(func(r *http.Request) {
			if !validTimeout(r.Header) {
				r.Header.Del("Connect-Timeout-Ms")
				r.Header.Del("Grpc-Timeout")
			}
		})},
		{Fault{
			ID:     "deadline-spares-process",
			Title:  "A deadline ends the stream and leaves the process running",
			Breaks: []string{"connect.timeout.nothing-left"},
			Source: "e2b-dev/infra#2933, e2b-dev/infra#3617",
		}, sparing(func(string) bool { return true })},
		{Fault{
			ID:     "deadline-as-kill",
			Title:  "A stream whose deadline passes ends like one of a killed process, without an error",
			Breaks: []string{"connect.timeout.expired"},
			Source: "e2b-dev/infra#480",
		}, onTable(func(next gateway.Table) gateway.Table { return killingDeadline{next} })},
		{Fault{
			ID:     "expired-timeout-starts",
			Title:  "A timeout of zero or below is an error at once, but the process starts",
			Breaks: []string{"connect.timeout.zero", "connect.timeout.nothing-left"},
			Source: "e2b-dev/infra#480, as in the daemon: the call's context has expired, but the process's has not",
		}, startsExpired},
	}
}

// ignoreDeadlines ignores valid timeouts.
func ignoreDeadlines(b *build) {
	onRequest(func(r *http.Request) {
		if validTimeout(r.Header) {
			r.Header.Del("Connect-Timeout-Ms")
			r.Header.Del("Grpc-Timeout")
		}
	})(b)
}

// validTimeout reports whether the timeouts of a request are valid.
func validTimeout(h http.Header) bool {
	_, err := strict.Connect.ParseTimeout(h)
	_, grpcErr := strict.GRPC.ParseTimeout(h)
	return err == nil && (grpcErr == nil || strings.HasPrefix(h.Get("Grpc-Timeout"), "0"))
}

// killingDeadline kills at the deadline as a client would.
type killingDeadline struct{ gateway.Table }

func (k killingDeadline) Expire(p *gateway.Process) { _ = k.Kill(gateway.Selector{PID: p.PID}) } // it may have ended

// zeroTimeoutCode returns another code for a Connect timeout of zero.
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

// expiredKey marks a call whose deadline had passed before it arrived.
type expiredKey struct{}

// hasExpired reports whether the deadline of a call had passed before it arrived.
func hasExpired(ctx context.Context) bool { return ctx.Value(expiredKey{}) != nil }

// startsExpired starts the process of a call whose deadline had passed before it
// arrived, and ends the stream with an error.
func startsExpired(b *build) {
	signedTimeouts(&b.policy)
	onFollow(func(ctx context.Context, s *gateway.Stream, next gateway.Follow) error {
		if hasExpired(ctx) {
			return context.DeadlineExceeded
		}
		return next(ctx, s)
	})(b)
}

// startsFirst sends the start event on 1 in 4 of these streams.
func startsFirst(b *build) {
	some := newShare(1, 4, b.seed)
	onFollow(func(ctx context.Context, s *gateway.Stream, next gateway.Follow) error {
		if hasExpired(ctx) && some.strikes() {
			if err := s.Sink.Send(gateway.Event{Kind: gateway.EventStart, PID: s.Process.PID}); err != nil {
				return err
			}
		}
		return next(ctx, s)
	})(b)
}

// sparing lets processes outlive the deadline of a call over some protocols.
func sparing(protocol func(name string) bool) func(*build) {
	return func(b *build) {
		b.Seams.Deadline = func(ctx context.Context, name string) (time.Time, bool) {
			if protocol(name) {
				return time.Time{}, false
			}
			return ctx.Deadline()
		}
	}
}

// signedTimeouts reads a Connect-Timeout-Ms like the real daemon: a plus sign is
// ignored, and zero or less is a deadline that has passed. For a stream, the
// daemon notices that only after it has started the process, and 0 does not limit
// the process itself.
func signedTimeouts(p *strict.Policy) {
	const name = "Connect-Timeout-Ms"
	next := p.Timeout
	p.Timeout = func(c *strict.Call) (time.Duration, error) {
		v := c.Request.Header.Get(name)
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil || c.Protocol != strict.Connect: // strict reading returns the error
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
