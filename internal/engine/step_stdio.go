package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
	"assay/scenarios"
)

// prepareSocket renders the message of a step that speaks over a WebSocket.
func (it *iteration) prepareSocket(st *scenarios.Step, t *scenarios.Target) (action, error) {
	h, err := it.exchange(t.To)
	if err != nil {
		return action{}, err
	}
	if h.conn == nil {
		return action{}, errUnconnected
	}
	var p []byte
	switch {
	case st.Signal != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioSignal(nil, st.Signal.Name))
	case st.Update != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioResize(nil, int(st.Update.Cols), int(st.Update.Rows)))
	case st.CloseStdin != nil:
		p = h.x.SocketFrame(wire.WSText, wire.AppendStdioEOF(nil))
	default:
		data, err := it.render().Bytes(st.Input.Data)
		if err != nil {
			return action{}, err
		}
		p = inputFrames(h.x, data)
	}
	return fires(func(ctx context.Context) error { return it.toSocket(ctx, h, [][]byte{p}, 0) })
}

// maxInput is the longest message of an input; longer input is sent in several.
const maxInput = 32 << 10

func inputFrames(x *transport.Exchange, data []byte) []byte {
	if len(data) == 0 {
		return x.SocketFrame(wire.WSBinary, nil)
	}
	var out bytes.Buffer
	for part := range slices.Chunk(data, maxInput) {
		out.Write(x.SocketFrame(wire.WSBinary, part))
	}
	return out.Bytes()
}

// toSocket writes bytes on a WebSocket. Without one there is nothing to write to: the answer to
// the handshake shows why.
func (it *iteration) toSocket(ctx context.Context, h *handle, pieces [][]byte, pause time.Duration) error {
	if s := h.x.Snapshot(); !s.Switched() {
		return errUnconnected
	}
	return it.in.transmit(ctx, h.x, outgoing{pieces: pieces, pause: pause, open: true})
}

// socketFrameCame reports whether a WebSocket frame that fits came.
func socketFrameCame(m scenarios.WSMatch) func(*transport.Exchange) bool {
	return func(x *transport.Exchange) bool {
		s := x.Snapshot()
		return s.Switched() && slices.ContainsFunc(s.Frames, func(f bundle.Frame) bool {
			return m.Fits(wire.WSOpcode(f.Flags&0xf).String(), f.Head, f.Whole)
		})
	}
}

// opFind is the operation of the lists that look for the process of a WebSocket.
const opFind = "find"

// socketPID finds the process of a WebSocket in the target's list by its mark. It returns
// errExpired if the list never shows it.
func (it *iteration) socketPID(ctx context.Context, h *handle) (uint32, error) {
	mark := it.render().SocketMark(h.name)
	limit := min(it.limit, it.left())
	record := bundle.Await{Step: stepOf(ctx), On: h.name, What: bundle.Wait{Kind: bundle.WaitListed}, Began: it.in.clock.Stamp(), Deadline: int64(limit)}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		over := returned(h.x)
		list, _ := it.in.plain().listed(ctx, it.rec, opFind)
		for _, p := range list {
			if p.mark == mark {
				it.mu.Lock()
				defer it.mu.Unlock()
				h.pid = p.pid
				return p.pid, nil
			}
		}
		if over || sleep(ctx, it.in.poll()) != nil {
			break
		}
	}
	if ctx.Err() != nil && errors.Is(ended(ctx), errInterrupted) {
		return 0, errInterrupted
	}
	record.Ended = it.in.clock.Stamp()
	it.addAwait(record, false)
	return 0, errExpired
}
