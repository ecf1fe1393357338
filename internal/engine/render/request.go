package render

import (
	"fmt"
	"slices"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// Request is a request that is ready to be sent: its record, and its bytes on the wire.
type Request struct {
	transport.Call
	HTTP2 bool
	// Content is the content of DATA on HTTP/2; on HTTP/1.1 it follows the head, with its chunk framing, if any.
	Content []byte
	// Missing is how many bytes of the declared body the content lacks, or UntilLast; later
	// writes send them.
	Missing int64
	Chunked bool // later writes are framed in chunks

	head []byte // HTTP/1.1: request line and fields
}

// UntilLast means that a request ends with a last chunk, or END_STREAM.
const UntilLast = -1

// RPC returns the well-formed request of an RPC.
func (r Renderer) RPC(f call.Form, m call.Message) (Request, error) { return r.rpc(f, m, fields{}) }

// rpc keeps the timeout and the overrides of p.
func (r Renderer) rpc(f call.Form, m call.Message, p fields) (Request, error) {
	body, err := encode(f, m)
	if err != nil {
		return Request{}, err
	}
	rpc := m.Procedure()
	p.form = f
	p.rpc = rpc
	p.contentType = f.ContentType(rpc)
	p.compressed = f.Gzip()
	if !f.HTTP2() || !f.GRPC() {
		p.length = new(int64(len(body)))
	}
	return assemble(transport.Call{
		RPC: rpc, Protocol: f.Protocol, Surface: surface.Process, Shape: bundle.Shape(call.ShapeOf(rpc)), Codec: f.Codec,
		Method: "POST", Path: r.Target.Path(surface.Process, rpc),
		Headers: r.headers(p), Body: body,
	}, f, body), nil
}

// encode returns the body of a request in its form.
func encode(f call.Form, m call.Message) ([]byte, error) {
	body, err := f.Body(m)
	if err != nil {
		return nil, fmt.Errorf("the message for %s cannot be sent as %s: %w", m.Procedure(), f.Codec, err)
	}
	return body, nil
}

// Surface returns a request to a surface that is not an RPC. A nil body is
// neither sent nor declared, except that a POST always declares its length.
func (r Renderer) Surface(f call.Form, id, method, rest string, json []byte) Request {
	p := fields{form: f}
	if json != nil {
		p.contentType = "application/json"
	}
	if json != nil || method == "POST" {
		p.length = new(int64(len(json)))
	}
	return assemble(transport.Call{
		Surface: id, Shape: surface.Of(id).Shape(method, rest), Codec: call.JSON,
		Method: method, Path: r.Target.Path(id, rest),
		Headers: r.headers(p), Body: json,
	}, f, json)
}

// assemble returns a request with the bytes of a call on the wire.
func assemble(c transport.Call, f call.Form, body []byte) Request {
	if f.HTTP2() {
		return Request{Call: c, HTTP2: true, Content: body}
	}
	return Request{Call: c, head: transport.RequestHead(c.Method, c.Path, c.Headers), Content: body}
}

// Pieces returns the writes of the request: a single one, or with a split the head and
// then each part of the body. On HTTP/2 they hold the body alone.
func (r *Request) Pieces(s *scenarios.Split) [][]byte {
	switch {
	case r.HTTP2 && len(r.Content) == 0:
		return nil
	case r.HTTP2:
		return Cut(r.Content, s)
	case s == nil || len(r.Content) == 0:
		return [][]byte{slices.Concat(r.head, r.Content)}
	}
	return append([][]byte{r.head}, Cut(r.Content, s)...)
}

// Cut splits p where s says; positions outside of p are ignored.
func Cut(p []byte, s *scenarios.Split) [][]byte {
	if s == nil || len(p) == 0 {
		return [][]byte{p}
	}
	var parts [][]byte
	if s.EveryByte {
		for i := range p {
			parts = append(parts, p[i:i+1])
		}
		return parts
	}
	at := slices.Clone(s.At)
	slices.Sort(at)
	from := 0
	for _, to := range at {
		if to > from && to < len(p) {
			parts = append(parts, p[from:to])
			from = to
		}
	}
	return append(parts, p[from:])
}
