package engine

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
)

// The reasons why the steps of an iteration stop early. Any other error of a step is a
// defect of Assay or of the script, never of the target.
var (
	// errExpired: an awaited condition did not come, or can no longer come.
	errExpired = errors.New("the awaited condition did not come")
	// errUnconnected is the errExpired of a connection that could not be opened; its
	// exchange already records that.
	errUnconnected = fmt.Errorf("%w: no connection", errExpired)
	// errInterrupted: the run was interrupted.
	errInterrupted = errors.New("the run was interrupted")
)

// handle is a connection, or an exchange on one, that a step made and a later step can
// name.
type handle struct {
	name string
	x    *transport.Exchange // nil for a connection that was opened
	conn *transport.Conn     // nil when none could be opened
	rpc  string              // of the exchange
	form call.Form           // of its request
	tag  string              // of a start
	pid  uint32              // of the process of a WebSocket, once it was found
	// socket is set for the handshake of a WebSocket, and what follows it.
	socket bool
	had    int64 // bytes received on conn before the exchange began
	// missing is what the request still lacks (see request.missing); iteration.mu
	// guards it.
	missing int64
	chunked bool // the request is framed in chunks
	// blamed is set when a wait for the exchange itself ended at its deadline.
	blamed bool
	// apart is set if the request went to a sandbox or to the control plane. What it started ends
	// with its sandbox.
	apart bool
}

// put registers h under its name and hides an earlier handle of that name.
func (it *iteration) put(h *handle) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.handles = append(it.handles, h)
	it.byName[h.name] = h
}

// handle returns the handle of a name.
func (it *iteration) handle(name string) (*handle, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if h := it.byName[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("no earlier step is named %q", name)
}

// exchange returns the exchange of a name.
func (it *iteration) exchange(name string) (*handle, error) {
	h, err := it.handle(name)
	if err != nil {
		return nil, err
	}
	if h.x == nil {
		return nil, fmt.Errorf("%q is a connection, not an exchange", name)
	}
	return h, nil
}

// connection returns the connection of a name. It returns errUnconnected if the
// connection could not be opened.
func (it *iteration) connection(name string) (*handle, error) {
	h, err := it.handle(name)
	if err != nil {
		return nil, err
	}
	if h.conn == nil {
		return nil, errUnconnected
	}
	return h, nil
}

// goOn records that n more bytes of a request's body are sent, and whether they are the
// last. open reports whether more must follow.
func (it *iteration) goOn(h *handle, n int, last bool) (open bool) {
	it.mu.Lock()
	defer it.mu.Unlock()
	switch {
	case last:
		h.missing = 0
	case h.missing > 0:
		h.missing = max(0, h.missing-int64(n))
	}
	return h.missing != 0
}

// halfClose ends our side: with END_STREAM on the stream of an exchange whose request
// still lacks it, otherwise with FIN on the connection.
func (it *iteration) halfClose(ctx context.Context, h *handle) {
	if h.x == nil || !h.conn.HTTP2() {
		h.conn.Close(closeHalf)
		return
	}
	it.mu.Lock()
	open := h.missing != 0
	h.missing = 0
	it.mu.Unlock()
	if open && h.x.Data(ctx, nil, true) == nil {
		h.x.MarkSent()
	}
}

// codeCancel is the HTTP/2 error code CANCEL (RFC 9113, 7).
const codeCancel = 8

// cancel ends an exchange on the script's behalf: with RST_STREAM(CANCEL) on HTTP/2,
// with FIN on HTTP/1.1. It returns after the frame is on its way, so that the frame is
// also sent when the script ends with it.
func (h *handle) cancel(ctx context.Context) {
	h.x.Abort()
	if stream := h.x.Snapshot().Stream; stream != 0 && !returned(h.x) {
		p, err := h.conn.FrameBytes(transport.Frame{Type: "RST_STREAM", Stream: stream, Code: codeCancel})
		if err == nil && h.conn.Write(ctx, p) == nil {
			return
		}
	}
	h.x.Cancel(codeCancel)
}

// underWay returns the exchange of a handle that has not returned, or nil. On a raw
// connection that is the exchange that raw bytes began.
func (h *handle) underWay() *transport.Exchange {
	x := h.x
	if x == nil && h.conn != nil {
		x = h.conn.Raw()
	}
	if x == nil || returned(x) {
		return nil
	}
	return x
}

// all returns a copy of the handles in the order of their creation.
func (it *iteration) all() []*handle {
	it.mu.Lock()
	defer it.mu.Unlock()
	return append([]*handle(nil), it.handles...)
}

// pid waits for the start event of the process that h started.
func (it *iteration) pid(ctx context.Context, h *handle) (uint32, error) {
	if h.x == nil {
		return 0, fmt.Errorf("%q is a connection, which has no pid", h.name)
	}
	if s := h.x.Snapshot(); s.Shape == bundle.ShapeStdio {
		return it.socketPID(ctx, h)
	}
	w := it.onExchange(h, bundle.Wait{Kind: bundle.WaitPID}, func(s *bundle.Exchange) bool { return pidOf(s) != 0 })
	if err := it.wait(ctx, w); err != nil {
		return 0, err
	}
	s := h.x.Snapshot()
	return pidOf(&s), nil
}

// pidOf returns the pid of an exchange's first start event, or 0.
func pidOf(x *bundle.Exchange) uint32 {
	for i := range x.Events {
		if x.Events[i].Kind == bundle.EventStart {
			return x.Events[i].PID
		}
	}
	return 0
}

// returned reports whether an exchange has ended.
func returned(x *transport.Exchange) bool {
	select {
	case <-x.Done():
		return true
	default:
		return false
	}
}
