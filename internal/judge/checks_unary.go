package judge

import (
	"bytes"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
	"assay/internal/judge/value"
	"assay/internal/wire"
)

// checkUnaryStatusByCode: a unary error has the HTTP status of its code.
func checkUnaryStatusByCode(e *exam) applied {
	if !e.connectUnary() || e.x.Error == nil {
		return notApplied()
	}
	code, ok := wire.CodeByName(e.x.Error.Code)
	if !ok {
		return notApplied()
	}
	if got := status(e.x); got != code.Status {
		return breaks(-1, "error %s: want HTTP %d, saw %d", code.Name, code.Status, got).as(bundle.SymptomErrorForm)
	}
	return holds()
}

// checkUnaryErrorContentType: a unary error is application/json, whatever the codec of the request.
func checkUnaryErrorContentType(e *exam) applied {
	if !e.connectUnary() || e.x.Error == nil {
		return notApplied()
	}
	if got := responseType(e.x); got != "application/json" {
		return breaks(-1, "content type of an error: want application/json, saw %s", orNone(got)).as(bundle.SymptomErrorForm)
	}
	return holds()
}

// checkUnaryContentType: a unary success has the content type of its request.
func checkUnaryContentType(e *exam) applied {
	want := requestType(e.x)
	if !e.connectUnary() || !succeededPost(e.x) || want != "application/json" && want != "application/proto" {
		return notApplied()
	}
	if got := responseType(e.x); got != want {
		return breaks(-1, "content type: want %s, as in the request, saw %s", want, orNone(got))
	}
	return holds()
}

// checkContentEncoding: Content-Encoding is there exactly when a unary body is encoded; and
// the field by which a stream declares its encoding names one.
func checkContentEncoding(e *exam) applied {
	if e.connectStream() {
		return declaredEncoding(e)
	}
	if !e.connectUnary() || e.x.Outcome != bundle.OutcomeComplete || e.x.Request.Method == "HEAD" {
		return notApplied()
	}
	values := e.x.Response.Get("Content-Encoding")
	for _, v := range values {
		if strings.TrimSpace(v) == "" {
			return breaks(-1, "want no Content-Encoding or the name of one, saw an empty one")
		}
	}
	for i := range e.x.Violations {
		if v := &e.x.Violations[i]; v.Kind == string(wire.BadCompression) && v.In == "body" {
			return breaks(v.Off, "Content-Encoding %s: %s", phrase.QuoteString(strings.Join(values, ", ")), phrase.Clip(v.Detail))
		}
	}
	if contentEncoding(e.x.Response) == "" && looksGzipped(e.x.Body) {
		return breaks(0, "want Content-Encoding for a body that is compressed, saw none")
	}
	return holds()
}

func declaredEncoding(e *exam) applied {
	for _, v := range e.x.Response.Get("Connect-Content-Encoding") {
		if strings.TrimSpace(v) == "" {
			return breaks(-1, "want no Connect-Content-Encoding or the name of one, saw an empty one")
		}
	}
	return holds()
}

// looksGzipped: no JSON text, and no message of ours, begins with the magic number of gzip and its one method.
func looksGzipped(b *bundle.Blob) bool {
	if b == nil {
		return false
	}
	magic := []byte{0x1f, 0x8b, 0x08}
	return bytes.HasPrefix(b.Data, magic) || bytes.HasPrefix(b.Head, magic)
}

// checkErrorDebug: a detail of an error may be spelled out in JSON beside its bytes, for
// people to read; then both say the same (Connect specification, "Error").
func checkErrorDebug(e *exam) applied {
	if !e.connectUnary() || e.x.Error == nil || len(e.x.Error.Details) == 0 || !e.x.Body.Whole() {
		return notApplied()
	}
	v, err := value.Decode(e.x.Body.Data)
	body, ok := v.(map[string]any)
	if err != nil || !ok {
		return notApplied()
	}
	details, _ := body["details"].([]any)
	for i, d := range details {
		detail, _ := d.(map[string]any)
		if detail["debug"] == nil {
			continue
		}
		if why := debugDiffers(detail); why != "" {
			return breaks(-1, "details[%d].debug: %s", i, why)
		}
	}
	return holds()
}
