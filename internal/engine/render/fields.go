package render

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
)

// fields determines the header fields of a well-formed request.
type fields struct {
	form        call.Form
	rpc         string // its protocol fields are sent; "" for none
	contentType string
	timeoutMS   *int64
	timeout     *string // sent verbatim instead of timeoutMS
	compressed  bool    // the body is compressed, so the request declares its encoding
	length      *int64  // Content-Length; nil leaves it out
	chunked     bool
	overrides   map[string]*string // by the script
}

// headers renders the plan in a fixed order: the fields of the target (Host,
// User-Agent, credentials), those of the protocol, then the framing. An override replaces
// a field in place or is added at the end, sorted by name; nil removes the field.
//
// HTTP/2 has only lower-case names, and neither Connection nor Transfer-Encoding (RFC
// 9113, 8.2); a script may still add them.
func (r Renderer) headers(p fields) []bundle.Header {
	hs := slices.Clone(r.Target.Headers(r.Scenario, r.Run))
	add := func(name, value string) { hs = append(hs, bundle.Header{Name: name, Value: value}) }
	if p.rpc != "" {
		p.protocolFields(add)
	}
	if p.contentType != "" {
		add("Content-Type", p.contentType)
	}
	encoding, accepts := p.form.EncodingNames(p.rpc)
	if p.compressed {
		add(encoding, "gzip")
	}
	if p.rpc != "" && p.form.Gzip() {
		add(accepts, "gzip")
	}
	if p.chunked && !p.form.HTTP2() {
		add("Transfer-Encoding", "chunked")
	}
	if p.length != nil {
		add("Content-Length", strconv.FormatInt(*p.length, 10))
	}
	if !p.form.HTTP2() {
		return override(hs, p.overrides)
	}
	hs = slices.DeleteFunc(hs, func(h bundle.Header) bool { return strings.EqualFold(h.Name, "connection") })
	hs = override(hs, p.overrides)
	for i := range hs {
		hs[i].Name = strings.ToLower(hs[i].Name)
	}
	return hs
}

// protocolFields adds the field by which a server recognizes the protocol, and the deadline.
func (p fields) protocolFields(add func(name, value string)) {
	own := p.form.ProtocolField()
	add(own.Name, own.Value)
	switch {
	case p.timeout != nil:
		add(p.form.TimeoutName(), *p.timeout)
	case p.timeoutMS != nil:
		add(p.form.TimeoutName(), p.form.Timeout(*p.timeoutMS).Value)
	}
}

// override applies a script's headers.
func override(hs []bundle.Header, by map[string]*string) []bundle.Header {
	names := slices.Sorted(maps.Keys(by))
	for _, name := range names {
		value := by[name]
		i := slices.IndexFunc(hs, func(h bundle.Header) bool { return strings.EqualFold(h.Name, name) })
		switch {
		case value == nil:
			hs = slices.DeleteFunc(hs, func(h bundle.Header) bool { return strings.EqualFold(h.Name, name) })
		case i >= 0:
			hs[i] = bundle.Header{Name: name, Value: *value}
		default:
			hs = append(hs, bundle.Header{Name: name, Value: *value})
		}
	}
	return hs
}
