package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	"assay/fakes/certificate"
	"assay/fakes/files"
	"assay/fakes/interpreter"
	"assay/fakes/stdio"
	"assay/fakes/strict"
	"assay/internal/base/crash"
	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	table    *table
	stdio    *stdio.Server
	code     *interpreter.Server
	files    *files.Server // nil: the sandbox has none
	books    *books
	handler  http.Handler
	server   *http.Server // nil: another server calls ServeHTTP
	url      string
	attach   bool // the stdio surface is there
	terminal bool // the page on it is there
	caCert   []byte
	unhook   func() bool  // detaches from the context
	remove   func() error // removes the temporary files of the sandbox
	onClose  func() error // Seams.Close
	served   chan struct{}

	mu       sync.Mutex
	closing  bool
	handlers crash.Group
	once     sync.Once
	closeErr error
}

// Start listens and serves until Close, or until ctx is done.
func Start(ctx context.Context, o Options) (*Gateway, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	if err := g.listen(ctx, o); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// New creates a gateway that does not listen: it serves the requests that another
// server passes to ServeHTTP, until Close. Listen, HTTP, TLS and the seams Conn and
// Server have no effect.
func New(o Options) (*Gateway, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	box, remove, err := newSandbox(o)
	if err != nil {
		return nil, err
	}
	own := clock{o.ClockScale}
	g := &Gateway{books: &books{}, served: make(chan struct{}), remove: remove, unhook: func() bool { return false }, onClose: o.Seams.Close}
	box = strict.Decorated(o.Seams.Sandbox, box)
	g.table = newTable(box, o, g.books, own)
	g.files = newFiles(box.Files(), g.table.settings, o)
	surfaces, err := g.routes(o, own)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	g.handler = g.counted(surfaces)
	return g, nil
}

// ServeHTTP serves one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.handler.ServeHTTP(w, r) }

// listen serves the surfaces on a listener of its own.
func (g *Gateway) listen(ctx context.Context, o Options) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	g.url = "http://" + listener.Addr().String() + o.Prefix
	if o.TLS {
		if listener, err = g.secure(listener, o); err != nil {
			return err
		}
	}
	if g.server, err = newServer(o, g); err != nil {
		return errors.Join(err, listener.Close())
	}
	if wrap := o.Seams.Conn; wrap != nil {
		listener = connListener{listener, wrap}
	}
	listener = connListener{listener, func(c net.Conn) net.Conn { return &framedConn{Conn: c} }}
	if change := o.Seams.Server; change != nil {
		listener = change(g.server, listener)
	}
	crash.Go(func() {
		defer close(g.served)
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the gateway stopped serving", "err", err)
		}
	})
	g.mu.Lock()
	g.unhook = context.AfterFunc(ctx, func() { _ = g.Close() })
	g.mu.Unlock()
	return nil
}

// secure serves TLS on a listener, if requested.
func (g *Gateway) secure(l net.Listener, o Options) (net.Listener, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err == nil {
		var cert tls.Certificate
		if cert, g.caCert, err = certificate.SelfSigned(host, o.Names, time.Now()); err == nil {
			g.url = "https://" + strings.TrimPrefix(g.url, "http://")
			return tlsListener(l, cert), nil
		}
	}
	_ = l.Close()
	return nil, fmt.Errorf("serve TLS on %s: %w", o.Listen, err)
}

// newTable builds the process table with its seams.
func newTable(box Sandbox, o Options, b *books, own clock) *table {
	return &table{
		box: box, own: own, settings: newSettings(o), count: strict.Decorated[Counters](o.Seams.Count, b), seams: o.Seams,
		pieces: o.OutputInPieces, untilDrained: o.ListUntilDrained,
		wrap: newWrapper(o.Wrap, func(program string) bool { return HasProgram(box, program) }),
		live: map[uint32]*Process{}, kept: map[uint32]*Process{},
	}
}

