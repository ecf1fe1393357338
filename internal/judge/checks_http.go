package judge

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// checkReservedHeaders: names that begin with connect- or trailer-connect- are reserved; a
// response has only those that the protocol defines.
func checkReservedHeaders(e *exam) finding {
	if !e.connect() {
		return notApplied
	}
	for _, h := range slices.Concat(e.x.Response.Headers, e.x.Response.Trailers) {
		name := strings.ToLower(h.Name)
		switch {
		case name == "connect-content-encoding", name == "connect-accept-encoding":
		case strings.HasPrefix(name, "connect-"), strings.HasPrefix(name, "trailer-connect-"):
			return e.fails(-1, "want no header with a reserved name, saw %s: %s", phrase.QuoteString(h.Name), phrase.QuoteString(h.Value))
		}
	}
	return finding{}
}

// checkMethodAllow: a response with status 405 lists the allowed methods in Allow.
func checkMethodAllow(e *exam) finding {
	if status(e.x) != 405 {
		return notApplied
	}
	if len(e.x.Response.Get("Allow")) == 0 {
		return e.fails(-1, "HTTP 405 to %s: want an Allow header, saw none", phrase.QuoteString(e.x.Request.Method))
	}
	return finding{}
}

// checkConnReusableAfterError: after an RPC error, an HTTP/1.1 connection that stays open has no
// bytes of the failed call and carries further requests. Closing it, announced or not, is legal.
// The check does not apply to an incomplete request, or to one that Assay aborted.
func checkConnReusableAfterError(e *exam) finding {
	x := e.x
	c := e.conn(x.Conn)
	if !e.connect() || x.Error == nil || c == nil || x.Outcome != bundle.OutcomeComplete || x.Aborted ||
		x.Op == bundle.OpRaw || x.Sent == nil || x.Response.Proto != "HTTP/1.1" || !wholeRequest(x) {
		return notApplied
	}
	if leftOver(x) {
		return e.fails(-1, "connection after error %s: want no more bytes on it, saw extra bytes after the response", x.Error.Code)
	}
	next := nextOn(e.it, x)
	switch {
	case next == nil && !saysClose(x.Response):
		return finding{}
	case next == nil || next.Aborted:
		return notApplied
	case next.Outcome == bundle.OutcomeGarbage:
		return e.fails(-1, "connection after error %s: want it to carry the next request, saw %s", x.Error.Code, outcomeText(next)).as(bundle.SymptomGarbage)
	case next.Response == nil:
		return notApplied
	}
	return finding{}
}

// nextOn returns the next exchange on the connection of x, or nil.
func nextOn(it *bundle.Iteration, x *bundle.Exchange) *bundle.Exchange {
	return bundle.Find(it.Exchanges, func(o *bundle.Exchange) bool { return o.Conn == x.Conn && o.ID > x.ID })
}

// status returns the HTTP status of a response, 0 without one.
func status(x *bundle.Exchange) int {
	if x.Response == nil {
		return 0
	}
	return x.Response.Status
}

// succeededPost reports whether an exchange is a POST with status 200.
func succeededPost(x *bundle.Exchange) bool {
	return status(x) == 200 && (x.Request.Method == "POST" || x.Request.Method == "")
}

// responseType returns the media type of a response, in lower case and without parameters; "" if
// none is declared. requestType does the same for a request.
func responseType(x *bundle.Exchange) string {
	return mediaType(x.Response.Get("Content-Type"))
}

func requestType(x *bundle.Exchange) string {
	return mediaType((&bundle.Response{Headers: x.Request.Headers}).Get("Content-Type"))
}

func mediaType(values []string) string {
	if len(values) == 0 {
		return ""
	}
	t, _, _ := strings.Cut(values[0], ";")
	return strings.ToLower(strings.TrimSpace(t))
}

func isStreamType(t string) bool { return strings.HasPrefix(t, call.StreamType) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
