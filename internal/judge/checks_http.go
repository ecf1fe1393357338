package judge

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
)

// checkReservedHeaders: names that begin with connect- or trailer-connect- are the
// protocol's own; an answer has no others than those it defines.
func checkReservedHeaders(e *exam) applied {
	if !e.connect() {
		return notApplied()
	}
	for _, h := range slices.Concat(e.x.Response.Headers, e.x.Response.Trailers) {
		name := strings.ToLower(h.Name)
		switch {
		case name == "connect-content-encoding", name == "connect-accept-encoding":
		case strings.HasPrefix(name, "connect-"), strings.HasPrefix(name, "trailer-connect-"):
			return breaks(-1, "want no header of a reserved name, saw %s: %s", phrase.QuoteString(h.Name), phrase.QuoteString(h.Value))
		}
	}
	return holds()
}

// checkMethodAllow: 405 tells in Allow what is allowed.
func checkMethodAllow(e *exam) applied {
	if status(e.x) != 405 {
		return notApplied()
	}
	if len(e.x.Response.Get("Allow")) == 0 {
		return breaks(-1, "HTTP 405 to %s: want a header Allow, saw none", phrase.QuoteString(e.x.Request.Method))
	}
	return holds()
}

// checkConnReusableAfterError: after an RPC error an HTTP/1.1 connection that stays open carries
// further requests: nothing of the failed call is left on it. To close it, announced or
// not, is legal; a request that was not whole, or that was cut by us, leaves the target no such duty.
func checkConnReusableAfterError(e *exam) applied {
	x := e.x
	c := e.conn(x.Conn)
	if !e.connect() || x.Error == nil || c == nil || x.Outcome != bundle.OutcomeComplete || x.Aborted ||
		x.Op == "raw" || x.Sent == nil || x.Response.Proto != "HTTP/1.1" || !wholeRequest(x) {
		return notApplied()
	}
	if leftOver(x) {
		return breaks(-1, "connection after error %s: want nothing more on it, saw bytes left over after the answer", x.Error.Code)
	}
	next := nextOn(e.it, x)
	switch {
	case next == nil && !saysClose(x.Response):
		return holds()
	case next == nil || next.Aborted:
		return notApplied()
	case next.Outcome == bundle.OutcomeGarbage:
		return breaks(-1, "connection after error %s: want it to carry the next request, saw %s", x.Error.Code, outcomeText(next)).as(bundle.SymptomGarbage)
	case next.Response == nil:
		return notApplied()
	}
	return holds()
}

// nextOn is the next exchange on the connection of x, or nil.
func nextOn(it *bundle.Iteration, x *bundle.Exchange) *bundle.Exchange {
	for i := range it.Exchanges {
		if o := &it.Exchanges[i]; o.Conn == x.Conn && o.ID > x.ID {
			return o
		}
	}
	return nil
}

// status is the HTTP status of an answer, 0 when there is none.
func status(x *bundle.Exchange) int {
	if x.Response == nil {
		return 0
	}
	return x.Response.Status
}

// succeededPost reports whether a call was made as RPCs are and answered with 200.
func succeededPost(x *bundle.Exchange) bool {
	return status(x) == 200 && (x.Request.Method == "POST" || x.Request.Method == "")
}

// responseType and requestType are the media types, in lower case and without
// parameters; "" when none is declared.
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
