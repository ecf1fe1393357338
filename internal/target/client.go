package target

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/internal/record/surface"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

// client makes well-formed calls in one way. Its recordings are discarded.
type client struct {
	target *Target
	clock  *transport.Clock
	rec    *transport.Recorder
	what   string // calibrate or probe, for the User-Agent and the mark of processes
	way    bundle.Axes
	bare   bool // without the token

	limit  time.Duration // timeout of a response
	life   time.Duration // lifetime of a process that no call ends, in whole seconds
	seen   *sight
	queued *atomic.Bool // a call waited for its turn
}

// newClient returns a client with a time limit for all calls together, and the lifetime of
// its processes.
func (t *Target) newClient(clock *transport.Clock, what string, limit, life time.Duration) *client {
	if rest := life % time.Second; rest > 0 {
		life += time.Second - rest
	}
	return &client{
		target: t, clock: clock, rec: t.NewRecorder(clock), what: what, way: t.Way(),
		limit: limit, life: life, seen: &sight{}, queued: new(atomic.Bool),
	}
}

// another returns a client with a record of its own.
func (c *client) another() *client {
	other := *c
	other.rec, other.queued = c.target.NewRecorder(c.clock), new(atomic.Bool)
	return &other
}

// on returns a client that calls in another way.
func (c *client) on(way bundle.Axes) *client {
	other := *c
	other.way = way
	return &other
}

// close ends every connection.
func (c *client) close() { c.rec.Finish(nil) }

// request is one call as an HTTP request.
type request struct {
	method, surface, path string
	query                 string // without "?"
	rpc                   string
	shape                 bundle.Shape
	protocol, codec       string
	headers               []bundle.Header // replace the target's headers of the same name
	message               []byte          // RPC message without its envelope
	body                  []byte
	err                   error // why it cannot be sent
}

// form is the form of requests in the client's way.
func (c *client) form() call.Form {
	return call.Form{Protocol: c.way.Protocol, Codec: c.way.Codec, HTTP: c.way.HTTP, Compression: c.way.Compression}
}

// rpcRequest returns an RPC request in the client's way.
func (c *client) rpcRequest(m call.Message, headers ...bundle.Header) request {
	payload, err := call.Encode(m, c.way.Codec)
	form, rpc := c.form(), m.Procedure()
	own := []bundle.Header{header(form.ProtocolField()), {Name: "content-type", Value: form.ContentType(rpc)}}
	return request{
		method: "POST", surface: surface.Process, path: rpc, rpc: rpc, shape: bundle.Shape(call.ShapeOf(rpc)),
		protocol: c.way.Protocol, codec: c.way.Codec, message: payload, body: form.Envelope(rpc, payload),
		headers: append(own, headers...), err: err,
	}
}

// ask returns the request by which a probe asks for a surface.
func ask(id string) request {
	s := surface.Of(id)
	r := request{method: s.Probe.Method, surface: id, path: s.Probe.Path, query: s.Probe.Query, shape: bundle.ShapePlain}
	if s.Probe.Body != "" {
		r.body, r.headers = []byte(s.Probe.Body), []bundle.Header{{Name: "content-type", Value: s.Body}}
	}
	return r
}

// header returns a field with its name in lower case, as all names of the client are.
func header(f wire.Field) bundle.Header {
	return bundle.Header{Name: strings.ToLower(f.Name), Value: f.Value}
}

// open opens a connection to the target.
func (c *client) open(ctx context.Context) (*transport.Conn, error) {
	if ctx.Err() == nil && c.target.pace.Wait(ctx, 1) {
		c.queued.Store(true)
	}
	return c.target.Dial(ctx, c.rec, "", c.way.HTTP)
}

