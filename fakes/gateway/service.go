package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// defaultKeepalive is the keepalive interval when the client requests none, or
// one that is not a positive number of seconds.
const defaultKeepalive = 90 * time.Second

// service is the process service over the table.
type service struct {
	table Table
	own   clock
	seams Seams
	// shell, when set, holds the words with which every command must begin.
	shell []string
}

var _ processconnect.ProcessHandler = (*service)(nil)

// The errors that an interceptor can distinguish. Their codes are set where
// they are returned.
var (
	ErrNoSelector      = errors.New("no process selected: the selector needs a pid or a tag")
	ErrUnknownSignal   = errors.New("want SIGNAL_SIGTERM or SIGNAL_SIGKILL")
	ErrNoInput         = errors.New("no input: stdin or pty is needed")
	ErrDataBeforeStart = errors.New("data before start: the first message must select the process")
	ErrStdinOfTerminal = errors.New("the process has a terminal: send pty")
	ErrCloseTerminal   = errors.New("cannot close the stdin of a process with a terminal: send Ctrl+D (0x04) instead")
	ErrNoTerminal      = errors.New("the process has no terminal")
)

// List returns the live processes, sorted by pid, with their configuration as
// requested.
func (s *service) List(_ context.Context, _ *connect.Request[envd.ListRequest]) (*connect.Response[envd.ListResponse], error) {
	out := &envd.ListResponse{}
	for _, p := range s.table.List() {
		out.Processes = append(out.Processes, configOf(p))
	}
	return connect.NewResponse(out), nil
}

// Start runs a command and streams its events. A client that disconnects leaves
// the process running; the deadline of the call kills it.
func (s *service) Start(ctx context.Context, req *connect.Request[envd.StartRequest], out *connect.ServerStream[envd.StartResponse]) error {
	sp, err := s.specOf(ctx, req)
	if err != nil {
		return err
	}
	end, limited := s.deadline(ctx, req.Peer().Protocol)
	if limited {
		if sp.Limit = time.Until(end); sp.Limit <= 0 {
			return rpcError(context.DeadlineExceeded)
		}
	}
	p, sub, err := s.table.Start(sp)
	if err != nil {
		return startError(err)
	}
	return s.follow(ctx, &Stream{
		Process: p, Started: true, sub: sub, owner: limited, idle: keepaliveOf(req.Header()),
		Sink: EventSinkFunc(func(e Event) error {
			strict.HoldFlush(ctx, e.More)
			return out.Send(&envd.StartResponse{Event: e.message()})
		}),
	})
}

// deadline returns the latest end of the process of a Start.
func (s *service) deadline(ctx context.Context, protocol string) (time.Time, bool) {
	if s.seams.Deadline != nil {
		return s.seams.Deadline(ctx, protocol)
	}
	return ctx.Deadline()
}

// specOf reads the command of a request.
func (s *service) specOf(ctx context.Context, req *connect.Request[envd.StartRequest]) (Spec, error) {
	sp := Spec{
		Config: req.Msg.GetProcess(), Command: req.Msg.GetProcess().GetCmd(), Tag: req.Msg.Tag,
		User: userOf(ctx), Sandbox: sandboxOf(req.Header()), Stdin: req.Msg.Stdin == nil || *req.Msg.Stdin,
	}
	if sp.Config == nil {
		sp.Config = &envd.ProcessConfig{}
	}
	if !beginsWith(append([]string{sp.Config.GetCmd()}, sp.Config.GetArgs()...), s.shell) {
		return sp, invalid("the command must begin with %q", strings.Join(s.shell, " "))
	}
	var err error
	if pty := req.Msg.GetPty(); pty != nil {
		sp.PTY, err = sizeOf(pty.GetSize())
	}
	return sp, err
}

// maxSize is the largest width and height of a terminal: the kernel keeps 16
// bits of each.
const maxSize = math.MaxUint16

// sizeOf reads the size of a terminal; an absent size is 0 by 0, which means
// unset.
func sizeOf(m *envd.PTY_Size) (*virtual.Size, error) {
	if m.GetCols() > maxSize || m.GetRows() > maxSize {
		return nil, invalid("a terminal of %d columns and %d rows: at most %d of each", m.GetCols(), m.GetRows(), maxSize)
	}
	return &virtual.Size{Cols: m.GetCols(), Rows: m.GetRows()}, nil
}

