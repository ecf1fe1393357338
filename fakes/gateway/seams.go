package gateway

import (
	"context"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/interpreter"
	"assay/fakes/stdio"
	"assay/fakes/strict"
	"assay/fakes/tree"
)

// Seams are the places where decorators change the behaviour of a gateway, for every request. A
// decorator gets the current value and returns its replacement. The zero value changes nothing.
type Seams struct {
	// Conn decorates every connection: its bytes in both directions, inside TLS.
	Conn func(next net.Conn) net.Conn
	// Server changes the HTTP server before it serves, and its listener.
	Server func(s *http.Server, l net.Listener) net.Listener
	// Front decorates the handler of all requests, outside of everything else:
	// requests as they come in, and the heads of their responses.
	Front func(next http.Handler) http.Handler
	// Close runs when the gateway closes, after its connections.
	Close func() error
	// Policy is the policy of the strict layer; nil means strict.DefaultPolicy.
	Policy *strict.Policy
	// Surface decorates the handler of a surface behind authorization. A surface
	// whose handler is nil is absent.
	Surface func(s Surface, next http.Handler) http.Handler
	// Interceptors see every call of the process service and its errors; the first
	// is the outermost.
	Interceptors []connect.Interceptor
	// Filesystem sees every call of the filesystem service, as Interceptors does.
	Filesystem []connect.Interceptor
	// Tree decorates the files of the sandbox as the surfaces see them.
	Tree func(next tree.Tree) tree.Tree
	// Files is how the surfaces of files behave.
	Files files.Policy
	// JSON controls how JSON messages are written and read.
	JSON JSON
	// Deadline returns the latest end of the process of a Start. protocol is connect-go's name
	// of the protocol. nil: the deadline of the context.
	Deadline func(ctx context.Context, protocol string) (time.Time, bool)
	// Follow decorates the loop that sends the events of a process to a stream of
	// the process service.
	Follow func(next Follow) Follow
	// Events decorates the events of one such stream.
	Events func(next EventSink) EventSink
	// Fanout decorates the distribution of the output of one process.
	Fanout func(next Fanout) Fanout
	// Stdio decorates the messages to each client of the stdio surface.
	Stdio func(next stdio.Sink) stdio.Sink
	// StdioPolicy is how the sessions of the stdio surface behave.
	StdioPolicy stdio.Policy
	// Interpreter is how the runs of the surface execute behave.
	Interpreter interpreter.Policy
	// Output decorates the writes of a process, before they are distributed.
	Output func(p *Process, next Output) Output
	// Input decorates the stdin of a process.
	Input func(next Input) Input
	// Drain waits for the output of an exited process. nil: until no process holds it any more,
	// or the process is abandoned.
	Drain func(p *Process)
	// Ending returns the end event of a process, instead of e. It runs once per process, after
	// the process has left the table and has been counted.
	Ending func(p *Process, e Ending, books Counters) Ending
	// Table decorates the processes as the surfaces see them.
	Table func(next Table) Table
	// ByTag returns the process that a tag selects from an unordered list, or nil. nil: the
	// youngest process with the tag.
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
	SurfaceProcess    Surface = "process"
	SurfaceProbe      Surface = "probe"
	SurfaceCommands   Surface = "commands"
	SurfaceStdio      Surface = "stdio"
	SurfaceTerminal   Surface = "terminal" // the page on the stdio surface
	SurfaceExecute    Surface = "execute"  // and contexts
	SurfaceMetrics    Surface = "metrics"
	SurfaceHealth     Surface = "health"
	SurfaceFilesystem Surface = "filesystem"
	SurfaceFiles      Surface = "files" // and /files/compose
	SurfaceEnvs       Surface = "envs"
	SurfaceInit       Surface = "init"
)
