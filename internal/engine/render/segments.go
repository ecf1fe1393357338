package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assay/internal/envd/call"
	"assay/internal/wire"
	"assay/scenarios"
)

// Body is a rendered body: the entity, and its form on the wire, which differs if it has
// chunks.
type Body struct {
	Entity, Wire []byte
	Chunked      bool // it has a chunk segment
	Last         bool // it has the last chunk
}

// rendering turns the segments of a script into bytes.
type rendering struct {
	Renderer
	rpc   string // the request type of messages
	codec string // of messages
}

// anyRPC is the request type of messages in bytes that name no RPC.
const anyRPC = call.ProcessStart

func (r rendering) segments(segments []scenarios.Segment) (Body, error) {
	var out Body
	for i := range segments {
		s := &segments[i]
		if s.Chunk != nil {
			if err := r.chunk(s.Chunk, &out); err != nil {
				return Body{}, err
			}
			continue
		}
		p, err := r.plain(s)
		if err != nil {
			return Body{}, err
		}
		out.Entity = append(out.Entity, p...)
		out.Wire = append(out.Wire, p...)
	}
	return out, nil
}

func (r rendering) plain(s *scenarios.Segment) ([]byte, error) {
	switch {
	case s.Envelope != nil:
		return r.envelope(s.Envelope)
	case s.Gzip != nil:
		return r.packed(s.Gzip)
	case s.Frame != nil:
		return nil, errors.New("an HTTP/2 frame can stand only by itself in a write")
	case s.WS != nil:
		return r.ws(s.WS)
	}
	return r.Bytes(s.Bytes)
}

// chunk appends one HTTP/1.1 chunk, followed by the last chunk if c says so. A chunk
// without content is the last chunk alone, or an empty chunk that Size describes.
func (r rendering) chunk(c *scenarios.Chunk, out *Body) error {
	inner, err := r.segments(c.Of)
	if err != nil {
		return err
	}
	out.Chunked = true
	out.Entity = append(out.Entity, inner.Entity...)
	extension := c.Extension
	if len(inner.Wire) > 0 || c.Size != nil || !c.Last {
		size := int64(len(inner.Wire))
		if c.Size != nil {
			size = *c.Size
		}
		out.Wire = append(out.Wire, strconv.FormatInt(size, 16)+extension+"\r\n"...)
		out.Wire = append(out.Wire, inner.Wire...)
		out.Wire = append(out.Wire, "\r\n"...)
		extension = ""
	}
	if c.Last {
		out.Last = true
		out.Wire = append(out.Wire, "0"+extension+"\r\n\r\n"...)
	}
	return nil
}

// envelope renders one envelope, including its deliberate errors.
func (r rendering) envelope(e *scenarios.Envelope) ([]byte, error) {
	payload, err := r.payload(e)
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

func (r rendering) payload(e *scenarios.Envelope) ([]byte, error) {
	switch {
	case e.Message != nil:
		json, err := r.json(e.Message)
		if err != nil {
			return nil, err
		}
		p, err := call.Encode(call.Text{RPC: r.rpc, JSON: json}, r.codec)
		if err != nil {
			return nil, fmt.Errorf("the message of an envelope for %s cannot be sent as %s: %w", r.rpc, r.codec, err)
		}
		return p, nil
	case e.JSON != nil:
		return r.json(e.JSON)
	case e.Hex != "":
		return r.Bytes(scenarios.Bytes{Hex: &e.Hex})
	}
	return []byte(e.Text), nil
}

// packed renders compressed segments.
func (r rendering) packed(p *scenarios.Packed) ([]byte, error) {
	content, err := r.segments(p.Of)
	if err != nil {
		return nil, err
	}
	out := call.Compress(content.Entity)
	return out[:max(0, len(out)-p.Drop)], nil
}

// chunkedBody frames p as one chunk and the last chunk.
func chunkedBody(p []byte) []byte {
	if len(p) == 0 {
		return []byte("0\r\n\r\n")
	}
	return slices.Concat([]byte(strconv.FormatInt(int64(len(p)), 16)+"\r\n"), p, []byte("\r\n0\r\n\r\n"))
}

// Bytes returns a byte string of a script.
func (r Renderer) Bytes(b scenarios.Bytes) ([]byte, error) {
	if b.JSON != nil {
		return r.json(b.JSON)
	}
	p, set := b.Resolve(nil)
	if !set && !b.IsZero() {
		return nil, errors.New("a byte string of the script cannot be resolved")
	}
	return p, nil
}

// json returns the compact JSON of a value of a script. The keys of objects are sorted, so that the bytes are the same in
// each run. The shell of the target replaces /bin/sh in a /bin/sh -c command.
func (r Renderer) json(v any) ([]byte, error) {
	return call.Marshal(scenarios.InShell(v, r.Target.Shell()))
}
