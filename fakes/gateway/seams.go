package gateway

import (
	"context"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
)

// Seams are the places where decorators change the behaviour of a gateway, for
// every request that passes. A decorator gets the present value and returns its
// replacement. The zero value changes nothing.
type Seams struct {
	// Conn decorates every connection: its bytes in both directions, inside TLS.
	Conn func(next net.Conn) net.Conn
	// Server changes the HTTP server before it serves, and its listener.
	Server func(s *http.Server, l net.Listener) net.Listener
	// Front decorates the handler of all requests, outside of everything else:
	// requests as they come in, and the heads of their responses.
	Front func(next http.Handler) http.Handler
	// Policy is that of the strict layer; nil is strict.DefaultPolicy.
	Policy *strict.Policy
	// Surface decorates the handler of a surface behind authorization. A surface
	// whose handler is nil is absent.
	Surface func(s Surface, next http.Handler) http.Handler
	// Interceptors see every call of the process service and its errors; the first
	// is the outermost.
	Interceptors []connect.Interceptor
	// JSON is how messages in JSON are written and read.
	JSON JSON
	// Deadline returns when the process of a Start ends at the latest. protocol is
	// the name that connect-go has for it. nil: at the deadline of the context.
	Deadline func(ctx context.Context, protocol string) (time.Time, bool)
	// Follow decorates the loop that sends the events of a process to a stream of
	// the process service.
	Follow func(next Follow) Follow
	// Events decorates the events of one such stream.
	Events func(next EventSink) EventSink
	// Fanout decorates the distribution of the output of one process.
	Fanout func(next Fanout) Fanout
	// Output decorates the writes of a process, before they are distributed.
	Output func(p *Process, next Output) Output
	// Input decorates the stdin of a process.
	Input func(next Input) Input
	// Drain waits for the output of a process that has exited. nil: until no
	// process holds it any more, or the process was abandoned.
	Drain func(p *Process)
	// Ending returns the content of the end event of a process, in the place of e. It runs once
	// for each process, after the process has left the table and was counted.
	Ending func(p *Process, e Ending, books Counters) Ending
	// Table decorates the processes as the surfaces see them.
	Table func(next Table) Table
	// ByTag returns the process that a tag means, out of all in no order, or nil.
	// nil: the youngest that has the tag.
	ByTag func(all []*Process, tag string) *Process
	// Sandbox decorates the place where commands run.
	Sandbox func(next Sandbox) Sandbox
	// Count decorates the counters as they are written, Tally as they are read.
	Count func(next Counters) Counters
	Tally func(next Tally) Tally
}

// Surface is a part of the gateway that has routes of its own.
type Surface string

// The surfaces.
const (
	SurfaceProcess  Surface = "process"
	SurfaceProbe    Surface = "probe"
	SurfaceCommands Surface = "commands"
	SurfaceMetrics  Surface = "metrics"
	SurfaceHealth   Surface = "health"
)

// apply runs a decorator that may be nil.
func apply[T any](decorate func(T) T, t T) T {
	if decorate == nil {
		return t
	}
	return decorate(t)
}
