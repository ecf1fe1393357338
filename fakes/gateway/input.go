package gateway

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"assay/fakes/strict"
	envd "assay/internal/envd/process"
)

// SendInput writes to stdin. Only this call blocks while the pipe is full.
func (s *service) SendInput(ctx context.Context, req *connect.Request[envd.SendInputRequest]) (*connect.Response[envd.SendInputResponse], error) {
	p, err := s.named(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if err := s.feed(ctx, p, req.Msg); err != nil {
		return nil, err
	}
	return connect.NewResponse(&envd.SendInputResponse{}), nil
}

// CloseStdin closes stdin. It is idempotent and accepts a process without
// stdin, but not one with a terminal, whose input ends with Ctrl+D.
func (s *service) CloseStdin(_ context.Context, req *connect.Request[envd.CloseStdinRequest]) (*connect.Response[envd.CloseStdinResponse], error) {
	p, err := s.named(req.Msg.GetProcess())
	if err != nil {
		return nil, err
	}
	if p.PTY != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, ErrCloseTerminal)
	}
	p.input.CloseStdin()
	return connect.NewResponse(&envd.CloseStdinResponse{}), nil
}

// StreamInput applies its messages as they arrive. A start message selects the
// process and comes before the first data.
func (s *service) StreamInput(ctx context.Context, in *connect.ClientStream[envd.StreamInputRequest]) (*connect.Response[envd.StreamInputResponse], error) {
	var p *Process
	for in.Receive() {
		switch m := in.Msg().GetEvent().(type) {
		case *envd.StreamInputRequest_Start:
			var err error
			if p, err = s.named(m.Start.GetProcess()); err != nil {
				return nil, err
			}
		case *envd.StreamInputRequest_Data:
			if p == nil {
				return nil, invalid("%w", ErrDataBeforeStart)
			}
			if err := s.feed(ctx, p, m.Data); err != nil {
				return nil, err
			}
		case *envd.StreamInputRequest_Keepalive:
		default:
			return nil, invalid("a message without an event: want start, data or keepalive")
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(&envd.StreamInputResponse{}), nil
}

// inputMessage is a message with input.
type inputMessage interface {
	proto.Message
	GetInput() *envd.ProcessInput
}

// feed writes the input of a message to p.
func (s *service) feed(ctx context.Context, p *Process, in inputMessage) error {
	switch m := in.GetInput().GetInput().(type) {
	case *envd.ProcessInput_Stdin:
		if p.PTY != nil {
			return connect.NewError(connect.CodeFailedPrecondition, ErrStdinOfTerminal)
		}
		return inputError(p, p.input.Write(ctx, m.Stdin))
	case *envd.ProcessInput_Pty:
		if p.PTY == nil {
			return connect.NewError(connect.CodeFailedPrecondition, ErrNoTerminal)
		}
		return inputError(p, p.input.Write(ctx, m.Pty))
	default:
		return invalid("%w", ErrNoInput)
	}
}

// inputError returns why input did not reach p: p has ended, the call ended
// first, or no process reads stdin.
func inputError(p *Process, err error) error {
	var known *connect.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return strict.AsError(err)
	case hasExited(p):
		return processError(Selector{PID: p.PID}, ErrNotFound)
	default:
		return connect.NewError(connect.CodeFailedPrecondition, err)
	}
}

func hasExited(p *Process) bool {
	select {
	case <-p.run.Exited():
		return true
	default:
		return !p.isLive()
	}
}
