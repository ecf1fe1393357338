//go:build linux && (amd64 || arm64)

package fast

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/load"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
	"assay/internal/wire/h2"
)

// encoded is a request in the form that is written. Many streams share one.
type encoded struct {
	h1    []byte // HTTP/1.1: head and body
	block []byte // HTTP/2: the field block, which does not use the dynamic table
	body  []byte // HTTP/2: the body

	upgrades bool // it asks for a WebSocket
	key      int  // the offset of its key in h1; 0 when it has none
}

// encode encodes a request for the connections of a plan.
func encode(r load.Request, p *load.Plan) *encoded {
	if p.Multiplexed() {
		return &encoded{block: fieldBlock(&r, p), body: r.Body}
	}
	headers := r.Headers
	if r.Body != nil {
		headers = slices.DeleteFunc(slices.Clone(headers), func(h bundle.Header) bool { return strings.EqualFold(h.Name, "content-length") })
		headers = append(headers, bundle.Header{Name: "content-length", Value: strconv.Itoa(len(r.Body))})
	}
	return &encoded{upgrades: r.Upgrades(), h1: append(transport.RequestHead(r.Method, r.Path, headers), r.Body...)}
}

// fieldBlock returns the header block of a request. It does not use the dynamic table, so
// the same bytes serve every stream of every connection.
func fieldBlock(r *load.Request, p *load.Plan) []byte {
	scheme := "http"
	if p.TLS != nil {
		scheme = "https"
	}
	fields := []wire.Field{
		{Name: ":method", Value: r.Method}, {Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: authority(r)}, {Name: ":path", Value: r.Path},
	}
	for _, h := range r.Headers {
		name := strings.ToLower(h.Name)
		switch name {
		case "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			continue // only for HTTP/1.1 (RFC 9113, section 8.2.2)
		}
		fields = append(fields, wire.Field{Name: name, Value: h.Value})
	}
	return h2.EncodeFields(fields...)
}

func authority(r *load.Request) string {
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "host") {
			return h.Value
		}
	}
	return ""
}
