package zoo

import (
	"math"
	"sync/atomic"

	"assay/fakes/gateway"
	"assay/fakes/virtual"

	envd "assay/internal/envd/process"
)

// terminalFaults returns the faults in terminals.
func terminalFaults() []fault {
	return []fault{
		{Fault{
			ID:     "terminal-size-ignored",
			Title:  "Every terminal begins with 80 columns and 24 rows",
			Breaks: []string{"process.pty.size"},
			Source: "gateways that open a terminal with the defaults of a library",
		}, onStart(func(s *gateway.Spec) {
			if s.PTY != nil {
				s.PTY = &virtual.Size{Cols: 80, Rows: 24}
			}
		})},
		{Fault{
			ID:     "terminal-never-resized",
			Title:  "Update of a terminal succeeds but does nothing",
			Breaks: []string{"process.pty.resize", "process.pty.resize-signal"},
			Source: "gateways that store the size and do not tell the kernel",
		}, onMessages(neverResizes)},
		{Fault{
			ID:     "terminal-is-pipe",
			Title:  "A process with a requested terminal gets pipes, and its output is reported as terminal output",
			Breaks: []string{"process.pty.is-terminal", "process.pty.echo", "process.pty.output-stream"},
			Source: "gateways that accept the field without having terminals: the SDKs' shells see no prompt",
		}, pipesForTerminals},
		{Fault{
			ID:     "terminal-as-stdout",
			Title:  "The output of a terminal arrives as standard output",
			Breaks: []string{"process.pty.output-stream"},
			Source: "gateways with one pump for all output; the SDKs' terminals stay empty",
		}, onEvents(terminalAsStdout)},
		{Fault{
			ID:     "terminal-begins-late",
			Title:  "Every second terminal loses the first piece of its output",
			Breaks: []string{"process.pty.output-complete", "process.pty.echo"},
			Source: "the E2B daemon under load: the process writes before the reader is attached",
		}, func(b *build) { beginTerminalsLate(b, 2) }},
	}
}

// terminalAsStdout sends terminal output as stdout.
func terminalAsStdout(next gateway.EventSink) gateway.EventSink {
	return gateway.EventSinkFunc(func(e gateway.Event) error {
		if e.Kind == gateway.EventData && e.Chunk.Stream == virtual.PTY {
			e.Chunk.Stream = virtual.Stdout
		}
		return next.Send(e)
	})
}

// lateTerminals is the number of the daemon's terminals of which one begins
// late.
const lateTerminals = 20

// beginTerminalsLate drops the first piece of output of one terminal in so many.
func beginTerminalsLate(b *build, of uint64) {
	lost := newShare(1, of, b.seed)
	onOutput(func(next gateway.Output) gateway.Output { return &lateTerminal{Output: next, lost: lost} })(b)
}

// neverResizes drops the new size of a terminal.
func neverResizes(m any) {
	if update, ok := m.(*envd.UpdateRequest); ok && update.Pty != nil {
		update.Pty.Size = nil
	}
}

// sizesWrap keeps the low 16 bits of the width and height of a terminal.
func sizesWrap(m any) {
	asks, ok := m.(interface{ GetPty() *envd.PTY })
	if !ok || asks.GetPty().GetSize() == nil {
		return
	}
	size := asks.GetPty().Size
	size.Cols, size.Rows = size.Cols&math.MaxUint16, size.Rows&math.MaxUint16
}

// pipesForTerminals runs a process with a requested terminal on pipes, and
// reports its output as terminal output.
func pipesForTerminals(b *build) {
	onMessages(neverResizes)(b)
	b.Seams.Sandbox = around(b.Seams.Sandbox, func(next gateway.Sandbox) gateway.Sandbox { return pipes{next} })
}

// pipes is a sandbox without terminals.
type pipes struct{ gateway.Sandbox }

func (p pipes) Start(s virtual.Spec) (gateway.Run, error) {
	if s.PTY != nil {
		write := s.Output
		s.PTY, s.Output = nil, func(_ virtual.Stream, b []byte) { write(virtual.PTY, b) }
	}
	return p.Sandbox.Start(s)
}

// lateTerminal drops the first piece of output of a share of the terminals, as
// if nobody read it yet.
type lateTerminal struct {
	gateway.Output
	lost  *share
	begun atomic.Bool
}

func (l *lateTerminal) Write(s virtual.Stream, p []byte) {
	if s == virtual.PTY && !l.begun.Swap(true) && l.lost.strikes() {
		return
	}
	l.Output.Write(s, p)
}
