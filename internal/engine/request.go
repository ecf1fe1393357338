package engine

import (
	"fmt"
	"slices"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/surface"
	"assay/internal/transport"
	"assay/scenarios"
)

// request is a request that is ready to be sent: its record, and its bytes on the wire.
type request struct {
	transport.Call
	http2 bool
	head  []byte // HTTP/1.1: request line and fields
	body  []byte // HTTP/1.1: with its chunk framing, if any; HTTP/2: the content of DATA
	// missing is how many bytes of the declared body body lacks, or untilLast; later
	// writes send them.
	missing int64
	chunked bool // later writes are framed in chunks
}

// untilLast means that the request ends with a last chunk, or END_STREAM.
const untilLast = -1

// form returns the form of the instance's requests unless a step sets another.
func (in *instance) form() call.Form {
	a := in.axes
	return call.Form{Protocol: a.Protocol, Codec: a.Codec, HTTP: a.HTTP, Compression: a.Compression}
}

// rpcRequest returns the well-formed request of an RPC. It keeps the timeout and the
// overrides of p.
func (in *instance) rpcRequest(f call.Form, m call.Message, p headerPlan) (request, error) {
	body, err := encode(f, m)
	if err != nil {
		return request{}, err
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
		Method: "POST", Path: in.target.Path(surface.Process, rpc),
		Headers: in.headers(p), Body: body,
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

// surfaceRequest returns a request to a surface that is not an RPC. A nil body is
// neither sent nor declared, except that a POST always declares its length.
func (in *instance) surfaceRequest(f call.Form, id, method, rest string, json []byte) request {
	p := headerPlan{form: f}
	if json != nil {
		p.contentType = "application/json"
	}
	if json != nil || method == "POST" {
		p.length = new(int64(len(json)))
	}
	return assemble(transport.Call{
		Surface: id, Shape: surface.Of(id).Shape(method, rest), Codec: call.JSON,
		Method: method, Path: in.target.Path(id, rest),
		Headers: in.headers(p), Body: json,
	}, f, json)
}

// assemble returns a request with the bytes of a call on the wire.
func assemble(c transport.Call, f call.Form, body []byte) request {
	if f.HTTP2() {
		return request{Call: c, http2: true, body: body}
	}
	return request{Call: c, head: transport.RequestHead(c.Method, c.Path, c.Headers), body: body}
}

// pieces returns the writes of the request: a single one, or with a split the head and
// then each part of the body. On HTTP/2 they hold the body alone.
func (r *request) pieces(s *scenarios.Split) [][]byte {
	switch {
	case r.http2 && len(r.body) == 0:
		return nil
	case r.http2:
		return cut(r.body, s)
	case s == nil || len(r.body) == 0:
		return [][]byte{slices.Concat(r.head, r.body)}
	}
	return append([][]byte{r.head}, cut(r.body, s)...)
}

// cut splits p where s says; positions outside of p are ignored.
func cut(p []byte, s *scenarios.Split) [][]byte {
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
