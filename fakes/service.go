package fakes

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
	// events puts the decorators of the event seam around a sink.
	events func(eventSink) eventSink
}

var _ processconnect.ProcessHandler = (*service)(nil)

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
// the process running; Connect-Timeout-Ms kills it.
func (s *service) Start(ctx context.Context, req *connect.Request[envd.StartRequest], out *connect.ServerStream[envd.StartResponse]) error {
	if req.Msg.GetPty() != nil {
		return connect.NewError(connect.CodeUnimplemented, errors.New("this gateway has no PTY: leave out the field pty"))
	}
	sp := spec{
		config: req.Msg.GetProcess(), command: req.Msg.GetProcess().GetCmd(), tag: req.Msg.Tag,
		user: userOf(ctx), sandbox: sandboxOf(req.Header()), input: req.Msg.Stdin == nil || *req.Msg.Stdin,
	}
	if sp.config == nil {
		sp.config = &envd.ProcessConfig{}
	}
	if deadline, ok := ctx.Deadline(); ok {
		if sp.limit = time.Until(deadline); sp.limit <= 0 {
			return rpcError(context.DeadlineExceeded)
		}
	}
	p, sub, err := s.table.start(sp)
	if err != nil {
		return startError(err)
	}
	sink := eventSinkFunc(func(e event) error {
		holdFlush(ctx, e.more)
		return out.Send(&envd.StartResponse{Event: e.message()})
	})
	return s.follow(ctx, &follower{p: p, sub: sub, sink: sink, owner: true, idle: keepaliveOf(req.Header())})
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
		holdFlush(ctx, e.more)
		return out.Send(&envd.ConnectResponse{Event: e.message()})
	})
	return s.follow(ctx, &follower{p: p, sub: p.hub.subscribe(), sink: sink, idle: keepaliveOf(req.Header())})
}

func (s *service) follow(ctx context.Context, f *follower) error {
	defer f.sub.close()
	f.table, f.clock, f.sink = s.table, s.own, s.events(f.sink)
	if err := f.run(ctx); err != nil {
		return rpcError(err)
	}
	return nil
}

// Update would resize a PTY. This gateway has none, so a size is refused, and
// a request without one changes nothing, as in the real daemon.
func (s *service) Update(_ context.Context, req *connect.Request[envd.UpdateRequest]) (*connect.Response[envd.UpdateResponse], error) {
	sel, err := selectorOf(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if _, err := s.table.find(sel); err != nil {
		return nil, processError(sel, err)
	}
	if req.Msg.GetPty() != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("the process has no PTY"))
	}
	return connect.NewResponse(&envd.UpdateResponse{}), nil
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
		return nil, invalid("invalid signal: %s: SIGNAL_SIGTERM and SIGNAL_SIGKILL can be sent", sig)
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
		return selector{}, invalid("no process selected: the selector needs a pid or a tag")
	}
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

// invalid is an invalid_argument error.
func invalid(format string, args ...any) *connect.Error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}

// processError is errNotFound in words.
func processError(sel selector, err error) error {
	if !errors.Is(err, errNotFound) {
		return rpcError(err)
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
	return rpcError(err)
}
