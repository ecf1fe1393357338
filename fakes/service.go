package fakes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/virtual"
	envd "assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
)

// defaultKeepalive is the interval of keepalive events when the client asks
// for none, or for one that is no positive number of seconds.
const defaultKeepalive = 90 * time.Second

// service is the process service over the table.
type service struct {
	table processTable
	own   clock
	seams *seams
	// shell, when set, is how every command has to begin.
	shell []string
}

var _ processconnect.ProcessHandler = (*service)(nil)

// What a request can ask for that is refused. Their codes are given where they
// are returned; a decorator of the errors tells them by these.
var (
	errNoSelector      = errors.New("no process selected: the selector needs a pid or a tag")
	errUnknownSignal   = errors.New("SIGNAL_SIGTERM and SIGNAL_SIGKILL can be sent")
	errNoInput         = errors.New("no input: stdin or pty is needed")
	errDataBeforeStart = errors.New("data before start: the first message must say which process is meant")
	errStdinOfTerminal = errors.New("the process has a terminal: send pty")
	errCloseTerminal   = errors.New("cannot close the stdin of a process with a terminal: send Ctrl+D (0x04) instead")
	errNoTerminal      = errors.New("the process has no terminal")
)

// List returns the live processes by pid, with the configuration as it was
// requested.
func (s *service) List(context.Context, *connect.Request[envd.ListRequest]) (*connect.Response[envd.ListResponse], error) {
	out := &envd.ListResponse{}
	for _, p := range s.table.list() {
		out.Processes = append(out.Processes, configOf(p))
	}
	return connect.NewResponse(out), nil
}

// Start runs a command and streams its events. A client that goes away leaves
// the process running; the deadline of the call kills it.
func (s *service) Start(ctx context.Context, req *connect.Request[envd.StartRequest], out *connect.ServerStream[envd.StartResponse]) error {
	sp, err := s.specOf(ctx, req)
	if err != nil {
		return err
	}
	spared := s.seams.spares != nil && s.seams.spares(req.Peer().Protocol)
	if deadline, ok := ctx.Deadline(); ok && !spared {
		if sp.limit = time.Until(deadline); sp.limit <= 0 {
			return strict.AsError(context.DeadlineExceeded)
		}
	}
	p, sub, err := s.table.start(sp)
	if err != nil {
		return startError(err)
	}
	if s.seams.mute.strikes() {
		sub.close()
		<-ctx.Done()
		return strict.AsError(ctx.Err())
	}
	sink := eventSinkFunc(func(e event) error {
		strict.HoldFlush(ctx, e.more)
		return out.Send(&envd.StartResponse{Event: e.message()})
	})
	if hasExpired(ctx) {
		sub.close()
		return s.expired(p, sink)
	}
	err = s.follow(ctx, &follower{p: p, sub: sub, sink: sink, owner: !spared, idle: keepaliveOf(req.Header())})
	if errors.Is(ctx.Err(), context.Canceled) && s.seams.gone != nil {
		s.seams.gone(s.table, p)
	}
	return err
}

// expired ends a stream whose deadline had passed before it came.
func (s *service) expired(p *process, sink eventSink) error {
	if s.seams.expiredStarts.strikes() {
		if err := apply(s.seams.events, sink).send(event{kind: eventStart, pid: p.pid}); err != nil {
			return strict.AsError(err)
		}
	}
	return strict.AsError(context.DeadlineExceeded)
}

// specOf reads what is to be run.
func (s *service) specOf(ctx context.Context, req *connect.Request[envd.StartRequest]) (spec, error) {
	sp := spec{
		config: req.Msg.GetProcess(), command: req.Msg.GetProcess().GetCmd(), tag: req.Msg.Tag,
		user: userOf(ctx), sandbox: sandboxOf(req.Header()), input: !s.seams.processes.stdinClosed,
	}
	if req.Msg.Stdin != nil {
		sp.input = *req.Msg.Stdin
	}
	if sp.config == nil {
		sp.config = &envd.ProcessConfig{}
	}
	words := append([]string{sp.config.GetCmd()}, sp.config.GetArgs()...)
	if len(words) < len(s.shell) || !slices.Equal(words[:len(s.shell)], s.shell) {
		return sp, invalid("only commands that begin with %q are run here", strings.Join(s.shell, " "))
	}
	var err error
	if pty := req.Msg.GetPty(); pty != nil {
		sp.pty, err = s.sizeOf(pty.GetSize())
	}
	return sp, err
}

// maxSize is the largest width and height of a terminal: the kernel keeps 16
// bits of each.
const maxSize = math.MaxUint16

