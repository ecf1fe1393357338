package fakes

import (
	"context"
	"errors"

	"connectrpc.com/connect"
)

// inputFaults spoil input on its way to a process.
func inputFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "input-doubled",
			Title:  "Input arrives twice",
			Breaks: []string{"process.input.delivered"},
			Source: "the retry of the old E2B Python SDK: delivered, and sent again",
		}, onStdin(func(next stdinPump) stdinPump { return doubledInput{next} })},
		{Fault{
			ID:     "input-beyond-pipe-lost",
			Title:  "Of one input only the first 64 KiB arrive",
			Breaks: []string{"process.input.delivered", "process.input.close"},
			Source: "AgentENV/cube-gateway: a write to a full pipe that is given up",
		}, onStdin(func(next stdinPump) stdinPump { return shortInput{next} })},
		{Fault{
			ID:     "close-stdin-ignored",
			Title:  "CloseStdin says that it did it and does nothing",
			Breaks: []string{"process.input.close"},
			Source: "e2b-dev/infra#1761, e2b-dev/E2B#1127",
		}, onStdin(func(next stdinPump) stdinPump { return openStdin{next} })},
		{Fault{
			ID:     "stdin-always-open",
			Title:  "Stdin is open though the request said that there is none",
			Breaks: []string{"process.input.disabled", "process.input.disabled-refused"},
			Source: "e2b-dev/E2B#927, e2b-dev/E2B#919, e2b-dev/infra#1093",
		}, onTable(func(next processTable) processTable { return openInput{next} })},
		{Fault{
			ID:     "stdin-default-closed",
			Title:  "A request that does not say whether there is to be stdin gets none",
			Breaks: []string{"process.input.default-open"},
			Source: "e2b-dev/infra#1093: a default of /dev/null, which breaks who sends input",
		}, func(s *seams, _ uint64) { s.processes.stdinClosed = true }},
		{Fault{
			ID:     "stdin-never-open",
			Title:  "Every process reads the end of its input at once, whatever the request said",
			Breaks: []string{"process.input.open", "process.input.default-open", "process.input.delivered", "process.stream-input.delivered"},
			Source: "e2b-dev/E2B#919, e2b-dev/infra#1093: stdin bound to /dev/null for all",
		}, onTable(func(next processTable) processTable { return noInput{next} })},
		{Fault{
			ID:     "input-error-internal",
			Title:  "Input that cannot be taken is an internal error",
			Breaks: []string{"process.input.refused-code"},
			Source: "e2b-dev/infra#3628, e2b-dev/infra#3622",
		}, func(s *seams, _ uint64) {
			s.errors = around(s.errors, func(err error) error {
				if connect.CodeOf(err) == connect.CodeFailedPrecondition {
					return connect.NewError(connect.CodeInternal, errors.New(connectMessage(err)))
				}
				return err
			})
		}},
	}
}

// connectMessage is the text of an error without its code.
func connectMessage(err error) string {
	var e *connect.Error
	if errors.As(err, &e) {
		return e.Message()
	}
	return err.Error()
}

// onStdin puts a decorator around the input of every process.
func onStdin(decorate func(stdinPump) stdinPump) func(*seams, uint64) {
	return func(s *seams, _ uint64) { s.stdin = around(s.stdin, decorate) }
}

// doubledInput writes everything twice.
type doubledInput struct{ stdinPump }

func (d doubledInput) Write(ctx context.Context, b []byte) error {
	if err := d.stdinPump.Write(ctx, b); err != nil {
		return err
	}
	return d.stdinPump.Write(ctx, b)
}

// shortInput writes what fits into a pipe.
type shortInput struct{ stdinPump }

func (s shortInput) Write(ctx context.Context, b []byte) error {
	return s.stdinPump.Write(ctx, b[:min(len(b), pipeSize)])
}

// openStdin cannot be closed.
type openStdin struct{ stdinPump }

// CloseStdin does nothing.
func (openStdin) CloseStdin() {}

// noInput starts every process without stdin.
type noInput struct{ processTable }

func (n noInput) start(s spec) (*process, *subscriber, error) {
	s.input = false
	return n.processTable.start(s)
}

// openInput starts every process with stdin open.
type openInput struct{ processTable }

func (o openInput) start(s spec) (*process, *subscriber, error) {
	s.input = true
	return o.processTable.start(s)
}
