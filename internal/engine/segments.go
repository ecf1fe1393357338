package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assay/internal/envd/call"
	"assay/internal/wire"
	"assay/scenarios"
)

// rendering turns the segments of a script into bytes.
type rendering struct {
	it    *iteration
	rpc   string // the request type of messages
	codec string // of messages
}

// rendered is a body: the entity, and its form on the wire, which differs if it has
// chunks.
type rendered struct {
	entity, wire []byte
	chunked      bool // it has a chunk segment
	last         bool // it has the last chunk
}

func (r rendering) segments(ctx context.Context, segments []scenarios.Segment) (rendered, error) {
	var out rendered
	for i := range segments {
		s := &segments[i]
		if s.Chunk != nil {
			if err := r.chunk(ctx, s.Chunk, &out); err != nil {
				return rendered{}, err
			}
			continue
		}
		p, err := r.plain(ctx, s)
		if err != nil {
			return rendered{}, err
		}
		out.entity = append(out.entity, p...)
		out.wire = append(out.wire, p...)
	}
	return out, nil
}

func (r rendering) plain(ctx context.Context, s *scenarios.Segment) ([]byte, error) {
	switch {
	case s.Envelope != nil:
		return r.envelope(ctx, s.Envelope)
	case s.Gzip != nil:
		return r.packed(ctx, s.Gzip)
	case s.Frame != nil:
		return nil, errors.New("an HTTP/2 frame can stand only by itself in a write")
	case s.WS != nil:
		return r.ws(ctx, s.WS)
	}
	return r.it.bytesOf(ctx, s.Bytes)
}

// chunk appends one HTTP/1.1 chunk, followed by the last chunk if c says so. A chunk
// without content is the last chunk alone, or an empty chunk that Size describes.
func (r rendering) chunk(ctx context.Context, c *scenarios.Chunk, out *rendered) error {
	inner, err := r.segments(ctx, c.Of)
	if err != nil {
		return err
	}
	out.chunked = true
	out.entity = append(out.entity, inner.entity...)
	extension := c.Extension
	if len(inner.wire) > 0 || c.Size != nil || !c.Last {
		size := int64(len(inner.wire))
		if c.Size != nil {
			size = *c.Size
		}
		out.wire = append(out.wire, strconv.FormatInt(size, 16)+extension+"\r\n"...)
		out.wire = append(out.wire, inner.wire...)
		out.wire = append(out.wire, "\r\n"...)
		extension = ""
	}
	if c.Last {
		out.last = true
		out.wire = append(out.wire, "0"+extension+"\r\n\r\n"...)
	}
	return nil
}

// envelope renders one envelope, including its deliberate errors.
func (r rendering) envelope(ctx context.Context, e *scenarios.Envelope) ([]byte, error) {
	payload, err := r.payload(ctx, e)
	if err != nil {
		return nil, err
	}
	if e.Gzip {
		payload = call.Compress(payload)
	}
	p := wire.AppendEnvelope(nil, byte(e.Flags), payload)
	if e.Length != nil {
		n := uint32(*e.Length)
		copy(p[1:wire.HeaderSize], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	return p, nil
}

func (r rendering) payload(ctx context.Context, e *scenarios.Envelope) ([]byte, error) {
	switch {
	case e.Message != nil:
		json, err := r.it.jsonOf(ctx, e.Message)
		if err != nil {
			return nil, err
		}
		p, err := call.Encode(call.Text{RPC: r.rpc, JSON: json}, r.codec)
		if err != nil {
			return nil, fmt.Errorf("the message of an envelope for %s cannot be sent as %s: %w", r.rpc, r.codec, err)
		}
		return p, nil
	case e.JSON != nil:
		return r.it.jsonOf(ctx, e.JSON)
	case e.Hex != "":
		return r.it.bytesOf(ctx, scenarios.Bytes{Hex: &e.Hex})
	}
	return []byte(e.Text), nil
}

// chunkedBody frames p as one chunk and the last chunk.
func chunkedBody(p []byte) []byte {
	if len(p) == 0 {
		return []byte("0\r\n\r\n")
	}
	return slices.Concat([]byte(strconv.FormatInt(int64(len(p)), 16)+"\r\n"), p, []byte("\r\n0\r\n\r\n"))
}

// bytesOf resolves a byte string of a script. Variables are expanded in JSON only,
// since a shell has its own use for ${...} in text.
func (it *iteration) bytesOf(ctx context.Context, b scenarios.Bytes) ([]byte, error) {
	if b.JSON != nil {
		return it.jsonOf(ctx, b.JSON)
	}
	p, set := b.Resolve(nil)
	if !set && !b.IsZero() {
		return nil, errors.New("a byte string of the script cannot be resolved")
	}
	return p, nil
}
