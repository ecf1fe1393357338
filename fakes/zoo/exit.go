package zoo

import (
	"time"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// exitFaults tell wrongly how a process ended.
func exitFaults() []fault {
	return []fault{
		{Fault{
			ID:     "exit-code-zeroed",
			Title:  "Every process is said to have ended with exit code 0",
			Breaks: []string{"process.end.exit-code"},
			Source: "cloudflare/sandbox-sdk#873",
		}, onExit(func(e gateway.Ending) gateway.Ending { return gateway.EndingOf(virtual.Status{}) })},
		{Fault{
			ID:     "signal-as-success",
			Title:  "A process that died of a signal is said to have exited with 0",
			Breaks: []string{"process.end.signal"},
			Source: "cloudflare/sandbox-sdk#287",
		}, onExit(func(e gateway.Ending) gateway.Ending {
			if !e.Exited {
				e = gateway.EndingOf(virtual.Status{})
			}
			return e
		})},
		{Fault{
			ID:     "signal-unnamed",
			Title:  "The end event of a process that died of a signal does not say so",
			Breaks: []string{"process.end.signal-named"},
			Source: "e2b-dev/infra#90",
		}, onExit(func(e gateway.Ending) gateway.Ending {
			if !e.Exited {
				e.Status, e.Err = "", ""
			}
			return e
		})},
		{Fault{
			ID:     "missing-program-hangs",
			Title:  "The stream of a program that does not exist never ends",
			Breaks: []string{"process.start.missing-program", "process.end.exit-code", "commands.end.exit-code"},
			Source: "CubeSandbox#136",
		}, onEnding(stuckExit)},
		{Fault{
			ID:     "orphan-wedges-end",
			Title:  "The stream of a process never ends when somebody else holds its output 200 ms after the exit",
			Breaks: []string{"process.end.background-child"},
			Source: "agent-compose#364, agent-compose#382: a background child that holds the pipe",
		}, func(b *build) { b.Seams.Drain = wedgedDrain }},
		{Fault{
			ID:     "term-output-lost",
			Title:  "After one SIGTERM in 5 a process loses the last chunk that it writes, of at most 32 KiB",
			Breaks: []string{"process.output.complete"},
			Source: "the E2B daemon, which waits for nothing any more after a signal: seen in 2 of 20 runs",
		}, loseAfterTerm},
	}
}

// exitVariants have another exit code for a death by a signal.
func exitVariants() []variant {
	return []variant{
		{Variant{
			ID:     "signal-code-137",
			Title:  "The exit code of a process that died of a signal is 128 and the number of the signal",
			Source: "what a shell says of it in $?, and Docker",
		}, signalCode(128)},
		{Variant{
			ID:     "signal-code-9",
			Title:  "The exit code of a process that died of a signal is the number of the signal",
			Source: "gateways that take the low bits of what wait(2) gives",
		}, signalCode(0)},
	}
}

// onEnding changes every end event.
func onEnding(change func(p *gateway.Process, e gateway.Ending, books gateway.Counters) gateway.Ending) func(*build) {
	return func(b *build) {
		inner := b.Seams.Ending
		b.Seams.Ending = func(p *gateway.Process, e gateway.Ending, books gateway.Counters) gateway.Ending {
			if inner != nil {
				e = inner(p, e, books)
			}
			return change(p, e, books)
		}
	}
}

// onExit changes every end event, without knowledge of the process.
func onExit(change func(gateway.Ending) gateway.Ending) func(*build) {
	return onEnding(func(_ *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending { return change(e) })
}

// stuckExit waits, for a program that was not found, until the gateway closes.
func stuckExit(p *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending {
	if e.Code == 127 {
		<-p.Abandoned()
	}
	return e
}

// signalCode has the number of a signal, and base, for an exit code.
func signalCode(base int32) func(*build) {
	return onEnding(func(p *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending {
		if sig := p.Status().Signal; sig != 0 {
			e.Code = base + int32(sig) //nolint:gosec // a signal is a small number
		}
		return e
	})
}

// orphanGrace is how long after the exit an output counts as held by somebody
// else: a process lets go of its own at once.
const orphanGrace = 200 * time.Millisecond

// wedgedDrain does not see the end of an output that somebody else holds at the
// exit.
func wedgedDrain(p *gateway.Process) {
	held := time.NewTimer(orphanGrace)
	defer held.Stop()
	select {
	case <-p.Drained():
		return
	case <-held.C:
	case <-p.Abandoned():
	}
	<-p.Abandoned()
}
