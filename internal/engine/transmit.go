package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/internal/base/crash"
	"assay/internal/engine/render"
	"assay/internal/target/transport"
)

// begin announces a request on a connection; on HTTP/2 this sends its fields. If there
// is no error, the body must follow. It returns an exchange in any case.
func begin(ctx context.Context, rec *transport.Recorder, conn *transport.Conn, req *render.Request) (*transport.Exchange, error) {
	if !req.HTTP2 {
		return conn.Begin(req.Call), nil
	}
	x, err := conn.Request(ctx, req.Call, len(req.Content) == 0 && req.Missing == 0)
	if x == nil {
		if err == nil {
			err = fmt.Errorf("no stream was opened on connection %d", conn.ID())
		}
		x = rec.Failed(req.Call, conn.ID(), err)
	}
	return x, err
}

// outgoing is the part of a request that remains to be written.
type outgoing struct {
	pieces [][]byte
	pause  time.Duration // between them
	http2  bool          // they are the content of DATA
	open   bool          // the request is not complete after them
}

// transmit writes the pieces of a request, with a pause between them. It ignores errors
// of the connection: reading goes on and records the reason. It gives up a write that
// makes no progress for a moment after the answer was complete.
func (e *env) transmit(ctx context.Context, x *transport.Exchange, out outgoing) error {
	w := e.newWriting(ctx, x)
	defer w.cancel()
	for i, p := range out.pieces {
		if i > 0 && sleep(w.ctx, out.pause) != nil {
			return interrupted(ctx)
		}
		if w.write(p, out.http2, i == len(out.pieces)-1 && !out.open) != nil {
			return interrupted(ctx)
		}
	}
	if !out.open {
		x.MarkSent()
	}
	return nil
}

// writing is the context in which a request is written.
type writing struct {
	ctx    context.Context
	cancel context.CancelFunc
	x      *transport.Exchange
	// turns is odd while a write is under way, and different for each write.
	turns atomic.Int64
}

// newWriting returns a context that ends when a write makes no progress for a moment
// after the answer was complete.
func (e *env) newWriting(ctx context.Context, x *transport.Exchange) *writing {
	w := &writing{x: x}
	w.ctx, w.cancel = context.WithCancel(ctx)
	crash.Go(func() { w.watch(e.readOn()) })
	return w
}

// looks is the number of sleeps in that moment: a stall of the machine uses up one of
// them, and a write can progress during the others.
const looks = 5

func (w *writing) watch(moment time.Duration) {
	select {
	case <-w.x.Done():
	case <-w.ctx.Done():
		return
	}
	for {
		before := w.turns.Load()
		for range looks {
			if sleep(w.ctx, moment/looks) != nil {
				return
			}
		}
		if before%2 == 1 && w.turns.Load() == before {
			w.cancel()
			return
		}
	}
}

// write writes one piece; last ends the stream on HTTP/2.
func (w *writing) write(p []byte, http2, last bool) error {
	w.turns.Add(1)
	defer w.turns.Add(1)
	if http2 {
		return w.x.Data(w.ctx, p, last)
	}
	return w.x.Conn().Write(w.ctx, p)
}

// writeAll writes bytes that belong to no exchange, with a pause between the pieces.
func writeAll(ctx context.Context, conn *transport.Conn, pieces [][]byte, pause time.Duration) error {
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
