package bundle

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Refusal is the kind of a response that says nothing about its request.
type Refusal string

// The kinds: there are too many requests, or something in front of the gateway answered instead of it.
const (
	RefusalLimit Refusal = "limit"
	RefusalFront Refusal = "front"
)

// Refusal returns the kind of refusal that the response of an exchange may be, "" for any other response. A gateway may
// mean the same response as its answer to this very request: only the next try tells.
func (x *Exchange) Refusal() Refusal {
	r := x.Response
	switch {
	case r == nil, x.Sandbox != "" && r.Status == http.StatusBadGateway && r.is("application/json"): // of a sandbox that has ended or sleeps
		return ""
	case x.Error == nil && (r.Status == http.StatusBadGateway || r.Status == http.StatusGatewayTimeout || r.Status >= 520 && r.Status <= 530 || r.Status >= 400 && r.is("text/html")):
		// No API of a gateway has a page for people. Cloudflare says by 520 to 530 that it could not reach a server, as text to a
		// client that does not ask for a page.
		return RefusalFront
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable,
		x.Error != nil && (x.Error.Code == "resource_exhausted" || x.Error.Code == "unavailable"):
		return RefusalLimit
	}
	return ""
}

// is reports whether a response has a content type.
func (r *Response) is(kind string) bool {
	return slices.ContainsFunc(r.Get("Content-Type"), func(v string) bool { return strings.HasPrefix(strings.ToLower(v), kind) })
}

// RetryAfter returns how long a response asks to wait; 0 if it does not say (RFC 9110, section 10.2.3).
func (r *Response) RetryAfter(now time.Time) time.Duration {
	for _, v := range r.Get("Retry-After") {
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return time.Duration(max(0, min(n, 1<<20))) * time.Second
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(now))
		}
	}
	return 0
}

// Admission says which requests of a run were refused before the gateway looked at them.
type Admission struct {
	Requests int64   `json:"requests"` // of all scenarios
	Limit    Refused `json:"limit,omitzero"`
	Front    Refused `json:"front,omitzero"`
	// Waited is the time in which a scenario waited to make fewer requests at a time, in nanoseconds.
	Waited int64 `json:"waited_ns,omitempty"`
}

// Refused counts the refusals of one kind.
type Refused struct {
	Requests int64 `json:"requests"`
	// Settled is how many runs of a scenario had none when they were repeated. Without any, the responses are the
	// gateway's answers.
	Settled int `json:"settled"`
	// Answers are up to three different responses, such as "502, text/html".
	Answers []string `json:"answers,omitempty"`
	First   Stamp    `json:"first"`
	Last    Stamp    `json:"last"`
}

// Unsettled says which requests of a scenario were refused in its last try.
type Unsettled struct {
	Requests int    `json:"requests"`
	Answer   string `json:"answer"` // the first of them
	Tries    int    `json:"tries"`
	// Excused is set if the refusals are no answer to the call, and so break no rule. Its name in a bundle is that of the first
	// reason: the target answers the same call elsewhere.
	Excused bool `json:"elsewhere,omitempty"`
}
