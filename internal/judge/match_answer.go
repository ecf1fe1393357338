package judge

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// matchOK requires a complete, successful response without an error or, if false, an error.
func matchOK(l *look) finding {
	why := notOK(l.x)
	switch {
	case *l.m.OK && why != "":
		return l.fails(-1, "want success, saw %s", why).as(failure(l.x))
	case !*l.m.OK && !isError(l.x):
		return l.fails(-1, "want an error, saw %s", answer(l.x)).as(bundle.SymptomNotRefused)
	}
	return finding{}
}

// notOK says why a response is not a success; "" if it is one.
func notOK(x *bundle.Exchange) string {
	switch {
	case x.Switched() && x.Outcome == bundle.OutcomeComplete:
		return ""
	case x.Outcome != bundle.OutcomeComplete, x.Error != nil, x.Response == nil, x.Response.Status/100 != 2:
		return answer(x)
	case x.Shape != bundle.ShapePlain && x.Response.Status != 200:
		return answer(x)
	case ofGRPC(x):
		return grpcNotOK(x)
	case x.Shape == bundle.ShapeStream && x.EndStream == nil:
		return "a stream without end-of-stream (" + phrase.Plural(len(x.Frames), "frame") + ")"
	}
	if e := x.First(bundle.EventEnd); x.Shape.Lines() && e == nil {
		return "lines without an end event (" + phrase.Plural(len(x.Frames), "line") + ")"
	}
	return ""
}

// grpcNotOK is notOK for a complete gRPC or gRPC-Web response with HTTP status 200.
func grpcNotOK(x *bundle.Exchange) string {
	switch {
	case x.GRPC == nil:
		return "a response without grpc-status (" + phrase.Plural(len(x.Frames), "frame") + ")"
	case x.GRPC.Code != 0:
		return answer(x)
	}
	return ""
}

func isError(x *bundle.Exchange) bool {
	return x.Error != nil || x.Response != nil && x.Response.Status/100 != 2 && !x.Switched()
}

func matchStatus(l *look) finding {
	want := phrase.Legal(l.m.Status, strconv.Itoa)
	if l.x.Response == nil {
		return l.fails(-1, "want HTTP %s, saw no response", want).as(shortfall(l.x))
	}
	got := l.x.Response.Status
	if !slices.Contains(l.m.Status, got) {
		return l.fails(-1, "want HTTP %s, saw %s", want, answer(l.x)).as(statusSymptom(l.x, slices.Contains(l.m.Status, 200)))
	}
	return oneOf(len(l.m.Status), fmt.Sprintf("HTTP %d", got))
}

// matchHeaders compares header fields: a text is the value, "*" is any value, null is absent.
func matchHeaders(l *look) finding {
	return l.fields("header", l.m.Headers, func(r *bundle.Response) []bundle.Header { return r.Headers })
}

// matchHeaderMatches compares header fields with regular expressions.
func matchHeaderMatches(l *look) finding {
	for _, name := range slices.Sorted(maps.Keys(l.m.HeaderMatches)) {
		got := strings.Join(l.x.Response.Get(name), ", ")
		re, err := regexp.Compile(l.expand(l.m.HeaderMatches[name]))
		switch {
		case err != nil:
			return l.toolError("header %s: the script's expression does not compile: %v", name, err)
		case l.x.Response == nil:
			return l.fails(-1, "header %s: there is no response", name)
		case len(l.x.Response.Get(name)) == 0:
			return l.fails(-1, "header %s: want one that matches %s, saw none", name, phrase.QuoteString(re.String()))
		case !re.MatchString(got):
			return l.fails(-1, "header %s: want it to match %s, saw %s", name, phrase.QuoteString(re.String()), phrase.QuoteString(got))
		}
	}
	return finding{}
}

// matchTrailers compares HTTP trailers like matchHeaders.
func matchTrailers(l *look) finding {
	return l.fields("trailer", l.m.Trailers, func(r *bundle.Response) []bundle.Header { return r.Trailers })
}

func (l *look) fields(what string, wanted map[string]*string, of func(*bundle.Response) []bundle.Header) finding {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if l.x.Response == nil {
			return l.fails(-1, "%s %s: there is no response", what, name)
		}
		want, got := wanted[name], (&bundle.Response{Headers: of(l.x.Response)}).Get(name)
		switch {
		case want == nil && len(got) > 0:
			return l.fails(-1, "%s %s: want none, saw %s", what, name, phrase.QuoteString(got[0]))
		case want != nil && len(got) == 0:
			return l.fails(-1, "%s %s: want %s, saw none", what, name, headerWant(l.expand(*want)))
		case want != nil && *want != "*" && !slices.Contains(got, l.expand(*want)):
			return l.fails(-1, "%s %s: want %s, saw %s", what, name, phrase.QuoteString(l.expand(*want)), phrase.QuoteString(strings.Join(got, ", ")))
		}
	}
	return finding{}
}

