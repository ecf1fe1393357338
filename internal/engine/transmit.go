package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"assay/internal/transport"
)

// begin announces a request on a connection; on HTTP/2 its fields are sent with
// that. Without an error the body is to follow. The exchange is there in any case.
func begin(ctx context.Context, rec *transport.Recorder, conn *transport.Conn, req *request) (*transport.Exchange, error) {
	if !req.http2 {
		return conn.Begin(req.Call), nil
	}
	x, err := conn.Request(ctx, req.Call, len(req.body) == 0 && req.missing == 0)
	if x == nil {
		if err == nil {
			err = fmt.Errorf("no stream was opened on connection %d", conn.ID())
		}
		x = rec.Failed(req.Call, conn.ID(), err)
	}
	return x, err
}

// outgoing is what is to be written of a request.
type outgoing struct {
	pieces [][]byte
	pause  time.Duration // between them
	http2  bool          // they are the content of DATA
	open   bool          // the request is not complete with them
}

// transmit writes the pieces of a request, with a pause between them. An error of
// the connection is not ours: reading goes on, and sees why. A write that the
// target does not take although its answer is complete is given up after a moment.
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
	// turns is odd while a write is under way, and another number for each of them.
	turns atomic.Int64
}

// newWriting ends the context when a write makes no progress for a moment
// after the answer was complete.
func (e *env) newWriting(ctx context.Context, x *transport.Exchange) *writing {
	w := &writing{x: x}
	w.ctx, w.cancel = context.WithCancel(ctx)
	go w.watch(e.readOn())
	return w
}

// looks is how many parts a moment is waited in, so that a write goes on in the others.
const looks = 5

func (w *writing) watch(moment time.Duration) {
	select {
	case <-w.x.Done():
	case <-w.ctx.Done():
		return
	}
	for {
		before := w.turns.Load()
		for range looks { // of which a machine that stands still takes one
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
