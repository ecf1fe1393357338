package zoo

import (
	"time"

	"assay/fakes/gateway"
	"assay/fakes/virtual"
)

// exitFaults returns the faults in how the end of a process is reported.
func exitFaults() []fault {
	return []fault{
		{Fault{
			ID:     "exit-code-zeroed",
			Title:  "Every process is reported with exit code 0",
			Breaks: []string{"process.end.exit-code"},
			Source: "cloudflare/sandbox-sdk#873",
		}, onExit(func(e gateway.Ending) gateway.Ending { return gateway.EndingOf(virtual.Status{}) })},
		{Fault{
			ID:     "signal-as-success",
			Title:  "A process killed by a signal is reported as exited with 0",
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
			Title:  "The end event of a process killed by a signal does not report the signal",
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
			Title:  "The stream of a missing program never ends",
			Breaks: []string{"process.start.missing-program", "process.end.exit-code", "commands.end.exit-code", "stdio.start.arguments"},
			Source: "CubeSandbox#136",
		}, onEnding(stuckExit)},
		{Fault{
			ID:     "orphan-wedges-end",
			Title:  "The stream of a process never ends when another process holds its output 200 ms after the exit",
			Breaks: []string{"process.end.background-child"},
			Source: "agent-compose#364, agent-compose#382: a background child that holds the pipe",
		}, func(b *build) { b.Seams.Drain = wedgedDrain }},
		{Fault{
			ID:     "term-output-lost",
			Title:  "After 1 SIGTERM in 5, a process loses the last chunk of its output, of at most 32 KiB",
			Breaks: []string{"process.output.complete"},
			Source: "the E2B daemon, which stops waiting for output after a signal: seen in 2 of 20 runs",
		}, loseAfterTerm},
	}
}

// exitVariants returns the variants in the exit code of a process killed by a
// signal.
func exitVariants() []variant {
	return []variant{
		{Variant{
			ID:     "signal-code-137",
			Title:  "The exit code of a process killed by a signal is 128 plus the signal number",
			Source: "shells, in $?, and Docker",
		}, signalCode(128)},
		{Variant{
			ID:     "signal-code-9",
			Title:  "The exit code of a process killed by a signal is the signal number",
			Source: "gateways that take the low bits of the status of wait(2)",
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

// onExit changes every end event, without access to the process.
func onExit(change func(gateway.Ending) gateway.Ending) func(*build) {
	return onEnding(func(_ *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending { return change(e) })
}

// stuckExit holds the end event of a missing program back until the gateway
// closes.
func stuckExit(p *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending {
	if e.Code == 127 {
		<-p.Abandoned()
	}
	return e
}

// signalCode sets the exit code of a process killed by a signal to base plus
// the signal number.
func signalCode(base int32) func(*build) {
	return onEnding(func(p *gateway.Process, e gateway.Ending, _ gateway.Counters) gateway.Ending {
		if sig := p.Status().Signal; sig != 0 {
			e.Code = base + int32(sig) //nolint:gosec // a signal is a small number
		}
		return e
	})
}

// orphanGrace is how long after the exit output counts as held by another
// process: a process releases its own output at once.
const orphanGrace = 200 * time.Millisecond

// wedgedDrain never sees the end of output that another process holds after the
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