// routes builds the surfaces.
func (g *Gateway) routes(o Options, own clock) (http.Handler, error) {
	processes := strict.Decorated[Table](o.Seams.Table, g.table)
	g.table.self = processes
	auth := authorizer{g.table.settings}
	front := &strict.Layer{Admit: auth.admit, Protocols: o.Protocols, Policy: strict.DefaultPolicy()}
	if o.Seams.Policy != nil {
		front.Policy = *o.Seams.Policy
	}
	metrics, err := metricsHandler(o.MetricsPrefix, func() Tally { return strict.Decorated(o.Seams.Tally, g.table.read(g.books)) })
	if err != nil {
		return nil, err
	}
	m := mounts{mux: http.NewServeMux(), front: front, auth: auth, forms: o.Token != "", surface: o.Seams.Surface}
	options := connect.WithHandlerOptions(jsonCodecs(o.Seams.JSON), smallGzip(), connect.WithReadMaxBytes(strict.MaxMessage), connect.WithCompressMinBytes(o.CompressFrom))
	path, rpc := processconnect.NewProcessHandler(&service{table: processes, own: own, seams: o.Seams, shell: o.Shell},
		options, connect.WithInterceptors(o.Seams.Interceptors...))
	m.mount(SurfaceProcess, path, rpc, over(front, envd.File_process_process_proto, "Process"))
	path, rpc = probeconnect.NewProbeHandler(probeService{}, options)
	m.mount(SurfaceProbe, path, rpc, over(front, probe.File_assay_v1_probe_proto, "Probe"))
	for pattern, h := range (&commands{table: processes, own: own, shell: o.Shell, forms: m.forms}).routes() {
		m.mount(SurfaceCommands, pattern, h, auth.over)
	}
	a := &attach{table: processes, own: own, shell: o.Shell}
	g.stdio = stdio.New(stdio.Options{Caller: a.caller, AfterFunc: own.AfterFunc, Without: o.Without, Sink: o.Seams.Stdio, Policy: o.Seams.StdioPolicy})
	if !slices.Contains(o.Without, stdio.FeatureWS) {
		g.attach = m.mount(SurfaceStdio, "GET "+attachPath, g.stdio, auth.overStdio)
	}
	g.terminal = g.attach && m.mountTerminal(o.Without)
	g.mountFiles(m, o, options)
	m.mountDaemon(g.table.settings)
	g.code = interpreter.New(interpreter.Options{AfterFunc: own.AfterFunc, Policy: o.Seams.Interpreter})
	for pattern, h := range g.code.Routes() {
		m.mount(SurfaceExecute, pattern, h, auth.over)
	}
	m.mount(SurfaceMetrics, "GET /metrics", orMachine(metrics), auth.over)
	m.mount(SurfaceHealth, "GET /health", http.HandlerFunc(health), asIs)
	surfaces := tidied(newDoor(o).over(front.Routes(m.mux)))
	return strict.Decorated[http.Handler](o.Seams.Front, http.StripPrefix(o.Prefix, surfaces)), nil
}

// over puts the strict layer in front of the handler of a service.
func over(l *strict.Layer, file protoreflect.FileDescriptor, service protoreflect.Name) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler { return l.Over(h, file.Services().ByName(service)) }
}

// counted lets Close wait for the handlers.
func (g *Gateway) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.enter() {
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer g.handlers.Done()
		next.ServeHTTP(w, r)
	})
}

// enter counts one handler; it returns false once the gateway is closing.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.handlers.Add(1)
	return true
}

// URL returns the base URL, without a trailing slash.
func (g *Gateway) URL() string { return g.url }

// AttachURL returns the address of the stdio surface without its query; "" when
// that is absent.
func (g *Gateway) AttachURL() string {
	if !g.attach {
		return ""
	}
	return "ws" + strings.TrimPrefix(g.url, "http") + attachPath
}

// TerminalURL returns the address of the page with a terminal; "" when the stdio
// surface is absent.
func (g *Gateway) TerminalURL() string {
	if !g.terminal {
		return ""
	}
	return g.url + terminalPath
}

// CACert returns the certificate, in PEM, that a client must trust when the
// gateway serves TLS; nil otherwise.
func (g *Gateway) CACert() []byte { return g.caCert }

// Close ends all processes and connections, and returns when no goroutine of
// the gateway is left. It is idempotent.
func (g *Gateway) Close() error {
	g.once.Do(func() {
		g.mu.Lock()
		g.unhook()
		g.closing = true
		g.mu.Unlock()
		g.stdio.Close() // before the server, which would cut connections that have just become WebSockets
		g.code.Close()
		if g.server != nil {
			g.closeErr = g.server.Close()
		}
		if g.onClose != nil {
			g.closeErr = errors.Join(g.closeErr, g.onClose())
		}
		g.table.close()
		g.handlers.Wait() // a handler may start a process until it returns
		g.stdio.Wait()
		if g.files != nil {
			g.files.Close()
		}
		g.table.wait()
		if g.server != nil {
			<-g.served
		}
		g.closeErr = errors.Join(g.closeErr, g.remove())
	})
	return g.closeErr
}
