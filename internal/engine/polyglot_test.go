package engine

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// polyglot is a gateway that speaks every protocol, as connect-go does, on HTTP/1.1 and
// h2c. It knows "true" and "echo X", and treats any other command as cat, which echoes
// its input until the input is closed.
type polyglot struct {
	processconnect.UnimplementedProcessHandler
	*httptest.Server
	tap *tapListener

	grpcOnly atomic.Bool // it refuses every other protocol and HTTP/1.1
	holds    atomic.Bool // the stream of a killed process stays open until its client ends it

	mu        sync.Mutex
	next      uint32
	live      map[uint32]*polyProcess
	requests  []*http.Request // heads, in order of arrival
	cancelled chan string     // the path of each request whose context ended before its handler
}

type polyProcess struct {
	pid   uint32
	asked *process.StartRequest
	input chan []byte // closed with stdin
	kill  chan struct{}
	once  sync.Once
}

func newPolyglot(t *testing.T) *polyglot {
	t.Helper()
	g := preparePolyglot(t)
	g.Config.Protocols = new(http.Protocols)
	g.Config.Protocols.SetHTTP1(true)
	g.Config.Protocols.SetUnencryptedHTTP2(true)
	g.Server.Start()
	return g
}

// newSecurePolyglot speaks HTTP/1.1 and HTTP/2 over TLS; ca is its certificate in PEM.
func newSecurePolyglot(t *testing.T) (g *polyglot, ca []byte) {
	t.Helper()
	g = preparePolyglot(t)
	g.EnableHTTP2 = true
	g.StartTLS()
	return g, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
}

func preparePolyglot(t *testing.T) *polyglot {
	t.Helper()
	g := &polyglot{live: make(map[uint32]*polyProcess), next: 100, cancelled: make(chan string, 100)}
	path, rpcs := processconnect.NewProcessHandler(g)
	mux := http.NewServeMux()
	mux.Handle(path, rpcs)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "t_active 0\n") })
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.requests = append(g.requests, r.Clone(context.Background()))
		g.mu.Unlock()
		if g.grpcOnly.Load() && (r.ProtoMajor < 2 || !isGRPC(r)) {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return
		}
		mux.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			g.cancelled <- r.URL.Path
		}
	}))
	g.Config.ErrorLog = log.New(io.Discard, "", 0) // scripts break connections on purpose
	g.tap = &tapListener{Listener: g.Listener}
	g.Listener = g.tap
	t.Cleanup(g.Close)
	return g
}

func isGRPC(r *http.Request) bool {
	kind := r.Header.Get("Content-Type")
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
}

// request returns the head of the first request of an RPC.
func (g *polyglot) request(t *testing.T, rpc string) *http.Request {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.requests {
		if strings.HasSuffix(r.URL.Path, rpc) {
			return r
		}
	}
	t.Fatalf("no request of %s arrived", rpc)
	return nil
}

func (g *polyglot) alive() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.live)
}

func (g *polyglot) Start(ctx context.Context, r *connect.Request[process.StartRequest], s *connect.ServerStream[process.StartResponse]) error {
	args := r.Msg.GetProcess().GetArgs()
	if len(args) == 0 {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("no command"))
	}
	g.mu.Lock()
	g.next++
	p := &polyProcess{pid: g.next, asked: r.Msg, input: make(chan []byte), kill: make(chan struct{})}
	g.live[p.pid] = p
	g.mu.Unlock()
	if err := s.Send(startResponse(&process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: p.pid}}})); err != nil {
		return err
	}
	if args[len(args)-1] == "true" {
		g.remove(p)
		return s.Send(ending(0, "exit status 0"))
	}
	if text, ok := strings.CutPrefix(args[len(args)-1], "echo "); ok {
		if err := s.Send(p.output([]byte(text + "\n"))); err != nil {
			return err
		}
		g.remove(p)
		return s.Send(ending(0, "exit status 0"))
	}
	for {
		select {
		case data, open := <-p.input:
			if !open {
				g.remove(p)
				return s.Send(ending(0, "exit status 0"))
			}
			if err := s.Send(p.output(data)); err != nil {
				return err
			}
		case <-p.kill:
			if g.holds.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			return s.Send(ending(-1, "signal: killed"))
		case <-ctx.Done():
			return ctx.Err() // the process keeps running
		}
	}
}

func (g *polyglot) remove(p *polyProcess) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, p.pid)
}

func startResponse(e *process.ProcessEvent) *process.StartResponse {
	return &process.StartResponse{Event: e}
}

// output returns data on the output stream of the process.
func (p *polyProcess) output(data []byte) *process.StartResponse {
	d := &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: data}}
	if p.asked.GetPty() != nil {
		d = &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Pty{Pty: data}}
	}
	return startResponse(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: d}})
}

func ending(code int32, status string) *process.StartResponse {
	return startResponse(&process.ProcessEvent{Event: &process.ProcessEvent_End{
		End: &process.ProcessEvent_EndEvent{ExitCode: code, Exited: code >= 0, Status: status},
	}})
}

func (g *polyglot) find(s *process.ProcessSelector) (*polyProcess, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.live[s.GetPid()]; p != nil {
		return p, nil
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such process"))
}

func (g *polyglot) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var m process.ListResponse
	for _, p := range g.live {
		m.Processes = append(m.Processes, &process.ProcessInfo{Pid: p.pid, Config: p.asked.GetProcess()})
	}
	return connect.NewResponse(&m), nil
}

func (p *polyProcess) feed(ctx context.Context, in *process.ProcessInput) error {
	data := in.GetStdin()
	if p.asked.GetPty() != nil {
		data = in.GetPty()
	}
	select {
	case p.input <- data:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *polyglot) SendInput(ctx context.Context, r *connect.Request[process.SendInputRequest]) (*connect.Response[process.SendInputResponse], error) {
	p, err := g.find(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.SendInputResponse{}), p.feed(ctx, r.Msg.GetInput())
}

func (g *polyglot) CloseStdin(_ context.Context, r *connect.Request[process.CloseStdinRequest]) (*connect.Response[process.CloseStdinResponse], error) {
	p, err := g.find(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	p.once.Do(func() { close(p.input) })
	return connect.NewResponse(&process.CloseStdinResponse{}), nil
}

func (g *polyglot) SendSignal(_ context.Context, r *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	p, err := g.find(r.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	p.once.Do(func() { close(p.kill) })
	g.remove(p)
	return connect.NewResponse(&process.SendSignalResponse{}), nil
}

func (g *polyglot) Update(_ context.Context, r *connect.Request[process.UpdateRequest]) (*connect.Response[process.UpdateResponse], error) {
	if _, err := g.find(r.Msg.GetProcess()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&process.UpdateResponse{}), nil
}

func (g *polyglot) StreamInput(ctx context.Context, s *connect.ClientStream[process.StreamInputRequest]) (*connect.Response[process.StreamInputResponse], error) {
	var p *polyProcess
	for s.Receive() {
		var err error
		switch e := s.Msg().GetEvent().(type) {
		case *process.StreamInputRequest_Start:
			p, err = g.find(e.Start.GetProcess())
		case *process.StreamInputRequest_Data:
			err = p.feed(ctx, e.Data.GetInput())
		}
		if err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(&process.StreamInputResponse{}), s.Err()
}
