package fakes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/virtual"
	"assay/internal/envd/process/processconnect"
)

// Times of the HTTP server. There is no limit on writing: a stream lasts as
// long as its process. IdleTimeout is the real daemon's.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 640 * time.Second
)

// defaultMetricsPrefix is what the names of the counters begin with.
const defaultMetricsPrefix = "coppice"

// Options configure a gateway. The zero value is the reference gateway on a
// free port of 127.0.0.1.
type Options struct {
	Listen        string   // address to listen on; default 127.0.0.1:0
	Faults        []string // ids of Faults, put in one around the other
	Variants      []string // ids of Variants
	MetricsPrefix string   // of the coppice counters; default "coppice"
	// Wrap is words put before every command, split at white space; {sandbox}
	// is replaced by the request's E2b-Sandbox-Id (default "default"). It is
	// left out when its first word is no program of the sandbox.
	Wrap string
	// ClockScale speeds up the gateway's own timers: how long an ended process
	// is kept (30 s), keepalives, and the default time limit of a command
	// (60 s). 10 runs them ten times as fast; 0 means 1. What a client asks
	// for in milliseconds is never scaled.
	ClockScale float64
	// Token, when set, must come as X-Access-Token with every request but
	// those for /health.
	Token string
	Seed  uint64       // phase of rare faults
	Log   *slog.Logger // nil logs nothing
}

// Gateway is a running gateway. Its methods may be called from any goroutine.
type Gateway struct {
	table  *table
	books  *books
	server *http.Server
	url    string
	unhook func() bool // of the context
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
	return start(ctx, o, virtualSandbox{virtual.New(virtual.Options{})})
}

// start is Start over any sandbox.
func start(ctx context.Context, o Options, box sandbox) (*Gateway, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.MetricsPrefix == "" {
		o.MetricsPrefix = defaultMetricsPrefix
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := newSeams(o.Faults, o.Variants)
	if err != nil {
		return nil, err
	}
	if err := checkPrefix(o.MetricsPrefix); err != nil {
		return nil, err
	}
	g := &Gateway{books: &books{}, served: make(chan struct{})}
	own := apply(s.clock, newScaledClock(wallClock{}, o.ClockScale))
	g.table = newTable(box, o, s, g.books, own)
	handler, err := g.routes(o, s, own)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Listen, err)
	}
	g.url = "http://" + listener.Addr().String()
	g.server = &http.Server{
		Handler:           g.counted(handler),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	if s.conn != nil {
		listener = connListener{listener, s.conn}
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
	return g, nil
}

// newTable builds the process table with its seams.
func newTable(box sandbox, o Options, s *seams, b *books, own clock) *table {
	count := apply[counters](s.count, b)
	exit := exitPath(plainExit{})
	if s.exit != nil {
		exit = s.exit(exit, count)
	}
	return &table{
		box: box, wall: wallClock{}, own: own, count: count, exit: exit,
		wrap:  newWrapper(o.Wrap, func(program string) bool { return hasProgram(box, program) }),
		sink:  func(out output) output { return apply(s.output, out) },
		stdin: func(in stdinPump) stdinPump { return apply(s.stdin, in) },
		live:  map[uint32]*process{}, kept: map[uint32]*process{},
	}
}

// routes builds the surfaces.
func (g *Gateway) routes(o Options, s *seams, own clock) (http.Handler, error) {
	processes := apply[processTable](s.table, g.table)
	auth, errs := authorizer{token: o.Token}, newErrorWriter()
	mux := http.NewServeMux()

	rpc := &service{table: processes, own: own, events: func(e eventSink) eventSink { return apply(s.events, e) }}
	path, handler := processconnect.NewProcessHandler(rpc,
		jsonCodecs(apply(s.json, jsonStyle{})), connect.WithReadMaxBytes(maxMessage))
	mux.Handle(path, &strict{next: handler, auth: auth, errors: errs, methods: methods(), frames: s.frames})

	alias := &commands{table: processes, own: own, auth: auth, errors: errs}
	alias.handle(mux)
	mux.HandleFunc("GET /health", health)
	metrics, err := metricsHandler(o.MetricsPrefix, func() tally { return g.table.read(g.books) })
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /metrics", alias.checked(func(w http.ResponseWriter, r *http.Request) error {
		metrics.ServeHTTP(w, r)
		return nil
	}))
	return mux, nil
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
	})
	return g.closeErr
}

// checkPrefix refuses what would make no metric name.
func checkPrefix(prefix string) error {
	legal := strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:") == ""
	if !legal || prefix[0] >= '0' && prefix[0] <= '9' {
		return fmt.Errorf("metrics prefix %q: letters, digits and _ are allowed, and no digit first", prefix)
	}
	return nil
}
