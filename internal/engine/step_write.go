package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/transport"
	"assay/scenarios"
)

// rawRPC is the request type of messages in raw writes, which name no RPC.
const rawRPC = call.ProcessStart

// prepareWrite renders the content of a write step: bytes and HTTP/2 frames for a
// connection, or the next part of the body for an exchange whose request is incomplete.
func (it *iteration) prepareWrite(ctx context.Context, st *scenarios.Step) (action, error) {
	w := st.Write
	h, err := it.connection(w.To)
	if err != nil {
		return action{}, err
	}
	r := rendering{it: it, rpc: rawRPC, codec: it.in.axes.Codec}
	if h.x != nil {
		r.rpc, r.codec = cmp.Or(h.rpc, rawRPC), h.form.Codec
	}
	parts, err := r.parts(ctx, w.Of)
	if err != nil {
		return action{}, err
	}
	it.noteConnect(h.conn, parts)
	out := write{it: it, h: h, parts: parts, split: w.Split}
	if w.Split != nil {
		out.pause = w.Split.Pause.Resolve(it.in.cal)
	}
	return fires(func(ctx context.Context) error {
		if w.Shape != "" {
			h.conn.SetShape(bundle.Shape(w.Shape), it.in.axes.Codec)
		}
		if h.x != nil {
			if s := h.x.Snapshot(); s.Shape == bundle.ShapeStdio {
				p, err := out.bytes(0)
				if err != nil {
					return err
				}
				return it.toSocket(ctx, h, cut(p, out.split), out.pause)
			}
		}
		switch {
		case h.x == nil:
			return out.toConn(ctx)
		case h.conn.HTTP2():
			return out.toStream(ctx)
		}
		return out.toBody(ctx)
	})
}

// part is a piece of a write: one frame, or the bytes of the segments between frames.
type part struct {
	frame *transport.Frame
	rendered
}

// parts renders segments and keeps frames separate: their bytes depend on what was sent
// before.
func (r rendering) parts(ctx context.Context, segments []scenarios.Segment) ([]part, error) {
	var parts []part
	for len(segments) > 0 {
		if f := segments[0].Frame; f != nil {
			frame, err := r.frame(ctx, f)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part{frame: &frame})
			segments = segments[1:]
			continue
		}
		n := slices.IndexFunc(segments, func(s scenarios.Segment) bool { return s.Frame != nil })
		if n < 0 {
			n = len(segments)
		}
		out, err := r.segments(ctx, segments[:n])
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{rendered: out})
		segments = segments[n:]
	}
	return parts, nil
}

// frame renders one HTTP/2 frame by field. An :authority without a value is the
// target's, and a :path is relative to the target's base path.
func (r rendering) frame(ctx context.Context, f *scenarios.Frame) (transport.Frame, error) {
	payload, err := r.segments(ctx, f.Of)
	if err != nil {
		return transport.Frame{}, err
	}
	out := transport.Frame{
		Type: f.Type, Flags: byte(f.Flags), Stream: f.Stream, Settings: f.Settings,
		Code: f.Code, Last: f.Last, Add: f.Add, Payload: payload.wire, Length: f.Length,
	}
	for _, field := range f.Fields {
		value, err := r.it.expand(ctx, field.Value)
		if err != nil {
			return transport.Frame{}, fmt.Errorf("field %s: %w", field.Name, err)
		}
		switch {
		case field.Name == ":authority" && value == "":
			value = r.it.in.target.Authority()
		case field.Name == ":path" && strings.HasPrefix(value, "/"):
			value = r.it.in.target.Path("", value)
		}
		out.Fields = append(out.Fields, bundle.Header{Name: field.Name, Value: value})
	}
	return out, nil
}

// noteConnect records that a connection carries a call to Connect, whose process is not
// ours.
func (it *iteration) noteConnect(conn *transport.Conn, parts []part) {
	connects := func(p part) bool {
		if p.frame == nil {
			return bytes.Contains(p.wire, []byte(call.ProcessConnect))
		}
		return slices.ContainsFunc(p.frame.Fields, func(h bundle.Header) bool { return strings.HasSuffix(h.Value, call.ProcessConnect) })
	}
	if slices.ContainsFunc(parts, connects) {
		it.mu.Lock()
		defer it.mu.Unlock()
		it.attached[conn.ID()] = true
	}
}

// write is a prepared write step.
type write struct {
	it    *iteration
	h     *handle
	parts []part
	split *scenarios.Split
	pause time.Duration
}

// bytes renders the parts for the wire; frames without a stream get the given one.
func (w *write) bytes(stream uint32) ([]byte, error) {
	var p []byte
	for _, part := range w.parts {
		if part.frame == nil {
			p = append(p, part.wire...)
			continue
		}
		frame, err := w.frameBytes(*part.frame, stream)
		if err != nil {
			return nil, err
		}
		p = append(p, frame...)
	}
	return p, nil
}

func (w *write) frameBytes(f transport.Frame, stream uint32) ([]byte, error) {
	if f.Stream == 0 && !slices.Contains([]string{"SETTINGS", "PING", "GOAWAY", "preface"}, f.Type) {
		f.Stream = stream
	}
	p, err := w.h.conn.FrameBytes(f)
	if err != nil {
		return nil, fmt.Errorf("HTTP/2 frame %s: %w", f.Type, err)
	}
	return p, nil
}

// toConn writes bytes that belong to no exchange.
func (w *write) toConn(ctx context.Context) error {
	p, err := w.bytes(0)
	if err != nil {
		return err
	}
	return writeAll(ctx, w.h.conn, cut(p, w.split), w.pause)
}

// toBody continues the body of a request on HTTP/1.1. Each write becomes one chunk if
// the body is framed in chunks and the script has none of its own.
func (w *write) toBody(ctx context.Context) error {
	p, err := w.bytes(0)
	if err != nil {
		return err
	}
	all := w.whole()
	if w.h.chunked && !all.chunked && len(p) > 0 {
		p = slices.Concat([]byte(strconv.FormatInt(int64(len(p)), 16)+"\r\n"), p, []byte("\r\n"))
	}
	open := w.it.goOn(w.h, len(all.entity), all.last)
	return w.it.in.transmit(ctx, w.h.x, outgoing{pieces: cut(p, w.split), pause: w.pause, open: open})
}

// whole joins the parts that are not frames.
func (w *write) whole() rendered {
	var all rendered
	for _, p := range w.parts {
		all.entity = append(all.entity, p.entity...)
		all.chunked = all.chunked || p.chunked
		all.last = all.last || p.last
	}
	return all
}

// toStream continues the body of a request on HTTP/2: bytes become DATA and a last
// chunk becomes END_STREAM. Frames are sent as they are, on the exchange's stream
// unless they name another.
func (w *write) toStream(ctx context.Context) error {
	stream := w.h.x.Snapshot().Stream
	for _, p := range w.parts {
		if p.frame != nil {
			raw, err := w.frameBytes(*p.frame, stream)
			if err != nil {
				return err
			}
			if err := writeAll(ctx, w.h.conn, [][]byte{raw}, 0); err != nil {
				return err
			}
			continue
		}
		open := w.it.goOn(w.h, len(p.entity), p.last)
		out := outgoing{pieces: cut(p.entity, w.split), pause: w.pause, http2: true, open: open}
		if err := w.it.in.transmit(ctx, w.h.x, out); err != nil {
			return err
		}
	}
	return nil
}