// sizeOf reads the size of a terminal; none is 0 by 0, a size nobody has set.
func (s *service) sizeOf(m *envd.PTY_Size) (*virtual.Size, error) {
	if s.seams.processes.sizesWrap {
		return &virtual.Size{Cols: m.GetCols() & maxSize, Rows: m.GetRows() & maxSize}, nil
	}
	if m.GetCols() > maxSize || m.GetRows() > maxSize {
		return nil, invalid("a terminal of %d columns and %d rows: at most %d of each", m.GetCols(), m.GetRows(), maxSize)
	}
	return &virtual.Size{Cols: m.GetCols(), Rows: m.GetRows()}, nil
}

// Connect streams the events of a process that runs, or that ended of late:
// start, only new output, end.
func (s *service) Connect(ctx context.Context, req *connect.Request[envd.ConnectRequest], out *connect.ServerStream[envd.ConnectResponse]) error {
	sel, err := selectorOf(req.Msg.GetProcess())
	if err != nil {
		return err
	}
	p, err := s.table.attach(sel)
	if err != nil {
		return processError(sel, err)
	}
	sink := eventSinkFunc(func(e event) error {
		strict.HoldFlush(ctx, e.more)
		return out.Send(&envd.ConnectResponse{Event: e.message()})
	})
	if hasExpired(ctx) {
		return s.expired(p, sink)
	}
	return s.follow(ctx, &follower{p: p, sub: p.hub.subscribe(), sink: sink, idle: keepaliveOf(req.Header())})
}

func (s *service) follow(ctx context.Context, f *follower) error {
	defer f.sub.close()
	f.table, f.clock, f.sink = s.table, s.own, apply(s.seams.events, f.sink)
	if err := f.run(ctx); err != nil {
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
func (s *service) resize(p *process, m *envd.PTY_Size) error {
	if p.pty == nil {
		if s.seams.processes.updatesAnything {
			return nil
		}
		return connect.NewError(connect.CodeFailedPrecondition, errNoTerminal)
	}
	if m == nil || s.seams.processes.neverResizes {
		return nil
	}
	size, err := s.sizeOf(m)
	if err != nil {
		return err
	}
	switch err := p.run.Resize(*size); {
	case err == nil:
		return nil
	case hasExited(p):
		return processError(selector{pid: p.pid}, errNotFound)
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
		err = s.table.kill(sel)
	case envd.Signal_SIGNAL_SIGTERM:
		err = s.table.terminate(sel)
	default:
		return nil, invalid("invalid signal: %s: %w", sig, errUnknownSignal)
	}
	if err != nil {
		return nil, processError(sel, err)
	}
	return connect.NewResponse(&envd.SendSignalResponse{}), nil
}

// selectorOf reads a selector; one that selects nothing is refused.
func selectorOf(m *envd.ProcessSelector) (selector, error) {
	switch s := m.GetSelector().(type) {
	case *envd.ProcessSelector_Pid:
		return selector{pid: s.Pid}, nil
	case *envd.ProcessSelector_Tag:
		return selector{tag: &s.Tag}, nil
	default:
		return selector{}, invalid("%w", errNoSelector)
	}
}

// named is the process that a selector names.
func (s *service) named(m *envd.ProcessSelector) (*process, error) {
	sel, err := selectorOf(m)
	if err != nil {
		return nil, err
	}
	p, err := s.table.find(sel)
	if err != nil {
		return nil, processError(sel, err)
	}
	return p, nil
}

// keepaliveOf is the interval that a request asks for.
func keepaliveOf(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Keepalive-Ping-Interval")))
	if err != nil || n <= 0 || n > math.MaxInt32 {
		return defaultKeepalive
	}
	return time.Duration(n) * time.Second
}

// sandboxOf is the sandbox that a request names.
func sandboxOf(h http.Header) string {
	if id := h.Get("E2b-Sandbox-Id"); id != "" {
		return id
	}
	return defaultSandbox
}

// rpcError is an error as a client sees it.
func rpcError(err error) *connect.Error {
	if errors.Is(err, errLost) {
		return connect.NewError(connect.CodeResourceExhausted, err)
	}
	return strict.AsError(err)
}

// invalid is an invalid_argument error.
func invalid(format string, args ...any) *connect.Error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// processError is errNotFound in words.
func processError(sel selector, err error) error {
	if !errors.Is(err, errNotFound) {
		return strict.AsError(err)
	}
	if sel.tag != nil {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with tag %s not found", *sel.tag))
	}
	return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with pid %d not found", sel.pid))
}

// startError is a failure before there was a process.
func startError(err error) error {
	if reason, ok := spawnReason(err); ok {
		return invalid("%s", reason)
	}
	return strict.AsError(err)
}
