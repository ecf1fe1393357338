package engine

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/bundle"
)

// headerPlan says which header fields a well-formed request has.
type headerPlan struct {
	form        form
	rpc         bool // the fields of the protocol are sent
	shape       bundle.Shape
	contentType string
	timeoutMS   *int64
	timeout     *string // as it is sent, instead of timeoutMS
	compressed  bool    // the body is compressed, so its encoding is declared
	length      *int64  // Content-Length; nil leaves it out
	chunked     bool
	overrides   map[string]*string // of the script
}

// headers renders the plan in a fixed order: those of the target (Host,
// User-Agent, credentials), the protocol's, then the framing. Overrides replace a
// field where it stands, or are added at the end, sorted by name; nil removes.
//
// HTTP/2 has names in lower case only, and neither Connection nor
// Transfer-Encoding (RFC 9113, 8.2); a script may add them all the same.
func (in *instance) headers(p headerPlan) []bundle.Header {
	hs := slices.Clone(in.target.Headers(in.s.ID, in.run.ID))
	add := func(name, value string) { hs = append(hs, bundle.Header{Name: name, Value: value}) }
	if p.rpc {
		p.protocolFields(add)
	}
	if p.contentType != "" {
		add("Content-Type", p.contentType)
	}
	encoding, accepts := p.form.encodingFields(p.shape)
	if p.compressed {
		add(encoding, "gzip")
	}
	if p.rpc && p.form.gzip() {
		add(accepts, "gzip")
	}
	if p.chunked && !p.form.http2() {
		add("Transfer-Encoding", "chunked")
	}
	if p.length != nil {
		add("Content-Length", strconv.FormatInt(*p.length, 10))
	}
	if !p.form.http2() {
		return override(hs, p.overrides)
	}
	hs = slices.DeleteFunc(hs, func(h bundle.Header) bool { return strings.EqualFold(h.Name, "connection") })
	hs = override(hs, p.overrides)
	for i := range hs {
		hs[i].Name = strings.ToLower(hs[i].Name)
	}
	return hs
}

// protocolFields are the fields by which a server knows the protocol, and the deadline.
func (p headerPlan) protocolFields(add func(name, value string)) {
	switch p.form.Protocol {
	case protocolGRPC:
		add("Te", "trailers")
	case protocolGRPCWeb:
		add("X-Grpc-Web", "1")
	default:
		add("Connect-Protocol-Version", "1")
	}
	switch {
	case p.timeout != nil:
		add(p.form.timeoutField(), *p.timeout)
	case p.timeoutMS != nil:
		add(p.form.timeoutField(), p.form.timeout(*p.timeoutMS))
	}
}

// override applies a script's headers.
func override(hs []bundle.Header, by map[string]*string) []bundle.Header {
	names := sortedKeys(by)
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
