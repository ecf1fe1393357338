package authproxy

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"assay/fakes/strict"
)

// refusal is the answer to a request that is not admitted.
type refusal struct {
	status    int
	body      string
	challenge string        // WWW-Authenticate
	retry     time.Duration // Retry-After
	why       string        // for the log
}

// realm names what the tokens open.
const realm = `Bearer realm="assay"`

func noToken() *refusal {
	return &refusal{status: http.StatusUnauthorized, body: "Unauthorized", challenge: realm, why: "it has no token"}
}

func invalidToken(err error) *refusal {
	return &refusal{status: http.StatusUnauthorized, body: "Invalid token", challenge: realm + `, error="invalid_token"`, why: reason(err)}
}

func missingScope(scope string) *refusal {
	return &refusal{
		status: http.StatusForbidden, body: "Missing scope " + scope, why: "its token lacks " + scope,
		challenge: realm + `, error="insufficient_scope", scope="` + scope + `"`,
	}
}

func blockedCommand(name string) *refusal {
	return &refusal{status: http.StatusForbidden, body: "Blocked command " + strconv.Quote(name), why: "its command is blocked"}
}

func tooOften(retry time.Duration) *refusal {
	return &refusal{status: http.StatusTooManyRequests, body: "Too many connections", retry: retry, why: "its user opens too many connections"}
}

// tooManySandboxes has no Retry-After: nobody knows when a connection ends.
func tooManySandboxes() *refusal {
	return &refusal{status: http.StatusTooManyRequests, body: "Too many sandboxes", why: "its user is connected to too many sandboxes"}
}

func badQuery() *refusal {
	return &refusal{status: http.StatusBadRequest, body: "Bad query", why: "its query cannot be read"}
}

// write answers. The body has no newline.
func (f *refusal) write(w http.ResponseWriter) {
	strict.LimitRest(w) // the body of the request is not read
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if f.challenge != "" {
		h.Set("WWW-Authenticate", f.challenge)
	}
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retry.Seconds()))))
	}
	w.WriteHeader(f.status)
	_, _ = w.Write([]byte(f.body))
}