// Connect streams the events of a live or recently ended process: start, only
// new output, end.
func (s *service) Connect(ctx context.Context, req *connect.Request[envd.ConnectRequest], out *connect.ServerStream[envd.ConnectResponse]) error {
	sel, err := selectorOf(req.Msg.GetProcess())
	if err != nil {
		return err
	}
	p, err := s.table.Attach(sel)
	if err != nil {
		return processError(sel, err)
	}
	return s.follow(ctx, &Stream{
		Process: p, idle: keepaliveOf(req.Header()),
		Sink: EventSinkFunc(func(e Event) error {
			strict.HoldFlush(ctx, e.More)
			return out.Send(&envd.ConnectResponse{Event: e.message()})
		}),
	})
}

func (s *service) follow(ctx context.Context, f *Stream) error {
	defer f.Close()
	f.Table, f.clock, f.Sink = s.table, s.own, strict.Decorated(s.seams.Events, f.Sink)
	if err := strict.Decorated[Follow](s.seams.Follow, follow)(ctx, f); err != nil {
		return rpcError(err)
	}
	return nil
}

// Update resizes the terminal of a process. A request without a size changes
// nothing, as in the real daemon.
func (s *service) Update(_ context.Context, req *connect.Request[envd.UpdateRequest]) (*connect.Response[envd.UpdateResponse], error) {
	p, err := s.named(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if m := req.Msg.GetPty(); m != nil {
		if err := s.resize(p, m.GetSize()); err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(&envd.UpdateResponse{}), nil
}

// resize gives the terminal of p a size.
func (s *service) resize(p *Process, m *envd.PTY_Size) error {
	if p.PTY == nil {
		return connect.NewError(connect.CodeFailedPrecondition, ErrNoTerminal)
	}
	if m == nil {
		return nil
	}
	size, err := sizeOf(m)
	if err != nil {
		return err
	}
	switch err := p.run.Resize(*size); {
	case err == nil:
		return nil
	case hasExited(p):
		return processError(Selector{PID: p.PID}, ErrNotFound)
	default:
		return strict.AsError(err)
	}
}

// SendSignal delivers SIGTERM or SIGKILL.
func (s *service) SendSignal(_ context.Context, req *connect.Request[envd.SendSignalRequest]) (*connect.Response[envd.SendSignalResponse], error) {
	sel, err := selectorOf(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	switch sig := req.Msg.GetSignal(); sig {
	case envd.Signal_SIGNAL_SIGKILL:
		err = s.table.Kill(sel)
	case envd.Signal_SIGNAL_SIGTERM:
		err = s.table.Terminate(sel)
	default:
		return nil, invalid("invalid signal: %s: %w", sig, ErrUnknownSignal)
	}
	if err != nil {
		return nil, processError(sel, err)
	}
	return connect.NewResponse(&envd.SendSignalResponse{}), nil
}

// selectorOf reads a selector; an empty one is refused.
func selectorOf(m *envd.ProcessSelector) (Selector, error) {
	switch s := m.GetSelector().(type) {
	case *envd.ProcessSelector_Pid:
		return Selector{PID: s.Pid}, nil
	case *envd.ProcessSelector_Tag:
		return Selector{Tag: &s.Tag}, nil
	default:
		return Selector{}, invalid("%w", ErrNoSelector)
	}
}

// named returns the process that a selector names.
func (s *service) named(m *envd.ProcessSelector) (*Process, error) {
	sel, err := selectorOf(m)
	if err != nil {
		return nil, err
	}
	p, err := s.table.Find(sel)
	if err != nil {
		return nil, processError(sel, err)
	}
	return p, nil
}

// keepaliveOf returns the keepalive interval of a request.
func keepaliveOf(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Keepalive-Ping-Interval")))
	if err != nil || n <= 0 || n > math.MaxInt32 {
		return defaultKeepalive
	}
	return time.Duration(n) * time.Second
}

// sandboxOf returns the sandbox that a request names.
func sandboxOf(h http.Header) string {
	if id := h.Get("E2b-Sandbox-Id"); id != "" {
		return id
	}
	return defaultSandbox
}

// rpcError converts an error for the client.
func rpcError(err error) *connect.Error {
	if errors.Is(err, errLost) {
		return connect.NewError(connect.CodeResourceExhausted, err)
	}
	return strict.AsError(err)
}

// invalid returns an invalid_argument error.
func invalid(format string, args ...any) *connect.Error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// processError describes ErrNotFound with the selector.
func processError(sel Selector, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return strict.AsError(err)
	}
	if sel.Tag != nil {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with tag %s not found", *sel.Tag))
	}
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with pid %d not found", sel.PID))
}

// startError converts a failure to start a process.
func startError(err error) error {
	if reason, ok := spawnReason(err); ok {
		return invalid("%s", reason)
	}
	return strict.AsError(err)
}
