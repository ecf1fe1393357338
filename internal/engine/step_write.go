package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// prepareWrite renders the content of a write step: bytes and HTTP/2 frames for a
// connection, or the next part of the body for an exchange whose request is incomplete.
func (it *iteration) prepareWrite(st *scenarios.Step) (action, error) {
	w := st.Write
	h, err := it.connection(w.To)
	if err != nil {
		return action{}, err
	}
	codec := it.in.axes.Codec
	if h.x != nil {
		codec = h.form.Codec
	}
	parts, err := it.render().Parts(h.rpc, codec, w.Of)
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
		if h.x != nil && h.conn.HTTP2() {
			return out.toStream(ctx)
		}
		return out.toConn(ctx)
	})
}

// noteConnect records that a connection carries a call to Connect, whose process is not
// ours.
func (it *iteration) noteConnect(conn *transport.Conn, parts []render.Part) {
	connects := func(p render.Part) bool {
		if p.Frame == nil {
			return bytes.Contains(p.Wire, []byte(call.ProcessConnect))
		}
		return slices.ContainsFunc(p.Frame.Fields, func(h bundle.Header) bool { return strings.HasSuffix(h.Value, call.ProcessConnect) })
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
	parts []render.Part
	split *scenarios.Split
	pause time.Duration
}

// frameBytes renders a frame; one without a stream gets the given one.
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

// toConn writes all parts as bytes: of no exchange, on a WebSocket, or as more of the body of a request on HTTP/1.1. There a
// write becomes one chunk if the body is framed in chunks and the script has none of its own.
func (w *write) toConn(ctx context.Context) error {
	var p []byte
	content, chunked, last := 0, false, false
	for _, part := range w.parts {
		raw := part.Wire
		if part.Frame != nil {
			var err error
			if raw, err = w.frameBytes(*part.Frame, 0); err != nil {
				return err
			}
		}
		p = append(p, raw...)
		content += len(part.Entity)
		chunked, last = chunked || part.Chunked, last || part.Last
	}
	h := w.h
	if h.chunked && !chunked && len(p) > 0 {
		p = slices.Concat([]byte(strconv.FormatInt(int64(len(p)), 16)+"\r\n"), p, []byte("\r\n"))
	}
	pieces := render.Cut(p, w.split)
	switch {
	case h.x == nil:
		return writeAll(ctx, h.conn, pieces, w.pause)
	case h.socket:
		return w.it.toSocket(ctx, h, pieces, w.pause)
	}
	return w.it.in.transmit(ctx, h.x, outgoing{pieces: pieces, pause: w.pause, open: w.it.goOn(h, content, last)})
}

// toStream continues the body of a request on HTTP/2: bytes become DATA and a last
// chunk becomes END_STREAM. Frames are sent as they are, on the exchange's stream
// unless they name another.
func (w *write) toStream(ctx context.Context) error {
	stream := w.h.x.Snapshot().Stream
	for _, p := range w.parts {
		if p.Frame != nil {
			raw, err := w.frameBytes(*p.Frame, stream)
			if err != nil {
				return err
			}
			if err := writeAll(ctx, w.h.conn, [][]byte{raw}, 0); err != nil {
				return err
			}
			continue
		}
		open := w.it.goOn(w.h, len(p.Entity), p.Last)
		out := outgoing{pieces: render.Cut(p.Entity, w.split), pause: w.pause, http2: true, open: open}
		if err := w.it.in.transmit(ctx, w.h.x, out); err != nil {
			return err
		}
	}
	return nil
}
