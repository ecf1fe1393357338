package fakes

import "assay/fakes/virtual"

// exitFaults tell wrongly how a process ended.
func exitFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "exit-code-zeroed",
			Title:  "Every process is said to have ended with exit code 0",
			Breaks: []string{"process.end.exit-code"},
			Source: "cloudflare/sandbox-sdk#873",
		}, onExit(func(e ending) ending { return endingOf(virtual.Status{}) })},
		{Fault{
			ID:     "signal-as-success",
			Title:  "A process that died of a signal is said to have exited with 0",
			Breaks: []string{"process.end.signal"},
			Source: "cloudflare/sandbox-sdk#287",
		}, onExit(func(e ending) ending {
			if !e.exited {
				e = endingOf(virtual.Status{})
			}
			return e
		})},
		{Fault{
			ID:     "signal-unnamed",
			Title:  "The end event of a process that died of a signal does not say so",
			Breaks: []string{"process.end.signal-named"},
			Source: "e2b-dev/infra#90",
		}, onExit(func(e ending) ending {
			if !e.exited {
				e.status, e.err = "", ""
			}
			return e
		})},
		{Fault{
			ID:     "missing-program-hangs",
			Title:  "The stream of a program that does not exist never ends",
			Breaks: []string{"process.start.missing-program", "process.end.exit-code", "commands.end.exit-code"},
			Source: "CubeSandbox#136",
		}, func(s *seams, _ uint64) {
			s.exit = aroundExit(s.exit, func(next exitPath, _ counters) exitPath { return stuckExit{next} })
		}},
		{Fault{
			ID:     "orphan-wedges-end",
			Title:  "The stream of a process never ends when somebody else holds its output 200 ms after the exit",
			Breaks: []string{"process.end.background-child"},
			Source: "agent-compose#364, agent-compose#382: a background child that holds the pipe",
		}, func(s *seams, _ uint64) { s.processes.orphansWedge = true }},
		{Fault{
			ID:     "term-output-lost",
			Title:  "After one SIGTERM in 5 a process loses the last chunk that it writes, of at most 32 KiB",
			Breaks: []string{"process.output.complete"},
			Source: "the E2B daemon, which waits for nothing any more after a signal: seen in 2 of 20 runs",
		}, loseAfterTerm},
	}
}

// onExit changes every end event.
func onExit(change func(ending) ending) func(*seams, uint64) {
	return func(s *seams, _ uint64) {
		s.exit = aroundExit(s.exit, func(next exitPath, _ counters) exitPath { return changedExit{next, change} })
	}
}

// changedExit changes what the end event says.
type changedExit struct {
	exitPath
	change func(ending) ending
}

func (c changedExit) ending(p *process) ending { return c.change(c.exitPath.ending(p)) }

// stuckExit waits, for a program that was not found, until the gateway closes.
type stuckExit struct{ exitPath }

func (s stuckExit) ending(p *process) ending {
	e := s.exitPath.ending(p)
	if e.code == 127 {
		<-p.abandon
	}
	return e
}
