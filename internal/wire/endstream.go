package wire

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"assay/internal/base/strictjson"
)

// EndStream is a decoded end-of-stream message. Error is nil on success.
type EndStream struct {
	Error    *Error
	Metadata map[string][]string
}

// DecodeEndStream decodes the payload of an end-of-stream envelope, after
// decompression (Connect specification, "EndStreamResponse"): one JSON object
// in every codec, error absent on success, metadata an object of arrays of
// strings. Other members are ignored: nothing forbids them. Metadata
// keys keep their spelling. The valid parts are returned even when there
// are violations; offsets are relative to p.
func DecodeEndStream(p []byte) (EndStream, []Violation) {
	var d jsonDecoder
	var out EndStream
	v, ok := d.object(p, EndStreamJSON)
	if !ok {
		return out, d.violations
	}
	for m := range v.Members() {
		switch string(m.Name) {
		case "error":
			out.Error = d.endStreamError(m.Value)
		case "metadata":
			out.Metadata = d.metadata(m.Value)
		}
	}
	return out, d.violations
}

func (d *jsonDecoder) endStreamError(v strictjson.Value) *Error {
	if v.Kind() != strictjson.Object {
		d.violate(EndStreamShape, v.Off, "error is %s; it is an object, and absent on success", v.Kind())
		return nil
	}
	if strictjson.Empty(v) {
		d.violate(EndStreamShape, v.Off, "error is an empty object; it is absent on success")
	}
	return d.rpcError(v)
}

func (d *jsonDecoder) metadata(v strictjson.Value) map[string][]string {
	if v.Kind() != strictjson.Object {
		d.violate(EndStreamMetadata, v.Off, "metadata is %s, not an object", v.Kind())
		return nil
	}
	out := map[string][]string{}
	for m := range v.Members() {
		name := string(m.Name)
		if !httpguts.ValidHeaderFieldName(name) {
			d.violate(EndStreamMetadata, m.Off, "%.64q is not a header name", name)
		}
		if m.Value.Kind() != strictjson.Array {
			d.violate(EndStreamMetadata, m.Value.Off, "metadata %.64q is %s, not an array", name, m.Value.Kind())
			continue
		}
		out[name] = d.metadataValues(out[name], name, m.Value)
	}
	return out
}

// metadataValues appends the strings of one array; a repeated name keeps all its values.
func (d *jsonDecoder) metadataValues(values []string, name string, v strictjson.Value) []string {
	if values == nil {
		values = []string{}
	}
	for el := range v.Elements() {
		if el.Kind() != strictjson.String {
			d.violate(EndStreamMetadata, el.Off, "a value of metadata %.64q is %s, not a string", name, el.Kind())
			continue
		}
		text := el.Text()
		if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
			d.violate(EndStreamMetadata, el.Off, "a value of metadata %.64q has a character that is not printable ASCII", name)
		}
		values = append(values, text)
	}
	return values
}
