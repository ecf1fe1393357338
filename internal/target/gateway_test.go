package target_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/testkit"

	"connectrpc.com/connect"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// gateway is a small gateway that knows only the few commands of calibration and
// probing.
type gateway struct {
	processconnect.UnimplementedProcessHandler
	noPTY, plainPTY, deniedPTY bool // the handling of a Start with pty
	terminal                   bool // with plainPTY: the process has a terminal nevertheless
	ghosts                     bool // nonexistent users are accepted
	noTags, noList, keepalive  bool
	bashOnly                   bool          // only /bin/bash -l -c is accepted
	invalidPTY                 bool          // a Start with pty is invalid
	lateStarts                 bool          // the start event comes after the probe has given up
	noSignal                   bool          // SendSignal is not implemented
	killsNobody                bool          // SendSignal finds no process
	blocksInput                bool          // SendInput waits until the process reads
	silentPTYs                 int           // how many terminals print nothing before one does
	silent                     bool          // no output at all
	endless                    bool          // no end event
	endAfter                   time.Duration // time from the start event of a short command

	mu      sync.Mutex
	next    uint32
	running map[uint32]*proc
	started int
}

type proc struct {
	pid    uint32
	config *process.ProcessConfig
	tag    *string
	wake   chan string // a line of input, "EOF" or "KILL"
	done   chan struct{}
}

func (g *gateway) Start(ctx context.Context, req *connect.Request[process.StartRequest], out *connect.ServerStream[process.StartResponse]) error {
	if user, _, ok := basicAuth(req.Header()); ok && user == "assay-no-such-user" && !g.ghosts {
		return connect.NewError(connect.CodeUnauthenticated, errors.New("invalid username"))
	}
	if req.Msg.Pty != nil && g.noPTY {
		return connect.NewError(connect.CodeUnimplemented, errors.New("no pty"))
	}
	if req.Msg.Pty != nil && g.invalidPTY {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("no field pty"))
	}
	if req.Msg.Pty != nil && g.deniedPTY {
		return connect.NewError(connect.CodePermissionDenied, errors.New("not for you"))
	}
	if req.Msg.GetProcess().GetEnvs()["ASSAY_RUN"] == "" {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("not marked"))
	}
	if c := req.Msg.GetProcess(); g.bashOnly && (c.GetCmd() != "/bin/bash" || len(c.GetArgs()) != 3) {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("only /bin/bash -l -c runs here"))
	}
	p := &proc{config: req.Msg.GetProcess(), tag: req.Msg.Tag, wake: make(chan string, 4), done: make(chan struct{})}
	if g.noTags {
		p.tag = nil
	}
	pid := g.add(p)
	ended := true
	defer func() {
		if ended {
			g.remove(pid)
		}
	}()
	send := func(e *process.ProcessEvent) error { return out.Send(&process.StartResponse{Event: e}) }
	if g.lateStarts && req.Msg.GetProcess().GetArgs()[1] != "true" {
		<-time.After(afterDeadline)
	}
	if err := send(startOf(pid)); err != nil {
		return err
	}
	if err := g.act(ctx, p, req, send); err != nil {
		ended = false // as in the real daemon, a process survives the disconnect
		return err
	}
	if g.endless {
		return nil
	}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_End{End: &process.ProcessEvent_EndEvent{Exited: true, Status: "exit status 0"}}})
}

// act performs the command of a process until it ends.
func (g *gateway) act(ctx context.Context, p *proc, req *connect.Request[process.StartRequest], send func(*process.ProcessEvent) error) error {
	args := p.config.GetArgs()
	text := args[len(args)-1]
	var over <-chan time.Time
	if seconds, ok := strings.CutPrefix(text, "echo ready; exec sleep "); ok {
		n, err := strconv.Atoi(seconds)
		if err != nil {
			return err
		}
		over = time.After(time.Duration(n) * time.Second)
	}
	switch {
	case text == "read x", over != nil:
		if g.keepalive && req.Header().Get("Keepalive-Ping-Interval") == "1" {
			if err := send(&process.ProcessEvent{Event: &process.ProcessEvent_Keepalive{}}); err != nil {
				return err
			}
		}
		for {
			select {
			case with := <-p.wake:
				if with == "line" && over != nil {
					continue // no reader
				}
				return nil
			case <-over:
				return nil
			case <-ctx.Done():
				if g.lateStarts && over != nil {
					<-over // without a start event it ends by itself
					return nil
				}
				return ctx.Err()
			}
		}
	case strings.Contains(text, "test -t 1"):
		return g.say(req.Msg.Pty != nil, send)
	}
	if g.endAfter > 0 {
		<-time.After(g.endAfter)
	}
	return nil
}

// say prints whether the output is a terminal.
func (g *gateway) say(pty bool, send func(*process.ProcessEvent) error) error {
	text := "pipe\n"
	if g.terminal {
		text = "terminal\r\n"
	}
	data := &process.ProcessEvent_DataEvent{Output: &process.ProcessEvent_DataEvent_Stdout{Stdout: []byte(text)}}
	if pty {
		g.mu.Lock()
		g.silentPTYs--
		lost := g.silentPTYs >= 0
		g.mu.Unlock()
		if lost {
			return nil
		}
		if !g.plainPTY {
			data.Output = &process.ProcessEvent_DataEvent_Pty{Pty: []byte("terminal\r\n")}
		}
	}
	if g.silent {
		return nil
	}
	return send(&process.ProcessEvent{Event: &process.ProcessEvent_Data{Data: data}})
}

