package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"

	"assay/internal/record/bundle"
	"assay/internal/wire/h2"
)

// request records an exchange and sends HEADERS; see Conn.Request.
func (h *mux) request(ctx context.Context, call Call, end bool) (*Exchange, error) {
	c := h.conn
	fields := h2Fields(call, h.scheme)
	call.Headers = fields[beforeAuthority:]
	c.mu.Lock()
	x := c.newExchange(call)
	for _, v := range h.loose {
		x.violate(inHTTP, v)
	}
	h.loose = nil
	h.waiting[x] = true
	c.mu.Unlock()
	err := h.open(ctx, x, h2.EncodeFields(wireFields(fields)...), end)
	c.mu.Lock()
	delete(h.waiting, x)
	c.mu.Unlock()
	return x, err
}

// beforeAuthority is the number of leading fields that are not recorded as headers.
const beforeAuthority = 3

// h2Fields returns the fields of an HTTP/2 request.
func h2Fields(call Call, scheme string) []bundle.Header {
	fields := []bundle.Header{{Name: ":method", Value: call.Method}, {Name: ":scheme", Value: scheme}, {Name: ":path", Value: call.Path}}
	for _, f := range call.Headers {
		if strings.EqualFold(f.Name, "host") {
			fields = append(fields, bundle.Header{Name: ":authority", Value: f.Value})
			break
		}
	}
	for _, f := range call.Headers {
		name := strings.ToLower(f.Name)
		if name != "host" && !isConnectionField(name) {
			fields = append(fields, bundle.Header{Name: name, Value: f.Value})
		}
	}
	return fields
}

// open waits until another stream is allowed and sends HEADERS.
func (h *mux) open(ctx context.Context, x *Exchange, block []byte, end bool) error {
	c := h.conn
	for {
		c.writing.Lock()
		c.mu.Lock()
		if err := h.refusal(x); err != nil {
			c.mu.Unlock()
			c.writing.Unlock()
			return err
		}
		if uint64(len(h.streams)) < uint64(h.maxStreams) {
			break // holding both locks
		}
		changed := c.changed.wait()
		full := fmt.Sprintf("%d streams are open and MAX_CONCURRENT_STREAMS is %d", len(h.streams), h.maxStreams)
		c.mu.Unlock()
		c.writing.Unlock()
		select {
		case <-changed:
		case <-x.done:
		case <-ctx.Done():
			x.GiveUp(bundle.OutcomeNoAnswer, "the request was never sent: "+full)
			return fmt.Errorf("request on %s: %s: %w", c.meta.Remote, full, ctx.Err())
		}
	}
	st := &stream{id: h.nextID, x: x, sendWindow: h.initialWindow, recvWindow: h.own.window, length: -1}
	h.nextID += 2
	h.streams[st.id] = st
	delete(h.waiting, x)
	x.rec.Stream = st.id
	err := c.writeNoted(ctx, h2.Block{Stream: st.id, Fields: h.table.Block(block), EndStream: end}.Append(nil, h.maxFrame)) // gives up c.mu
	c.writing.Unlock()
	if err == nil && end {
		x.MarkSent()
	}
	return err
}

// refusal returns why no request can be sent any more, and ends the exchange for that reason.
func (h *mux) refusal(x *Exchange) error {
	c := h.conn
	outcome := bundle.OutcomeClosed
	var why string
	switch {
	case x.over:
		return fmt.Errorf("request on %s: the exchange is over: %w", c.meta.Remote, ErrEnded)
	case c.closed, c.silent, c.half:
		x.rec.Aborted = true
		outcome, why = bundle.OutcomeAborted, "we had ended the connection before the request"
	case c.lostAt >= 0:
		outcome, why = bundle.OutcomeGarbage, "the peer had broken HTTP/2 on the connection: "+h.fatal
	case h.goAway != nil:
		why = "the peer had sent GOAWAY before the request (" + h.goAway.detail + ")"
	case c.peerClosed:
		why = "the peer had closed the connection before the request"
	case c.sendBroken:
		x.rec.Aborted = true
		outcome, why = bundle.OutcomeAborted, "we had cut an earlier write on the connection"
	case h.nextID > h2.MaxWindow:
		outcome, why = bundle.OutcomeAborted, "the connection has no stream ids left"
	default:
		return nil
	}
	x.end(outcome, why)
	return fmt.Errorf("request on %s: %s: %w", c.meta.Remote, why, ErrEnded)
}

// data sends p in frames; see Exchange.Data.
func (h *mux) data(ctx context.Context, x *Exchange, p []byte, end bool) error {
	for {
		n, wait, err := h.sendData(ctx, x, p, end)
		switch {
		case err != nil:
			return fmt.Errorf("DATA to %s: %w", h.conn.meta.Remote, err)
		case wait == nil:
			if p = p[n:]; len(p) > 0 {
				continue
			}
			if end {
				x.MarkSent()
			}
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return fmt.Errorf("DATA to %s: no window for %d bytes: %w", h.conn.meta.Remote, len(p), ctx.Err())
		}
	}
}

// sendData sends one frame: as much of p as the windows allow. Without window it
// returns a channel to wait for.
func (h *mux) sendData(ctx context.Context, x *Exchange, p []byte, end bool) (n int, wait <-chan struct{}, err error) {
	c := h.conn
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	st := h.streams[x.rec.Stream]
	switch {
	case c.closed, c.silent, c.half, c.sendBroken, c.peerClosed, c.lostAt >= 0:
		err = ErrEnded
	case st == nil || st.x != x:
		err = fmt.Errorf("%w: stream %d is closed", ErrStreamEnded, x.rec.Stream)
	case st.sentEnd:
		err = fmt.Errorf("%w: we have sent END_STREAM on stream %d", ErrStreamEnded, st.id)
	}
	if err != nil {
		c.mu.Unlock()
		return 0, nil, err
	}
	n = int(min(int64(len(p)), int64(h.maxFrame), h.sendWindow, st.sendWindow))
	if n <= 0 && len(p) > 0 {
		wait = c.changed.wait()
		c.mu.Unlock()
		return 0, wait, nil
	}
	h.sendWindow -= int64(n)
	st.sendWindow -= int64(n)
	last := end && n == len(p)
	err = c.writeNoted(ctx, h2.AppendData(make([]byte, 0, h2.HeaderLen+n), st.id, p[:n], last)) // gives up c.mu
	if last {
		c.mu.Lock()
		if st.gotEnd {
			h.forget(st)
		}
		c.mu.Unlock()
	}
	return n, nil, err
}

// ErrStreamEnded is wrapped by Data on a stream that has ended.
var ErrStreamEnded = errors.New("the stream has ended")

// cancel resets the stream of an exchange, on a raw connection too.
func (h *mux) cancel(x *Exchange, code uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rec.Aborted = x.rec.Aborted || !x.over
	x.end(bundle.OutcomeAborted, "the script reset the stream ("+h2.CodeName(http2.ErrCode(code))+")")
	st := h.streams[x.rec.Stream]
	if st == nil || st.x != x {
		return
	}
	st.cancelled = true
	h.forget(st)
	h.enqueue(h2.AppendReset(nil, st.id, http2.ErrCode(code)))
}

// hold keeps window back from the stream of an exchange.
func (h *mux) hold(x *Exchange, on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	st := h.streams[x.rec.Stream]
	if st == nil || st.x != x {
		return
	}
	st.held = on
	if !on {
		h.giveBack(st, 0)
	}
}
