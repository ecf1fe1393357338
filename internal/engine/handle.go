package engine

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/internal/transport"
)

// Why the steps of an iteration stop before their end. Any other error of a
// step is a defect of Assay or of the script, never of the target.
var (
	// errExpired: something that was waited for did not come, or cannot come any more.
	errExpired = errors.New("what was waited for did not come")
	// errUnconnected is the errExpired of a connection that could not be opened: its
	// exchange says so already.
	errUnconnected = fmt.Errorf("%w: there is no connection", errExpired)
	// errInterrupted: the run was interrupted.
	errInterrupted = errors.New("the run was interrupted")
)

// handle is something that a step made and a later step names: a connection, or an exchange on one.
type handle struct {
	name string
	x    *transport.Exchange // nil for a connection that was opened
	conn *transport.Conn     // nil when none could be opened
	rpc  string              // of the exchange
	form call.Form           // of its request
	tag  string              // of a start
	had  int64               // bytes received on conn before the exchange began
	// missing is what the request still lacks, see request.missing; iteration.mu guards it.
	missing int64
	chunked bool // the request is framed in chunks
	// blamed is set when a wait for the exchange itself ended at its deadline.
	blamed bool
}

// put makes h known under its name; a later one of that name hides an earlier one.
func (it *iteration) put(h *handle) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.handles = append(it.handles, h)
	it.byName[h.name] = h
}

// handle finds what a step names.
func (it *iteration) handle(name string) (*handle, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if h := it.byName[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("no earlier step is named %q", name)
}

// exchange finds an exchange that a step names.
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

// connection finds the connection of what a step names. It is errUnconnected when
// it could not be opened: there is nothing to act on.
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

// goOn notes that n more bytes of a request's body are sent, and whether they are
// the last ones. open reports that more is to come.
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

// halfClose ends what we send: END_STREAM on the stream of an exchange, where its
// request does not have it yet; else FIN on the connection.
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

// cancel ends an exchange on the script's behalf: with RST_STREAM(CANCEL) on
// HTTP/2, with FIN on HTTP/1.1. The frame is on its way when cancel returns, so that it also
// goes out when the script ends with it.
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

// underWay is the exchange of a handle that has not returned, or nil. On a
// connection that was opened by itself it is the one that raw bytes began.
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

// all is a copy of the handles in the order in which they came.
func (it *iteration) all() []*handle {
	it.mu.Lock()
	defer it.mu.Unlock()
	return append([]*handle(nil), it.handles...)
}

// pid waits for the start event of the process that was started as h.
func (it *iteration) pid(ctx context.Context, h *handle) (uint32, error) {
	if h.x == nil {
		return 0, fmt.Errorf("%q is a connection: it has no pid", h.name)
	}
	w := it.onExchange(h, "pid", func(s *bundle.Exchange) bool { return pidOf(s) != 0 })
	if err := it.wait(ctx, w); err != nil {
		return 0, err
	}
	s := h.x.Snapshot()
	return pidOf(&s), nil
}

// pidOf is the pid that the first start event of an exchange gave, or 0.
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
