package engine

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/scenarios"
)

// request is a request that is ready to be sent: how it is recorded, and what
// goes over the wire.
type request struct {
	transport.Call
	http2 bool
	head  []byte // HTTP/1.1: request line and fields
	body  []byte // HTTP/1.1: with its chunk framing, if any; HTTP/2: the content of DATA
	// missing is how many bytes of the declared body are still to come when body
	// was sent, or untilLast; later writes go on with it.
	missing int64
	chunked bool // later writes are framed in chunks
}

// untilLast: the request goes on until a last chunk, or END_STREAM.
const untilLast = -1

// form is what requests of the instance look like unless a step says otherwise.
func (in *instance) form() form { return form(in.axes) }

// rpcRequest is the well-formed request of an RPC. What is set in p besides the
// plan's protocol fields (timeout, overrides) is kept.
func (in *instance) rpcRequest(f form, rpc string, json []byte, p headerPlan) (request, error) {
	body, err := f.message(rpc, json)
	if err != nil {
		return request{}, err
	}
	p.form = f
	p.rpc = true
	p.shape = transport.ShapeOf(rpc)
	p.contentType = f.contentType(p.shape)
	p.compressed = f.gzip()
	if !f.http2() || !f.grpc() {
		p.length = new(int64(len(body)))
	}
	return assemble(transport.Call{
		RPC: rpc, Protocol: f.Protocol, Surface: surfaceProcess, Shape: p.shape, Codec: f.Codec,
		Method: "POST", Path: in.target.Path(surfaceProcess, rpc),
		Headers: in.headers(p), Body: body,
	}, f, body), nil
}

// surfaceRequest is a request to what is not an RPC. A nil body sends none and
// declares none, except that a POST always declares its length.
func (in *instance) surfaceRequest(f form, surface, method, rest string, json []byte) request {
	p := headerPlan{form: f}
	if json != nil {
		p.contentType = "application/json"
	}
	if json != nil || method == "POST" {
		p.length = new(int64(len(json)))
	}
	return assemble(transport.Call{
		Surface: surface, Shape: surfaceShape(surface, method, rest), Codec: codecJSON,
		Method: method, Path: in.target.Path(surface, rest),
		Headers: in.headers(p), Body: json,
	}, f, json)
}

// surfaceShape is how the answer of a surface is decoded: only a POST to the
// NDJSON alias itself gives lines.
func surfaceShape(surface, method, rest string) bundle.Shape {
	if surface == surfaceCommands && method == "POST" && strings.Trim(rest, "/") == "" {
		return bundle.ShapeNDJSON
	}
	return bundle.ShapePlain
}

// assemble adds what goes over the wire to a call.
func assemble(c transport.Call, f form, body []byte) request {
	if f.http2() {
		return request{Call: c, http2: true, body: body}
	}
	return request{Call: c, head: transport.RequestHead(c.Method, c.Path, c.Headers), body: body}
}

// pieces are the writes of the request: one, or with a split the head and then
// each part of the body. On HTTP/2 they are those of the body alone.
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

// cut splits p where s says; places outside of p are left out.
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

// gzipped compresses p; the same bytes give the same result.
func gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(p) // a bytes.Buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
