package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/engine/render"
	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/scenarios"
)

// invocation is a request on its connection, ready to go.
type invocation struct {
	it     *iteration
	plan   render.Plan
	form   call.Form
	req    render.Request
	pieces [][]byte
	pause  time.Duration
	conn   *transport.Conn // of plan.On, or a new one; nil when it could not be opened
	failed error           // why there is no connection
	h      *handle
}

// prepareCall renders the request and opens its connection.
func (it *iteration) prepareCall(ctx context.Context, st *scenarios.Step, as string, p render.Plan) (action, error) {
	c := &invocation{it: it, plan: p, form: it.in.form()}
	c.form.Protocol = cmp.Or(p.Protocol, c.form.Protocol)
	if p.HTTP1 {
		c.form.HTTP = transport.HTTP1
	}
	if err := c.reuse(); err != nil {
		return action{}, err
	}
	var err error
	if c.req, err = p.Request(c.form); err != nil {
		return action{}, err
	}
	c.req.Name = cmp.Or(p.As, as, p.Op)
	c.req.Step = st.At
	c.req.Op = p.Op
	c.req.Sandbox = st.In()
	c.pieces = c.req.Pieces(p.Split)
	c.h = &handle{name: c.req.Name, rpc: c.req.RPC, form: c.form, missing: c.req.Missing, chunked: c.req.Chunked, socket: c.req.Shape == bundle.ShapeStdio, apart: it.in.target != it.in.env.target}
	if p.Tag != nil {
		c.h.tag = *p.Tag
	}
	if p.Split != nil {
		c.pause = p.Split.Pause.Resolve(it.in.cal)
	}
	if c.conn == nil {
		c.conn, c.failed = it.in.dial(ctx, it.rec, c.req.Name, c.form.HTTP)
	}
	return action{fire: c.fire, wait: c.wait}, nil
}

// reuse takes the connection that the step names. The request then has the form that
// this connection speaks, whatever the axes are.
func (c *invocation) reuse() error {
	if c.plan.On == "" {
		return nil
	}
	h, err := c.it.connection(c.plan.On)
	if err != nil {
		return err
	}
	c.conn = h.conn
	if c.conn.HTTP2() != c.form.HTTP2() {
		c.form.HTTP = transport.HTTP1
		if c.conn.HTTP2() {
			c.form.HTTP = c.it.in.http2()
		}
	}
	return nil
}

// fire sends the request. A target that does not accept it is no error here: its
// answer, or the end of the connection, is recorded.
func (c *invocation) fire(ctx context.Context) error {
	if c.failed != nil {
		c.h.x = c.it.rec.Failed(c.req.Call, failedConn(c.failed), c.failed)
		c.it.put(c.h)
		return interrupted(ctx)
	}
	c.h.conn = c.conn
	c.h.had, _ = c.conn.Received()
	x, err := begin(ctx, c.it.rec, c.conn, &c.req)
	c.h.x = x
	c.it.put(c.h)
	if err != nil {
		return interrupted(ctx)
	}
	out := outgoing{pieces: c.pieces, pause: c.pause, http2: c.req.HTTP2, open: c.req.Missing != 0}
	if err := c.it.in.transmit(ctx, x, out); err != nil {
		return err
	}
	return c.finish(ctx)
}

// finish ends the request, the stream or the connection, as the step says.
func (c *invocation) finish(ctx context.Context) error {
	switch c.plan.Finish {
	case "":
	case closeHalf:
		c.it.halfClose(ctx, c.h)
	case closeCancel:
		c.h.cancel(ctx)
	default:
		c.h.x.Abort()
		c.conn.Close(c.plan.Finish)
	}
	return nil
}

// wait waits for the part of the answer that the step names.
func (c *invocation) wait(ctx context.Context) error {
	h := c.h
	switch c.plan.Finish {
	case closeFIN, closeRST, closeCancel:
		return nil
	}
	w := c.it.onExchange(h, whatEnd, func(*bundle.Exchange) bool { return false })
	switch c.plan.Wait {
	case render.WaitNone:
		return nil
	case render.WaitHead:
		w.what.Kind = bundle.WaitHead
		w.met = func() bool { return h.x.Snapshot().Response != nil }
	case render.WaitStart:
		w.what = bundle.Wait{Kind: bundle.WaitEvent, Of: string(bundle.EventStart)}
		if c.req.Shape == bundle.ShapeStdio {
			w.what = bundle.Wait{Kind: bundle.WaitUpgrade}
		}
		w.met = func() bool { s := h.x.Snapshot(); return hasEvent(&s, bundle.EventStart) || s.Switched() }
	case render.WaitEnd, "":
	default:
		return fmt.Errorf("wait %q is not one of end, head, start, none", c.plan.Wait)
	}
	w.endIsEnough = true
	w.within = c.plan.Within.Deadline(c.it.in.cal)
	return c.it.wait(ctx, w)
}

// interrupted is nil unless ctx has ended.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return ended(ctx)
}

// failedConn returns the id under which the attempt to connect is recorded, or -1.
func failedConn(err error) int {
	var dial *transport.DialError
	if errors.As(err, &dial) {
		return dial.Conn
	}
	return -1
}

func hasEvent(x *bundle.Exchange, kind bundle.EventKind) bool {
	for i := range x.Events {
		if x.Events[i].Kind == kind {
			return true
		}
	}
	return false
}
