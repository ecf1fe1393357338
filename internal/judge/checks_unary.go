package judge

import (
	"bytes"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/record/bundle"
	"assay/internal/wire"
)

// checkUnaryStatusByCode: a unary error has the HTTP status of its code.
func checkUnaryStatusByCode(e *exam) finding {
	if !e.connectUnary() || e.x.Error == nil {
		return notApplied
	}
	code, ok := wire.CodeByName(e.x.Error.Code)
	if !ok {
		return notApplied
	}
	if got := status(e.x); got != code.Status {
		return e.fails(-1, "error %s: want HTTP %d, saw %d", code.Name, code.Status, got).as(bundle.SymptomErrorForm)
	}
	return finding{}
}

// checkUnaryErrorContentType: a unary error is application/json, whatever the codec of the request.
func checkUnaryErrorContentType(e *exam) finding {
	if !e.connectUnary() || e.x.Error == nil {
		return notApplied
	}
	if got := responseType(e.x); got != "application/json" {
		return e.fails(-1, "content type of an error: want application/json, saw %s", orNone(got)).as(bundle.SymptomErrorForm)
	}
	return finding{}
}

// checkUnaryContentType: a unary success has the content type of its request. A method that does not exist succeeds nowhere: a
// site may have one page for all unknown paths.
func checkUnaryContentType(e *exam) finding {
	want := requestType(e.x)
	if !e.connectUnary() || !succeededPost(e.x) || call.NoMethod(e.x.RPC) || want != "application/json" && want != "application/proto" {
		return notApplied
	}
	if got := responseType(e.x); got != want {
		return e.fails(-1, "content type: want %s, as in the request, saw %s", want, orNone(got))
	}
	return finding{}
}

// checkContentEncoding: a unary response has Content-Encoding exactly if its body is encoded, and
// the field that declares the encoding of a stream is not empty.
func checkContentEncoding(e *exam) finding {
	if e.connectStream() {
		return declaredEncoding(e)
	}
	if !e.connectUnary() || e.x.Outcome != bundle.OutcomeComplete || e.x.Request.Method == "HEAD" {
		return notApplied
	}
	values := e.x.Response.Get("Content-Encoding")
	for _, v := range values {
		if strings.TrimSpace(v) == "" {
			return e.fails(-1, "want no Content-Encoding or one with a value, saw an empty one")
		}
	}
	for v := range bundle.Each(e.x.Violations) {
		if v.Kind == string(wire.BadCompression) && v.In == "body" {
			return e.fails(v.Off, "Content-Encoding %s: %s", phrase.QuoteString(strings.Join(values, ", ")), phrase.Clip(v.Detail))
		}
	}
	if contentEncoding(e.x.Response) == "" && looksGzipped(e.x.Body) {
		return e.fails(0, "want Content-Encoding for a compressed body, saw none")
	}
	return finding{}
}

func declaredEncoding(e *exam) finding {
	for _, v := range e.x.Response.Get("Connect-Content-Encoding") {
		if strings.TrimSpace(v) == "" {
			return e.fails(-1, "want no Connect-Content-Encoding or one with a value, saw an empty one")
		}
	}
	return finding{}
}

// looksGzipped reports whether a body begins with the magic number of gzip and its only method.
// No JSON text and no message of our services does.
func looksGzipped(b *bundle.Blob) bool {
	if b == nil {
		return false
	}
	magic := []byte{0x1f, 0x8b, 0x08}
	return bytes.HasPrefix(b.Data, magic) || bytes.HasPrefix(b.Head, magic)
}

// checkErrorDebug: an error detail may have a readable JSON form (debug) in addition to its
// bytes; both must be equal (Connect specification, "Error").
func checkErrorDebug(e *exam) finding {
	if !e.connectUnary() || e.x.Error == nil || len(e.x.Error.Details) == 0 || !e.x.Body.Whole() {
		return notApplied
	}
	v, err := value.Decode(e.x.Body.Data)
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return notApplied
	}
	details, _ := body["details"].([]any)
	for i, d := range details {
		detail, _ := d.(map[string]any)
		if detail["debug"] == nil {
			continue
		}
		if why := debugDiffers(detail); why != "" {
			return e.fails(-1, "details[%d].debug: %s", i, why)
		}
	}
	return finding{}
}
