package target

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// A gateway without a method may respond with an RPC error: HTTP 404 with
// {"code":"not_found","message":"route POST /process.Process/Update"} looks like a missing
// process. The response to a nonexistent method distinguishes the two.

// Names that no gateway has.
const (
	noSuchMethod = "AssayNoSuchMethod"
	noSuchRoute  = "assay-no-such-route"
)

// routeCodes lists the codes of an error that may be about the route.
var routeCodes = []string{"unimplemented", "not_found", "invalid_argument"}

// mayMeanRoute reports whether a response is an error that may be about a missing method:
// an RPC error, or other JSON.
func mayMeanRoute(s bundle.Exchange) bool {
	return s.Error != nil && (s.Error.Code == "" || slices.Contains(routeCodes, s.Error.Code))
}

// elsewhere returns the same request to a nonexistent method.
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

// face is a response without the parts that differ from request to request.
type face struct {
	status     int
	kind, code string
	text       string
}

// faceOf returns the face of the response to a request; ok is false without a response.
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

// names returns the words that a response may use for the requested method, longest first.
func (r request) names(t *Target) []string {
	path, _, _ := strings.Cut(r.path, "?")
	full := t.Path(r.surface, path)
	if r.rpc == "" {
		return []string{full, strings.TrimPrefix(full, "/")}
	}
	_, method, _ := strings.Cut(path, "/")
	return []string{method}
}

// plainText returns a text in lower case without those names and without words that contain
// a digit, such as request ids and times.
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

// likeNothing reports whether a request had the same response as one to a nonexistent
// method; asked is false if the latter had none.
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

// decideCall is decide for a call whose error may be about the route: the method is absent
// if the response is the same as for a nonexistent method. A method of a running process is
// present if it refuses with another error, which is then about the process.
func (c *client) decideCall(ctx context.Context, r request, x *transport.Exchange, ok bool) bundle.Feature {
	s := x.Snapshot()
	f := decide(x, s, ok)
	if f.State != bundle.FeatureUnknown || s.Response == nil || isAuth(s) || s.Error != nil && !mayMeanRoute(s) {
		return f
	}
	same, asked := c.likeNothing(ctx, r, x)
	switch {
	case same && s.Response.Status < 500:
		return lacks(s, "the same response as for a nonexistent method: "+describe(s))
	case asked && s.Error != nil && s.Error.Code != "" && strings.HasPrefix(r.rpc, "process.") && r.rpc != call.ProcessList:
		return present("the method exists and refuses the process: " + describe(s))
	}
	return f
}

// decidePage is decideCall for a check that any page would pass: the feature is absent if
// every path has the same response.
func (c *client) decidePage(ctx context.Context, r request, x *transport.Exchange, ok bool) bundle.Feature {
	if ok {
		if same, _ := c.likeNothing(ctx, r, x); same {
			s := x.Snapshot()
			return lacks(s, "the same response as for every path: "+describe(s))
		}
	}
	return c.decideCall(ctx, r, x, ok)
}
