package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"assay/internal/base/strictjson"
)

// Error is the RPC error of a unary error body or of an end-of-stream message.
type Error struct {
	Code    string
	Message string
	Details []ErrorDetail
}

// ErrorDetail is one entry of details; Value is base64 as sent.
type ErrorDetail struct{ Type, Value string }

// DecodeError decodes a unary error body (Connect specification,
// "Unary-Response" and "Error"). An empty body is legal and returns nil, nil. The
// valid parts are returned even when there are violations: an object
// always results in an Error, and an unknown code is returned as sent. Offsets are
// relative to p.
func DecodeError(p []byte) (*Error, []Violation) {
	if len(p) == 0 {
		return nil, nil
	}
	var d jsonDecoder
	v, ok := d.object(p, ErrorJSON)
	if !ok {
		return nil, d.violations
	}
	return d.rpcError(v), d.violations
}

// jsonDecoder collects the violations of one JSON document.
type jsonDecoder struct{ violations []Violation }

func (d *jsonDecoder) violate(k Kind, off int, format string, args ...any) {
	d.violations = append(d.violations, Violation{Kind: k, Off: int64(off), Detail: fmt.Sprintf(format, args...)})
}

// object reads p as one JSON object and reports violations of its text as kind k.
func (d *jsonDecoder) object(p []byte, k Kind) (strictjson.Value, bool) {
	var s strictjson.Scanner
	v, problems := s.Scan(p)
	for _, pr := range problems {
		d.violate(k, pr.Off, "%s", pr.Detail)
	}
	if v.Kind() == strictjson.Invalid {
		return v, false
	}
	if v.Kind() != strictjson.Object {
		d.violate(k, v.Off, "%s where an object was expected", v.Kind())
		return v, false
	}
	return v, true
}

func (d *jsonDecoder) rpcError(v strictjson.Value) *Error {
	e := &Error{}
	hasCode := false
	for m := range v.Members() {
		switch string(m.Name) {
		case "code":
			hasCode = true
			e.Code = d.code(m.Value)
		case "message":
			if m.Value.Kind() != strictjson.String {
				d.violate(ErrorMessage, m.Value.Off, "message is %s, not a string", m.Value.Kind())
			}
			e.Message = m.Value.Text()
		case "details":
			e.Details = d.details(m.Value)
		}
	}
	if !hasCode {
		d.violate(ErrorCode, v.Off, "the error has no code")
	}
	return e
}

func (d *jsonDecoder) code(v strictjson.Value) string {
	if v.Kind() != strictjson.String {
		d.violate(ErrorCode, v.Off, "code is %s, not a string", v.Kind())
		return ""
	}
	name := v.Text()
	if _, ok := CodeByName(name); !ok {
		d.violate(ErrorCode, v.Off, "%.64q is not one of the 16 codes", name)
	}
	return name
}

func (d *jsonDecoder) details(v strictjson.Value) []ErrorDetail {
	if v.Kind() != strictjson.Array {
		d.violate(ErrorDetails, v.Off, "details is %s, not an array", v.Kind())
		return nil
	}
	var out []ErrorDetail
	for el := range v.Elements() {
		if el.Kind() != strictjson.Object {
			d.violate(ErrorDetails, el.Off, "a detail is %s, not an object", el.Kind())
			continue
		}
		out = append(out, d.detail(el))
	}
	return out
}

// detail reads one entry. Properties other than type and value are allowed, such as debug.
func (d *jsonDecoder) detail(v strictjson.Value) ErrorDetail {
	var out ErrorDetail
	hasType, hasValue := false, false
	for m := range v.Members() {
		switch string(m.Name) {
		case "type":
			hasType = true
			out.Type = d.detailText(m)
			if strings.Contains(out.Type, "/") {
				d.violate(ErrorDetails, m.Value.Off, "type %.128q has a URL prefix", out.Type)
			}
		case "value":
			hasValue = true
			out.Value = d.detailText(m)
			if why := notUnpaddedBase64(out.Value); why != "" {
				d.violate(ErrorDetails, m.Value.Off, "value is %s", why)
			}
		}
	}
	if !hasType || out.Type == "" {
		d.violate(ErrorDetails, v.Off, "a detail has no type")
	}
	if !hasValue {
		d.violate(ErrorDetails, v.Off, "a detail has no value")
	}
	return out
}

func (d *jsonDecoder) detailText(m strictjson.Member) string {
	if m.Value.Kind() != strictjson.String {
		d.violate(ErrorDetails, m.Value.Off, "%s is %s, not a string", m.Name, m.Value.Kind())
	}
	return m.Value.Text()
}

// notUnpaddedBase64 describes why s is not unpadded standard base64, "" if it is. The
// decoder of encoding/base64 skips line breaks, which JSON text can contain as escapes,
// so they are checked first.
func notUnpaddedBase64(s string) string {
	switch {
	case strings.HasSuffix(s, "="):
		return "padded base64"
	case strings.ContainsAny(s, "\r\n"):
		return "base64 with line breaks"
	case strings.ContainsAny(s, "-_"):
		return "base64 in the URL alphabet"
	}
	if _, err := base64.RawStdEncoding.Strict().DecodeString(s); err != nil {
		return "not base64: " + err.Error()
	}
	return ""
}
