package interpreter

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxBody limits the body of a request, in bytes.
const maxBody = 4 << 20

// problem is one entry of the body of a 422.
type problem struct {
	Type  string `json:"type"`
	Where []any  `json:"loc"`
	Text  string `json:"msg"`
	Input any    `json:"input"`
}

// object is the body of a request, and what is wrong with it.
type object struct {
	fields   map[string]any
	problems []problem
}

// readObject reads a JSON object of a request. A body of any other content type is not JSON:
// a page of any origin may send that.
//
// If the body cannot be read, it answers, and returns nil.
func readObject(w http.ResponseWriter, r *http.Request) *object {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		writeText(w, http.StatusRequestEntityTooLarge, "the body is longer than 4 MiB")
		return nil
	} else if err != nil {
		writeText(w, http.StatusBadRequest, "the body was cut: "+err.Error())
		return nil
	}
	o := &object{}
	if len(raw) == 0 {
		o.report("missing", nil, "Field required", nil)
		return o
	}
	var value any
	if isJSON(r.Header.Get("Content-Type")) {
		if err := json.Unmarshal(raw, &value); err != nil {
			o.report("json_invalid", []any{0}, "JSON decode error: "+err.Error(), map[string]any{})
			return o
		}
	} else {
		value = string(bytes.ToValidUTF8(raw[:min(len(raw), 100)], []byte("\uFFFD")))
	}
	fields, ok := value.(map[string]any)
	if !ok {
		o.report("model_attributes_type", nil, "Input should be a valid dictionary or object to extract fields from", value)
	}
	o.fields = fields
	return o
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}

func (o *object) report(kind string, where []any, text string, input any) {
	o.problems = append(o.problems, problem{Type: kind, Where: append([]any{"body"}, where...), Text: text, Input: input})
}

// text returns a string member; an absent one and null are "".
func (o *object) text(name string) string {
	switch v := o.fields[name].(type) {
	case string:
		return v
	case nil:
	default:
		o.report("string_type", []any{name}, "Input should be a valid string", v)
	}
	return ""
}

// required returns a string member that must be there.
func (o *object) required(name string) string {
	v, ok := o.fields[name]
	switch {
	case o.fields == nil: // the body itself is wrong
	case !ok:
		o.report("missing", []any{name}, "Field required", o.fields)
	case v == nil:
		o.report("string_type", []any{name}, "Input should be a valid string", nil)
	}
	return o.text(name)
}

// texts returns a member that is an object of strings.
func (o *object) texts(name string) map[string]string {
	out := map[string]string{}
	switch v := o.fields[name].(type) {
	case map[string]any:
		for key, value := range v {
			text, ok := value.(string)
			if !ok {
				o.report("string_type", []any{name, key}, "Input should be a valid string", value)
			}
			out[key] = text
		}
	case nil:
	default:
		o.report("dict_type", []any{name}, "Input should be a valid dictionary", v)
	}
	return out
}

// refuses answers a request whose body is wrong.
func (o *object) refuses(w http.ResponseWriter) bool {
	if len(o.problems) == 0 {
		return false
	}
	writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": o.problems})
	return true
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // as above
}
