package zoo

import (
	"context"

	"connectrpc.com/connect"

	"assay/fakes/gateway"

	envd "assay/internal/envd/process"
)

// inputFaults returns the faults in the input of a process.
func inputFaults() []fault {
	return []fault{
		{Fault{
			ID:     "input-doubled",
			Title:  "Input arrives twice",
			Breaks: []string{"process.input.delivered"},
			Source: "the retry of the old E2B Python SDK, which sends delivered input again",
		}, onStdin(func(next gateway.Input) gateway.Input { return doubledInput{next} })},
		{Fault{
			ID:     "input-beyond-pipe-lost",
			Title:  "Only the first 64 KiB of an input arrive",
			Breaks: []string{"process.input.delivered", "process.input.close"},
			Source: "AgentENV/cube-gateway: a write to a full pipe is abandoned",
		}, onStdin(func(next gateway.Input) gateway.Input { return shortInput{next} })},
		{Fault{
			ID:     "stdin-ends-after-write",
			Title:  "The input of a process ends after the first write",
			Breaks: []string{"process.input.open", "process.input.delivered"},
			Source: "gateways that run a command as one call with its whole input, such as Python's communicate()",
		}, onStdin(func(next gateway.Input) gateway.Input { return onceInput{next} })},
		{Fault{
			ID:     "close-stdin-ignored",
			Title:  "CloseStdin succeeds but does nothing",
			Breaks: []string{"process.input.close"},
			Source: "e2b-dev/infra#1761, e2b-dev/E2B#1127",
		}, onStdin(func(next gateway.Input) gateway.Input { return openStdin{next} })},
		{Fault{
			ID:     "stdin-always-open",
			Title:  "Stdin is open although the request disables it",
			Breaks: []string{"process.input.disabled", "process.input.disabled-refused"},
			Source: "e2b-dev/E2B#927, e2b-dev/E2B#919, e2b-dev/infra#1093",
		}, onTable(func(next gateway.Table) gateway.Table { return openInput{next} })},
		{Fault{
			ID:     "stdin-default-closed",
			Title:  "A request without the field stdin gets no stdin",
			Breaks: []string{"process.input.default-open"},
			Source: "e2b-dev/infra#1093: a default of /dev/null, which breaks clients that send input",
		}, onMessages(stdinClosed)},
		{Fault{
			ID:     "stdin-never-open",
			Title:  "Every process reads the end of its input at once, whatever the request says",
			Breaks: []string{"process.input.open", "process.input.default-open", "process.input.delivered", "process.stream-input.delivered"},
			Source: "e2b-dev/E2B#919, e2b-dev/infra#1093: stdin bound to /dev/null for all",
		}, onTable(func(next gateway.Table) gateway.Table { return noInput{next} })},
		{Fault{
			ID:     "input-error-internal",
			Title:  "Undeliverable input is an internal error",
			Breaks: []string{"process.input.refused-code"},
			Source: "e2b-dev/infra#3628, e2b-dev/infra#3622",
		}, onProcedureErrors(func(_ string, err error) error {
			if connect.CodeOf(err) == connect.CodeFailedPrecondition {
				return recode(err, connect.CodeInternal)
			}
			return err
		})},
	}
}

// stdinClosed starts a process without stdin if the request has no field stdin.
func stdinClosed(m any) {
	if start, ok := m.(*envd.StartRequest); ok && start.Stdin == nil {
		start.Stdin = new(false)
	}
}

// onStdin puts a decorator around the input of every process.
func onStdin(decorate func(gateway.Input) gateway.Input) func(*build) {
	return func(b *build) { b.Seams.Input = around(b.Seams.Input, decorate) }
}

// doubledInput writes everything twice.
type doubledInput struct{ gateway.Input }

func (d doubledInput) Write(ctx context.Context, b []byte) error {
	if err := d.Input.Write(ctx, b); err != nil {
		return err
	}
	return d.Input.Write(ctx, b)
}

// shortInput writes no more than fits into a pipe.
type shortInput struct{ gateway.Input }

func (s shortInput) Write(ctx context.Context, b []byte) error {
	return s.Input.Write(ctx, b[:min(len(b), pipeSize)])
}

// onceInput closes stdin after a write.
type onceInput struct{ gateway.Input }

func (o onceInput) Write(ctx context.Context, b []byte) error {
	defer o.CloseStdin()
	return o.Input.Write(ctx, b)
}

// openStdin ignores CloseStdin.
type openStdin struct{ gateway.Input }

// CloseStdin does nothing.
func (openStdin) CloseStdin() {}

// noInput starts every process without stdin.
type noInput struct{ gateway.Table }

func (n noInput) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	s.Stdin = false
	return n.Table.Start(s)
}

// openInput starts every process with stdin open.
type openInput struct{ gateway.Table }

func (o openInput) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	s.Stdin = true
	return o.Table.Start(s)
}
