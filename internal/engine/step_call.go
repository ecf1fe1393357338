package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/scenarios"
)

// What a step waits for before the next one runs.
const (
	waitEnd   = "end"
	waitHead  = "head"
	waitStart = "start"
	waitNone  = "none"
)

// callPlan is what a step that makes a request says about it.
type callPlan struct {
	op, as string
	build  func(context.Context) (request, error)
	split  *scenarios.Split
	on     string // an earlier connection instead of a new one
	finish string // how the connection is ended after the request
	wait   string
	within scenarios.Span
	tag    *string // of a start, for later steps
}

// call is a request on its connection, ready to go.
type call struct {
	it     *iteration
	plan   callPlan
	req    request
	pieces [][]byte
	pause  time.Duration
	conn   *transport.Conn
	failed error // the connection could not be opened
	h      *handle
}

// prepareCall renders the request and opens its connection.
func (it *iteration) prepareCall(ctx context.Context, st *scenarios.Step, as string, p callPlan) (action, error) {
	req, err := p.build(ctx)
	if err != nil {
		return action{}, err
	}
	req.Name = cmp.Or(p.as, as, p.op)
	req.Step = st.At
	req.Op = p.op
	c := &call{it: it, plan: p, req: req, pieces: req.pieces(p.split)}
	c.h = &handle{name: req.Name}
	if p.tag != nil {
		if c.h.tag, err = it.expand(ctx, *p.tag); err != nil {
			return action{}, err
		}
	}
	if p.split != nil {
		c.pause = p.split.Pause.Resolve(it.in.cal)
	}
	if err := c.connect(ctx); err != nil {
		return action{}, err
	}
	return action{fire: c.fire, settle: c.settle}, nil
}

func (c *call) connect(ctx context.Context) error {
	if c.plan.on != "" {
		h, err := c.it.connection(c.plan.on)
		if err != nil {
			return err
		}
		c.conn = h.conn
		return nil
	}
	conn, err := transport.Dial(ctx, c.it.rec, c.req.Name, c.it.in.target.Addr())
	if err != nil {
		c.failed = err
		return nil
	}
	c.conn = conn
	return nil
}

// fire sends the request. That the target does not take it is the target's
// business: its answer, or the end of the connection, is what is recorded.
func (c *call) fire(ctx context.Context) error {
	if c.failed != nil {
		c.h.x = c.it.rec.Failed(c.req.Call, failedConn(c.failed), c.failed)
		c.it.put(c.h)
		return interrupted(ctx)
	}
	c.h.conn = c.conn
	c.h.had, _ = c.conn.Received()
	c.h.x = c.conn.Begin(c.req.Call)
	c.it.put(c.h)
	if err := c.it.writeAll(ctx, c.conn, c.pieces, c.pause); err != nil {
		return err
	}
	c.h.x.MarkSent()
	switch c.plan.finish {
	case "":
	case closeHalf:
		c.conn.Close(closeHalf)
	default:
		c.h.x.Abort()
		c.conn.Close(c.plan.finish)
	}
	return nil
}

// settle waits as the step says.
func (c *call) settle(ctx context.Context) error {
	h := c.h
	if c.plan.finish == closeFIN || c.plan.finish == closeRST {
		return nil
	}
	w := c.it.onExchange(h, "end of the answer", func(s *bundle.Exchange) bool { return false })
	switch c.plan.wait {
	case waitNone:
		return nil
	case waitHead:
		w.what = "head"
		w.met = func() bool { return h.x.Snapshot().Response != nil }
	case waitStart:
		w.what = "event start"
		w.met = func() bool { s := h.x.Snapshot(); return hasEvent(&s, bundle.EventStart) }
	case waitEnd, "":
	default:
		return fmt.Errorf("wait %q is not one of end, head, start, none", c.plan.wait)
	}
	w.endIsEnough = true
	w.within = c.plan.within.Deadline(c.it.in.cal)
	return c.it.wait(ctx, w)
}

// writeAll writes pieces, with a pause between them. An error of the
// connection is not ours: reading goes on, and sees why.
func (it *iteration) writeAll(ctx context.Context, conn *transport.Conn, pieces [][]byte, pause time.Duration) error {
	for i, p := range pieces {
		if i > 0 {
			if err := sleep(ctx, pause); err != nil {
				return err
			}
		}
		if err := conn.Write(ctx, p); err != nil {
			return interrupted(ctx)
		}
	}
	return nil
}

// interrupted is nil unless ctx has ended.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return ended(ctx)
}

// failedConn is the id under which the attempt to connect is recorded, or -1.
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
