package fakes

import (
	"net/http"
	"strings"

	"assay/fakes/strict"
)

// deadlineFaults treat the deadline of a call wrongly.
func deadlineFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "deadline-ignored",
			Title:  "The timeout of a call has no effect",
			Breaks: []string{"connect.timeout.expired", "connect.timeout.nothing-left", "connect.timeout.reaches-handler"},
			Source: "connectrpc/conformance has no effective case for it; its own reference server ignores the header",
		}, ignoreDeadlines},
		{Fault{
			ID:     "bad-timeout-ignored",
			Title:  "A timeout that cannot be read is taken for none",
			Breaks: []string{"connect.timeout.not-a-number", "connect.timeout.eleven-digits", "connect.timeout.negative"},
			Source: "e2b-dev/infra#480; a mutant that connectrpc/conformance lets live",
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
		}, func(s *seams, _ uint64) { s.spares = func(string) bool { return true } }},
		{Fault{
			ID:     "deadline-as-kill",
			Title:  "A stream that is ended by its deadline ends like one that was killed, without an error",
			Breaks: []string{"connect.timeout.expired"},
			Source: "e2b-dev/infra#480",
		}, onTable(func(next processTable) processTable { return killingDeadline{next} })},
		{Fault{
			ID:     "expired-timeout-starts",
			Title:  "A timeout of zero or below is an error at once, and the process is started all the same",
			Breaks: []string{"connect.timeout.zero", "connect.timeout.nothing-left"},
			Source: "e2b-dev/infra#480, as seen of the daemon: the call's context has expired and the process's has not",
		}, onPolicy(signedTimeouts)},
	}
}

// ignoreDeadlines takes a timeout that can be read for none.
func ignoreDeadlines(s *seams, seed uint64) {
	onRequest(func(r *http.Request) {
		if validTimeout(r.Header) {
			r.Header.Del("Connect-Timeout-Ms")
			r.Header.Del("Grpc-Timeout")
		}
	})(s, seed)
}

// validTimeout reports whether the timeouts of a request can be read.
func validTimeout(h http.Header) bool {
	_, err := strict.Connect.ParseTimeout(h)
	_, grpcErr := strict.GRPC.ParseTimeout(h)
	return err == nil && (grpcErr == nil || strings.HasPrefix(h.Get("Grpc-Timeout"), "0"))
}

// killingDeadline kills at the deadline as a client would.
type killingDeadline struct{ processTable }

func (k killingDeadline) expire(p *process) { _ = k.kill(selector{pid: p.pid}) } // it may have ended
