package fakes

import "assay/fakes/virtual"

// terminalFaults spoil what a terminal is for.
func terminalFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "terminal-size-ignored",
			Title:  "Every terminal begins with 80 columns and 24 rows",
			Breaks: []string{"process.pty.size"},
			Source: "gateways that open a terminal with the defaults of a library",
		}, onStart(func(s *spec) {
			if s.pty != nil {
				s.pty = &virtual.Size{Cols: 80, Rows: 24}
			}
		})},
		{Fault{
			ID:     "terminal-never-resized",
			Title:  "Update of a terminal says that it did it and does nothing",
			Breaks: []string{"process.pty.resize", "process.pty.resize-signal"},
			Source: "gateways that store the size and do not tell the kernel",
		}, func(s *seams, _ uint64) { s.processes.neverResizes = true }},
		{Fault{
			ID:     "terminal-is-pipe",
			Title:  "A process that is to have a terminal has pipes, and its output is said to come from a terminal",
			Breaks: []string{"process.pty.is-terminal", "process.pty.echo", "process.pty.output-stream"},
			Source: "gateways that know the field and have no terminals: the SDKs' shells see no prompt",
		}, func(s *seams, _ uint64) { s.processes.pipesForTerminals, s.processes.neverResizes = true, true }},
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
			Source: "the E2B daemon under load: the process writes before the reader is there",
		}, func(s *seams, seed uint64) { beginTerminalsLate(s, 2, seed) }},
	}
}

// terminalAsStdout forgets that output came from a terminal.
func terminalAsStdout(next eventSink) eventSink {
	return eventSinkFunc(func(e event) error {
		if e.kind == eventData && e.chunk.stream == virtual.PTY {
			e.chunk.stream = virtual.Stdout
		}
		return next.send(e)
	})
}

// lateTerminals is in how many terminals of the daemon one begins late.
const lateTerminals = 20

// beginTerminalsLate loses the first piece of one in so many terminals.
func beginTerminalsLate(s *seams, of, seed uint64) {
	lost := newShare(1, of, seed)
	s.output = around(s.output, func(next output) output { return &lateTerminal{output: next, lost: lost} })
}

// asTerminal says of all output that it came from a terminal.
type asTerminal struct{ output }

func (a asTerminal) write(_ virtual.Stream, p []byte) { a.output.write(virtual.PTY, p) }
