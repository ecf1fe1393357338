package engine

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// request is a request that is ready to be sent: how it is recorded, and its
// bytes on the wire.
type request struct {
	transport.Call
	head []byte
	body []byte // with its chunk framing, if any
}

// headerPlan says which header fields a well-formed request has.
type headerPlan struct {
	rpc         bool // Connect-Protocol-Version is sent
	stream      bool // compression is named by the Connect- fields
	contentType string
	timeoutMS   *int64
	compressed  bool   // the body is compressed, so its encoding is declared
	accept      string // the encoding that is accepted, "" for none
	length      *int64 // Content-Length; nil leaves it out
	chunked     bool
	overrides   map[string]*string // of the script
}

// headers renders the plan in a fixed order: those of the target (Host,
// User-Agent, credentials), the protocol's, then the framing. Overrides replace a
// field where it stands, or are added at the end, sorted by name; nil removes.
func (in *instance) headers(p headerPlan) []bundle.Header {
	hs := slices.Clone(in.target.Headers(in.s.ID, in.run.ID))
	add := func(name, value string) { hs = append(hs, bundle.Header{Name: name, Value: value}) }
	if p.rpc {
		add("Connect-Protocol-Version", "1")
	}
	if p.timeoutMS != nil {
		add("Connect-Timeout-Ms", strconv.FormatInt(*p.timeoutMS, 10))
	}
	if p.contentType != "" {
		add("Content-Type", p.contentType)
	}
	prefix := ""
	if p.stream {
		prefix = "Connect-"
	}
	if p.compressed {
		add(prefix+"Content-Encoding", "gzip")
	}
	if p.accept != "" {
		add(prefix+"Accept-Encoding", p.accept)
	}
	if p.chunked {
		add("Transfer-Encoding", "chunked")
	}
	if p.length != nil {
		add("Content-Length", strconv.FormatInt(*p.length, 10))
	}
	return override(hs, p.overrides)
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

// contentType is that of a request of the RPC in the codec of the axes.
func (in *instance) contentType(shape bundle.Shape) string {
	if shape == bundle.ShapeStream {
		return "application/connect+" + in.axes.Codec
	}
	return "application/" + in.axes.Codec
}

// accepted is the encoding that requests accept on these axes.
func (in *instance) accepted() string {
	if in.axes.Compression == compressionGzip {
		return "gzip"
	}
	return ""
}

// message is a request message, given as JSON, in the codec of the axes. It is
// compressed and enveloped as the axes and the shape of the RPC want it.
func (in *instance) message(rpc string, json []byte) ([]byte, error) {
	payload, err := transport.Message(rpc, in.axes.Codec, json)
	if err != nil {
		return nil, fmt.Errorf("the message for %s cannot be sent as %s: %w", rpc, in.axes.Codec, err)
	}
	var flags byte
	if in.axes.Compression == compressionGzip {
		flags = wire.FlagCompressed
		payload = gzipped(payload)
	}
	if transport.ShapeOf(rpc) != bundle.ShapeStream {
		return payload, nil
	}
	return wire.AppendEnvelope(nil, flags, payload), nil
}

// rpcRequest is the well-formed request of an RPC. What is set in p besides the
// plan's protocol fields (timeout, overrides) is kept.
func (in *instance) rpcRequest(rpc string, json []byte, p headerPlan) (request, error) {
	body, err := in.message(rpc, json)
	if err != nil {
		return request{}, err
	}
	shape := transport.ShapeOf(rpc)
	p.rpc = true
	p.stream = shape == bundle.ShapeStream
	p.contentType = in.contentType(shape)
	p.compressed = in.axes.Compression == compressionGzip
	p.accept = in.accepted()
	p.length = new(int64(len(body)))
	return assemble(transport.Call{
		RPC: rpc, Surface: surfaceProcess, Shape: shape, Codec: in.axes.Codec,
		Method: "POST", Path: in.target.Path(surfaceProcess, rpc),
		Headers: in.headers(p), Body: body,
	}, body), nil
}

// surfaceRequest is a request to what is not an RPC. A nil body sends none and
// declares none, except that a POST always declares its length.
func (in *instance) surfaceRequest(surface, method, rest string, json []byte) request {
	var p headerPlan
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
	}, json)
}

// surfaceShape is how the answer of a surface is decoded: only a POST to the
// NDJSON alias itself gives lines.
func surfaceShape(surface, method, rest string) bundle.Shape {
	if surface == surfaceCommands && method == "POST" && strings.Trim(rest, "/") == "" {
		return bundle.ShapeNDJSON
	}
	return bundle.ShapePlain
}

// assemble adds the bytes on the wire to a call.
func assemble(c transport.Call, body []byte) request {
	return request{Call: c, head: transport.RequestHead(c.Method, c.Path, c.Headers), body: body}
}

// pieces are the writes of the request: one, or with a split the head and then
// each part of the body.
func (r *request) pieces(s *scenarios.Split) [][]byte {
	if s == nil || len(r.body) == 0 {
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