// begin sends a request on a connection.
func (c *client) begin(ctx context.Context, conn *transport.Conn, r request) *transport.Exchange {
	headers := c.target.Headers(c.what, "assay")
	if c.bare {
		token := c.target.tokenField()
		headers = slices.DeleteFunc(headers, func(h bundle.Header) bool { return h == token })
	}
	for _, h := range r.headers {
		headers = replaceHeader(headers, h)
	}
	described := transport.Call{
		Name: r.path, Op: bundle.OpProbe, RPC: r.rpc, Protocol: r.protocol, Surface: r.surface, Shape: r.shape, Codec: r.codec,
		Method: r.method, Path: c.target.Path(r.surface, r.path), Body: r.body,
	}
	switch {
	case r.surface == surface.Stdio:
		described.Path = c.target.AttachPath(r.query)
	case r.query != "":
		described.Path += "?" + r.query
	}
	if conn.HTTP2() {
		described.Headers = headers
		return c.beginStream(ctx, conn, described)
	}
	if r.method == "POST" {
		headers = append(headers, bundle.Header{Name: "content-length", Value: strconv.Itoa(len(r.body))})
	}
	described.Headers = headers
	x := conn.Begin(described)
	// A failed write shows in the end of the connection and the exchange.
	if err := conn.Write(ctx, append(transport.RequestHead(r.method, described.Path, headers), r.body...)); err == nil {
		x.MarkSent()
	}
	return x
}

// beginStream sends a request on a new stream. A failure shows in the end of the exchange.
func (c *client) beginStream(ctx context.Context, conn *transport.Conn, described transport.Call) *transport.Exchange {
	x, err := conn.Request(ctx, described, len(described.Body) == 0)
	if err == nil && len(described.Body) > 0 {
		_ = x.Data(ctx, described.Body, true)
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

// send begins a call on a new connection. One that could not begin is an exchange that has ended, beside the error.
func (c *client) send(ctx context.Context, r request) (*transport.Exchange, error) {
	if r.err != nil {
		return c.failed(ctx, r, r.err), r.err
	}
	conn, err := c.open(ctx)
	if err != nil {
		return c.failed(ctx, r, err), err
	}
	return c.begin(ctx, conn, r), nil
}

// do makes one call on a new connection and waits for the whole response.
func (c *client) do(ctx context.Context, r request) *transport.Exchange {
	x, _ := c.send(ctx, r)
	c.await(ctx, x, func(bundle.Exchange) bool { return false })
	return x
}

// failed returns the exchange of a call that could not begin.
func (c *client) failed(ctx context.Context, r request, err error) *transport.Exchange {
	conn := dialedConn(err)
	if ctx.Err() != nil {
		err = errors.New(c.noAnswer())
	}
	return c.rec.Failed(transport.Call{Name: r.path, RPC: r.rpc, Protocol: r.protocol, Shape: r.shape, Op: bundle.OpProbe}, conn, err)
}

// dialedConn returns the recorded id of a failed dial, or -1.
func dialedConn(err error) int {
	var dial *transport.DialError
	if errors.As(err, &dial) {
		return dial.Conn
	}
	return -1
}

// watch waits until seen holds, the exchange has returned or ctx has ended, and returns
// the state at that time.
func watch(ctx context.Context, x *transport.Exchange, seen func(bundle.Exchange) bool) bundle.Exchange {
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
			return x.Snapshot()
		}
	}
}

// await is like watch, but gives the exchange up at the end of ctx.
func (c *client) await(ctx context.Context, x *transport.Exchange, seen func(bundle.Exchange) bool) bundle.Exchange {
	s := watch(ctx, x, seen)
	if s.Returned == nil && !seen(s) {
		x.GiveUp(c.overdue(s))
		return x.Snapshot()
	}
	return s
}

// overdue describes how far an unfinished response came.
func (c *client) overdue(s bundle.Exchange) (bundle.Outcome, string) {
	if s.Response == nil {
		return bundle.OutcomeNoAnswer, c.noAnswer()
	}
	return bundle.OutcomeStalled, "the answer had not ended by the deadline"
}

// noAnswerWithin begins the message of a call without a response.
const noAnswerWithin = "no response within "

// noAnswer says how long the client waited for a response.
func (c *client) noAnswer() string {
	return noAnswerWithin + c.limit.Round(100*time.Millisecond).String()
}

// within limits the time of one call.
func (c *client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.target.Scaled(callTimeout))
}

// elapsed returns the time between two stamps.
func elapsed(from, to bundle.Stamp) time.Duration { return time.Duration(to.T - from.T) }