func headerWant(want string) string {
	if want == "*" {
		return "any value"
	}
	return phrase.QuoteString(want)
}

// matchError compares the RPC error with the legal set. An HTTP error that is not an RPC error
// has the code that clients infer from its status.
func matchError(l *look) finding {
	m := l.m.Error
	want := "any error"
	if !slices.Contains(m.Code, "*") && len(m.Code) > 0 {
		want = "error " + phrase.Legal(m.Code, phrase.AsIs)
	}
	code, note := errorCode(l.x)
	if code == "" {
		return l.fails(-1, "want %s, saw %s", want, answer(l.x)).as(notError(l))
	}
	if _, known := wire.CodeByName(code); !known {
		return l.fails(-1, "want %s, saw the code %s, which is not one of the 16", want, phrase.QuoteString(code)).as(bundle.SymptomErrorForm)
	}
	if len(m.Code) > 0 && !slices.Contains(m.Code, "*") && !slices.Contains(m.Code, code) {
		return l.fails(-1, "want %s, saw %s%s", want, answer(l.x), note).as(otherCode(l, note != ""))
	}
	if m.Message != "" && (l.x.Error == nil || !strings.Contains(l.x.Error.Message, l.expand(m.Message))) {
		return l.fails(-1, "error message: want it to contain %s, saw %s", phrase.QuoteString(l.expand(m.Message)), answer(l.x))
	}
	for _, want := range m.Details {
		if l.x.Error == nil || !slices.ContainsFunc(l.x.Error.Details, func(d bundle.ErrorDetail) bool {
			return d.Type == want.Type && (want.Value == "" || d.Value == want.Value)
		}) {
			return l.fails(-1, "error details: want %s %s, saw %s", want.Type, want.Value, detailsText(l.x.Error))
		}
	}
	if len(m.Code) == 1 && m.Code[0] != "*" {
		return finding{}
	}
	return saw(code)
}

func detailsText(e *bundle.RPCError) string {
	if e == nil || len(e.Details) == 0 {
		return "none"
	}
	words := make([]string, len(e.Details))
	for i, d := range e.Details {
		words[i] = phrase.Clip(d.Type + " " + d.Value)
	}
	return strings.Join(words, ", ")
}

// errorCode returns the error code of a response, "" without one; note says that it is inferred.
func errorCode(x *bundle.Exchange) (code, note string) {
	switch {
	case x.Error != nil:
		return x.Error.Code, ""
	case x.RPC == "" || x.Response == nil || x.Response.Status == 200:
		return "", ""
	}
	// gRPC has the same table for responses without a status.
	code = wire.CodeFromStatus(x.Response.Status)
	return code, fmt.Sprintf(" (no RPC error; clients infer %s)", code)
}

// matchCompressed requires a compressed unary body or at least one compressed frame or, if false,
// none.
func matchCompressed(l *look) finding {
	frame := slices.IndexFunc(l.x.Frames, func(f bundle.Frame) bool { return f.Flags&wire.FlagCompressed != 0 })
	encoding := contentEncoding(l.x.Response)
	enveloped := l.x.Shape == bundle.ShapeStream || ofGRPC(l.x)
	compressed := enveloped && frame >= 0 || !enveloped && encoding != ""
	switch {
	case *l.m.Compressed && !compressed:
		return l.fails(-1, "want a compressed response, saw none of %s compressed", phrase.Plural(max(len(l.x.Frames), 1), "message"))
	case !*l.m.Compressed && compressed && frame >= 0:
		return l.fails(frameOff(l.x, frame), "want no compression, saw a compressed message (%s)", place(l.x, frame))
	case !*l.m.Compressed && compressed:
		return l.fails(-1, "want no compression, saw Content-Encoding %s", phrase.QuoteString(encoding))
	}
	return finding{}
}

// contentEncoding returns the declared encoding of a response, "" for identity or none.
func contentEncoding(r *bundle.Response) string {
	v := strings.ToLower(strings.Join(r.Get("Content-Encoding"), ", "))
	if v == "identity" {
		return ""
	}
	return v
}
