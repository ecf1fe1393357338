package fakes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/internal/envd/probe"
	"assay/internal/envd/probe/probeconnect"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	table  *table
	books  *books
	server *http.Server
	url    string
	caCert []byte
	unhook func() bool  // of the context
	remove func() error // takes away what the sandbox was given
	served chan struct{}

	mu       sync.Mutex
	closing  bool
	handlers sync.WaitGroup
	once     sync.Once
	closeErr error
}

// Start listens and serves until Close, or until ctx is done. Unknown fault or
// variant ids are errors that list the known ones.
func Start(ctx context.Context, o Options) (*Gateway, error) {
	return start(ctx, o, nil)
}

// start is Start over any sandbox; nil is the one of the options.
func start(ctx context.Context, o Options, box sandbox) (*Gateway, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s, err := newSeams(&o)
	if err != nil {
		return nil, err
	}
	g := &Gateway{books: &books{}, served: make(chan struct{}), remove: func() error { return nil }}
	s.crash = g.crash
	if box == nil {
		if box, g.remove, err = newSandbox(o, s); err != nil {
			return nil, err
		}
	}
	if err := g.listen(ctx, o, s, box); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// listen builds the surfaces over a sandbox and serves them.
func (g *Gateway) listen(ctx context.Context, o Options, s *seams, box sandbox) error {
	own := apply(s.clock, newScaledClock(wallClock{}, o.ClockScale))
	g.table = newTable(box, o, s, g.books, own)
	handler, err := g.routes(o, s, own)
	if err != nil {
		return err
	}
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
	g.server = newServer(o, g.counted(handler))
	if s.conn != nil {
		listener = connListener{listener, s.conn}
	}
	if s.kept != (keptPolicy{}) {
		listener = s.kept.watch(g.server, listener)
	}
	go func() {
		defer close(g.served)
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("the gateway stopped serving", "err", err)
		}
	}()
	g.mu.Lock()
	g.unhook = context.AfterFunc(ctx, func() { _ = g.Close() })
	g.mu.Unlock()
	return nil
}

// secure puts TLS in front.
func (g *Gateway) secure(l net.Listener, o Options) (net.Listener, error) {
	host, _, err := net.SplitHostPort(o.Listen)
	if err == nil {
		var cert tls.Certificate
		if cert, g.caCert, err = selfSigned(host, time.Now()); err == nil {
			g.url = "https://" + strings.TrimPrefix(g.url, "http://")
			return tlsListener(l, cert), nil
		}
	}
	_ = l.Close()
	return nil, fmt.Errorf("serve TLS on %s: %w", o.Listen, err)
}

// newTable builds the process table with its seams.
func newTable(box sandbox, o Options, s *seams, b *books, own clock) *table {
	count := apply[counters](s.count, b)
	exit := exitPath(plainExit{})
	if s.exit != nil {
		exit = s.exit(exit, count)
	}
	return &table{
		box: box, wall: wallClock{}, own: own, count: count, exit: exit, hubs: s.hubs, policy: s.processes,
		wrap:  newWrapper(o.Wrap, func(program string) bool { return hasProgram(box, program) }),
		sink:  func(out output) output { return apply(s.output, out) },
		stdin: func(in stdinPump) stdinPump { return apply(s.stdin, in) },
		live:  map[uint32]*process{}, kept: map[uint32]*process{},
	}
}

// routes builds the surfaces.
func (g *Gateway) routes(o Options, s *seams, own clock) (http.Handler, error) {
	processes := apply[processTable](s.table, g.table)
	g.table.self = processes
	auth := authorizer{token: o.Token}
	mux := http.NewServeMux()
	front := &strict.Layer{Admit: auth.admit, Protocols: o.Protocols, Policy: s.policy}
	options := connect.WithHandlerOptions(jsonCodecs(apply(s.json, jsonStyle{})), connect.WithReadMaxBytes(strict.MaxMessage), connect.WithCompressMinBytes(s.compressFrom))

	rpc := &service{table: processes, own: own, seams: s, shell: o.Shell}
	path, handler := processconnect.NewProcessHandler(rpc, options, connect.WithInterceptors(errorSeam{s.errors}))
	mux.Handle(path, front.Over(handler, envd.File_process_process_proto.Services().ByName("Process")))
	if !s.without.probe {
		path, handler = probeconnect.NewProbeHandler(probeService{wallClock{}}, options)
		mux.Handle(path, front.Over(handler, probe.File_assay_v1_probe_proto.Services().ByName("Probe")))
	}
	alias := &commands{table: processes, own: own, auth: auth, shell: o.Shell}
	if !s.without.commands {
		alias.handle(mux)
	}
	mux.HandleFunc("GET /health", health)
	if !s.without.metrics {
		metrics, err := g.metrics(o, s)
		if err != nil {
			return nil, err
		}
		mux.Handle("GET /metrics", alias.checked(metrics))
	}
	return apply[http.Handler](s.front, http.StripPrefix(o.Prefix, cors(front.Routes(mux)))), nil
}

// metrics is the exposition of the books, or what a seam puts in its place.
func (g *Gateway) metrics(o Options, s *seams) (func(http.ResponseWriter, *http.Request) error, error) {
	if s.metrics != nil {
		return s.metrics, nil
	}
	h, err := metricsHandler(o.MetricsPrefix, func() tally { return apply(s.tally, g.table.read(g.books)) })
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}, nil
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

// enter counts one handler; false once the gateway is closing.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.handlers.Add(1)
	return true
}

// URL is its base URL, without a slash at the end.
func (g *Gateway) URL() string { return g.url }

// CACert is the certificate, in PEM, that a client has to trust when the
// gateway serves TLS; nil when it does not.
func (g *Gateway) CACert() []byte { return g.caCert }

// crash is the end of a gateway that dies of a request: every connection is
// cut, and nothing listens any more. The processes go with it.
func (g *Gateway) crash() {
	_ = g.server.Close()
	g.table.box.KillAll()
}

// Close ends all processes and connections, and returns when no goroutine of
// the gateway is left. It may be called again.
func (g *Gateway) Close() error {
	g.once.Do(func() {
		g.mu.Lock()
		g.unhook()
		g.closing = true
		g.mu.Unlock()
		g.closeErr = g.server.Close()
		g.table.close()
		g.handlers.Wait()
		<-g.served
		g.closeErr = errors.Join(g.closeErr, g.remove())
	})
	return g.closeErr
}