// mercy ends every sleeping process after so many kill signals were requested, so that
// a test does not wait until they end by themselves.
func (g *gateway) mercy(h http.Handler, after int) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if !strings.HasSuffix(r.URL.Path, "/SendSignal") || asked.Add(1) < int64(after) {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range g.running {
			p.wake <- "MERCY"
		}
	})
}

func startOf(pid uint32) *process.ProcessEvent {
	return &process.ProcessEvent{Event: &process.ProcessEvent_Start{Start: &process.ProcessEvent_StartEvent{Pid: pid}}}
}

func basicAuth(h http.Header) (string, string, bool) {
	return (&http.Request{Header: h}).BasicAuth()
}

func (g *gateway) add(p *proc) uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == nil {
		g.running = map[uint32]*proc{}
	}
	g.next++
	g.started++
	p.pid = g.next
	g.running[g.next] = p
	return g.next
}

func (g *gateway) remove(pid uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.running[pid].done)
	delete(g.running, pid)
}

// afterDeadline is a little longer than the deadline of all calls of a probe.
const afterDeadline = 5200 * time.Millisecond

// patience bounds every wait of a test; it expires only when something is broken.
const patience = 30 * time.Second

// idle waits for the handlers whose process has sent its end, and returns the numbers
// of started and running processes.
func (g *gateway) idle() (started, running int) {
	g.mu.Lock()
	procs := slices.Collect(maps.Values(g.running))
	g.mu.Unlock()
	limit := time.After(patience)
	for _, p := range procs {
		select {
		case <-p.done:
		case <-limit:
			limit = time.After(0)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.started, len(g.running)
}

func (g *gateway) find(s *process.ProcessSelector) (*proc, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.running[s.GetPid()]; p != nil {
		return p, nil
	}
	for _, p := range g.running {
		if p.tag != nil && *p.tag == s.GetTag() {
			return p, nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no such process"))
}

func (g *gateway) wake(s *process.ProcessSelector, with string) error {
	p, err := g.find(s)
	if err == nil {
		p.wake <- with
	}
	return err
}

func (g *gateway) List(context.Context, *connect.Request[process.ListRequest]) (*connect.Response[process.ListResponse], error) {
	if g.noList {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("no list"))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var r process.ListResponse
	for pid, p := range g.running {
		r.Processes = append(r.Processes, &process.ProcessInfo{Config: p.config, Pid: pid, Tag: p.tag})
	}
	return connect.NewResponse(&r), nil
}

func (g *gateway) Connect(ctx context.Context, req *connect.Request[process.ConnectRequest], out *connect.ServerStream[process.ConnectResponse]) error {
	p, err := g.find(req.Msg.GetProcess())
	if err != nil {
		return err
	}
	if err := out.Send(&process.ConnectResponse{Event: startOf(p.pid)}); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return nil
}

func (g *gateway) SendInput(ctx context.Context, req *connect.Request[process.SendInputRequest]) (*connect.Response[process.SendInputResponse], error) {
	p, err := g.find(req.Msg.GetProcess())
	if err == nil && g.blocksInput && p.config.GetArgs()[len(p.config.GetArgs())-1] != "read x" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return connect.NewResponse(&process.SendInputResponse{}), g.wake(req.Msg.GetProcess(), "line")
}

func (g *gateway) SendSignal(_ context.Context, req *connect.Request[process.SendSignalRequest]) (*connect.Response[process.SendSignalResponse], error) {
	switch {
	case g.noSignal:
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("no signals"))
	case g.killsNobody:
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("process %d not found", req.Msg.GetProcess().GetPid()))
	}
	return connect.NewResponse(&process.SendSignalResponse{}), g.wake(req.Msg.GetProcess(), "KILL")
}

func (g *gateway) CloseStdin(_ context.Context, req *connect.Request[process.CloseStdinRequest]) (*connect.Response[process.CloseStdinResponse], error) {
	return connect.NewResponse(&process.CloseStdinResponse{}), g.wake(req.Msg.GetProcess(), "EOF")
}

func (g *gateway) Update(context.Context, *connect.Request[process.UpdateRequest]) (*connect.Response[process.UpdateResponse], error) {
	return nil, connect.NewError(connect.CodeInternal, errors.New("not a pty"))
}

func (g *gateway) StreamInput(_ context.Context, in *connect.ClientStream[process.StreamInputRequest]) (*connect.Response[process.StreamInputResponse], error) {
	var to *process.ProcessSelector
	for in.Receive() {
		switch e := in.Msg().GetEvent().(type) {
		case *process.StreamInputRequest_Start:
			to = e.Start.GetProcess()
		case *process.StreamInputRequest_Data:
			if err := g.wake(to, "line"); err != nil {
				return nil, err
			}
		}
	}
	return connect.NewResponse(&process.StreamInputResponse{}), in.Err()
}

// serve starts the gateway with every other surface at its default path.
func (g *gateway) serve(t *testing.T) string {
	t.Helper()
	return serveHTTP(t, g.handler())
}

func (g *gateway) handler() http.Handler { return handle(g) }

// handle serves a process service, and every other surface at its default path.
func handle(service processconnect.ProcessHandler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(processconnect.NewProcessHandler(service))
	mux.HandleFunc("POST /commands", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"type":"start","pid":1}`+"\n"+`{"type":"end","exit_code":0}`+"\n")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE a counter\na{b=\"c d\"} 1\n")
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

func serveHTTP(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadHeaderTimeout = time.Minute
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
