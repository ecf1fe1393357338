package target

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"assay/internal/bundle"
	"assay/internal/transport"
)

// A gateway that has no such method may say so in the words of an RPC: HTTP 404
// with {"code":"not_found","message":"route POST /process.Process/Update"} looks
// like a process that is not there. What it says of a method that cannot exist
// tells the two apart.

// Names that no gateway has.
const (
	noSuchMethod = "AssayNoSuchMethod"
	noSuchRoute  = "assay-no-such-route"
)

// routeCodes are the codes of an error that may be about the route.
var routeCodes = []string{"unimplemented", "not_found", "invalid_argument"}

// mayMeanRoute reports whether an answer is an error that may say that there is no
// such method: in the words of an RPC, or in JSON of its own.
func mayMeanRoute(s bundle.Exchange) bool {
	return s.Error != nil && (s.Error.Code == "" || slices.Contains(routeCodes, s.Error.Code))
}

// elsewhere is the same request to a name that cannot be there.
func (r request) elsewhere() request {
	if r.rpc == "" {
		r.surface, r.path = "", noSuchRoute
		return r
	}
	service, rest, _ := strings.Cut(r.path, "/")
	_, query, asked := strings.Cut(rest, "?")
	r.path = service + "/" + noSuchMethod
	if asked {
		r.path += "?" + query
	}
	return r
}

// face is what an answer looks like, without what differs from request to request.
type face struct {
	status     int
	kind, code string
	text       string
}

// faceOf is the face of the answer to a request; ok is false when none came.
func (c *client) faceOf(r request, x *transport.Exchange) (f face, ok bool) {
	s := x.Snapshot()
	if s.Response == nil {
		return face{}, false
	}
	f = face{status: s.Response.Status, kind: contentType(s)}
	text := string(x.BodyBytes())
	if s.Error != nil && s.Error.Code != "" {
		f.code, text = s.Error.Code, s.Error.Message
	}
	f.text = plainText(text, r.names(c.target))
	return f, true
}

// names are the words by which an answer may call what was asked for, longest first.
func (r request) names(t *Target) []string {
	path, _, _ := strings.Cut(r.path, "?")
	full := t.Path(r.surface, path)
	if r.rpc == "" {
		return []string{full, strings.TrimPrefix(full, "/")}
	}
	_, method, _ := strings.Cut(path, "/")
	return []string{method}
}

// plainText is a text in lower case without those names, and without the words
// that hold a digit: numbers of requests, times and the like.
func plainText(text string, names []string) string {
	text = strings.ToLower(text)
	for _, name := range names {
		if name != "" {
			text = strings.ReplaceAll(text, strings.ToLower(name), "*")
		}
	}
	words := strings.Fields(text)
	for i, w := range words {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

// likeNothing reports whether a request was answered as the same one to a name
// that cannot be there; asked is false when that one was not answered.
func (c *client) likeNothing(ctx context.Context, r request, x *transport.Exchange) (same, asked bool) {
	got, ok := c.faceOf(r, x)
	if !ok {
		return false, false
	}
	nowhere := r.elsewhere()
	y := c.do(ctx, nowhere)
	nothing, ok := c.faceOf(nowhere, y)
	return ok && got == nothing, ok
}

// decideCall is decide for a call of which an error may mean the route: absent
// when it is answered as a name is that cannot be there. A method of a process that
// runs is present when it refuses in other words, which then are about the process.
func (c *client) decideCall(ctx context.Context, r request, x *transport.Exchange, ok bool) bundle.Feature {
	s := x.Snapshot()
	f := decide(s, ok)
	if f.State != bundle.FeatureUnknown || s.Response == nil || isAuth(s) || s.Error != nil && !mayMeanRoute(s) {
		return f
	}
	same, asked := c.likeNothing(ctx, r, x)
	switch {
	case same && s.Response.Status < 500:
		return absent("answered as what cannot be there: " + describe(s))
	case asked && s.Error != nil && s.Error.Code != "" && strings.HasPrefix(r.rpc, "process.") && r.rpc != rpcList:
		return present("it is there, and refuses the process: " + describe(s))
	}
	return f
}

// decidePage is decideCall for what any page would satisfy: it is absent where
// every path is answered so.
func (c *client) decidePage(ctx context.Context, r request, x *transport.Exchange, ok bool) bundle.Feature {
	if ok {
		if same, _ := c.likeNothing(ctx, r, x); same {
			return absent("answered as every path: " + describe(x.Snapshot()))
		}
	}
	return c.decideCall(ctx, r, x, ok)
}
