package target

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"assay/internal/bundle"
	"assay/internal/transport"
	"assay/internal/wire"
)

// client makes well-formed calls. What it records is thrown away in the end.
type client struct {
	target *Target
	rec    *transport.Recorder
	what   string // calibrate or probe, for the User-Agent and the mark of processes
}

func (t *Target) newClient(clock *transport.Clock, what string) *client {
	return &client{target: t, rec: transport.NewRecorder(clock, t.Secrets()), what: what}
}

// close ends every connection.
func (c *client) close() { c.rec.Finish(nil) }

// request is one call in the terms of HTTP.
type request struct {
	method, surface, path string
	rpc                   string
	shape                 bundle.Shape
	codec                 string
	headers               []bundle.Header // beside the target's, which they replace
	body                  []byte
}

// rpcRequest is a call of an RPC in a codec, its message as JSON text.
func rpcRequest(rpc, codec, message string, headers ...bundle.Header) (request, error) {
	p, err := transport.Message(rpc, codec, []byte(message))
	if err != nil {
		return request{}, err
	}
	r := request{method: "POST", surface: "process", path: rpc, rpc: rpc, codec: codec, shape: transport.ShapeOf(rpc), body: p}
	kind := "application/"
	if r.shape == bundle.ShapeStream {
		kind += "connect+"
		r.body = wire.AppendEnvelope(nil, 0, p)
	}
	r.headers = append([]bundle.Header{
		{Name: "connect-protocol-version", Value: "1"},
		{Name: "content-type", Value: kind + codec},
	}, headers...)
	return r, nil
}

// open dials the target.
func (c *client) open(ctx context.Context) (*transport.Conn, error) {
	return transport.Dial(ctx, c.rec, "", c.target.Addr())
}

// begin sends a request on a connection.
func (c *client) begin(ctx context.Context, conn *transport.Conn, r request) *transport.Exchange {
	headers := c.target.Headers(c.what, "assay")
	for _, h := range r.headers {
		headers = replaceHeader(headers, h)
	}
	if r.method == "POST" {
		headers = append(headers, bundle.Header{Name: "content-length", Value: strconv.Itoa(len(r.body))})
	}
	path := c.target.Path(r.surface, r.path)
	x := conn.Begin(transport.Call{
		Name: r.path, Op: "probe", RPC: r.rpc, Surface: r.surface, Shape: r.shape, Codec: r.codec,
		Method: r.method, Path: path, Headers: headers, Body: r.body,
	})
	// A write that fails shows in how the connection and so the exchange ends.
	if err := conn.Write(ctx, append(transport.RequestHead(r.method, path, headers), r.body...)); err == nil {
		x.MarkSent()
	}
	return x
}

func replaceHeader(hs []bundle.Header, h bundle.Header) []bundle.Header {
	for i := range hs {
		if strings.EqualFold(hs[i].Name, h.Name) {
			hs[i] = h
			return hs
		}
	}
	return append(hs, h)
}

// do makes one call on a connection of its own and waits for its whole answer.
func (c *client) do(ctx context.Context, r request) *transport.Exchange {
	conn, err := c.open(ctx)
	if err != nil {
		id := -1
		var dial *transport.DialError
		if errors.As(err, &dial) {
			id = dial.Conn
		}
		return c.rec.Failed(transport.Call{Name: r.path, RPC: r.rpc, Op: "probe"}, id, err)
	}
	x := c.begin(ctx, conn, r)
	c.await(ctx, x, func(bundle.Exchange) bool { return false })
	return x
}

// await waits until seen holds or the exchange has returned; at the end of ctx
// it gives the exchange up.
func (c *client) await(ctx context.Context, x *transport.Exchange, seen func(bundle.Exchange) bool) bundle.Exchange {
	for {
		changed := x.Changed()
		s := x.Snapshot()
		if s.Returned != nil || seen(s) {
			return s
		}
		select {
		case <-changed:
		case <-x.Done():
		case <-ctx.Done():
			giveUp(x, s)
		}
	}
}

func giveUp(x *transport.Exchange, s bundle.Exchange) {
	if s.Response == nil {
		x.GiveUp(bundle.OutcomeNoAnswer, "nothing before the deadline")
		return
	}
	x.GiveUp(bundle.OutcomeStalled, "the answer had not ended by the deadline")
}

// within bounds one call.
func (c *client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.target.scaled(callTimeout))
}

// elapsed is the time between two stamps.
func elapsed(from, to bundle.Stamp) time.Duration { return time.Duration(to.T - from.T) }
