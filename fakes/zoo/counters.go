package zoo

import (
	"sync/atomic"

	"assay/fakes/gateway"
)

// countFaults returns the faults in the counters.
func countFaults() []fault {
	return []fault{
		{Fault{
			ID:     "kill-counted-twice",
			Title:  "A killed command is counted at the kill and again at its death",
			Breaks: []string{"coppice.finalize.once", "coppice.metrics.partition"},
			Source: "maximhq/bifrost#7005",
		}, onEnding(countAgain)},
		{Fault{
			ID:     "kill-counted-as-error",
			Title:  "A killed command counts as error",
			Breaks: []string{"coppice.metrics.status"},
			Source: "PostgREST#4622: one of several paths counts differently",
		}, onCount(func(next gateway.Counters) gateway.Counters { return noKills{next} })},
		{Fault{
			ID:     "spawn-failure-active",
			Title:  "A command that fails to start counts as active forever",
			Breaks: []string{"coppice.metrics.spawn-failure"},
			Source: "traefik/traefik#10733: a gauge that drifts on an error before the start",
		}, func(b *build) {
			drift := driftingGauge(b)
			onTable(func(next gateway.Table) gateway.Table { return leakyStart{next, drift} })(b)
		}},
		{Fault{
			ID:     "lost-client-active",
			Title:  "A command whose client disconnected counts as active forever",
			Breaks: []string{"coppice.metrics.partition"},
			Source: "ollama/ollama#17131",
		}, func(b *build) {
			drift := driftingGauge(b)
			onGone(func(*gateway.Stream) { drift.Add(1) })(b)
		}},
		{Fault{
			ID:     "labels-swapped",
			Title:  "A successful command counts as error, and a failed one as ok",
			Breaks: []string{"coppice.metrics.status"},
			Source: "agentscope-ai/agentscope-java#2793: an omitted exit code of 0 is read as a failure",
		}, onCount(func(next gateway.Counters) gateway.Counters { return swapped{next} })},
		{Fault{
			ID:     "gauge-one-too-high",
			Title:  "The gauge of active commands is one too high",
			Breaks: []string{"coppice.metrics.at-rest"},
			Source: "soketi#1195, fluent-bit#8868: a gauge raised on a path that never lowers it",
		}, func(b *build) { driftingGauge(b).Add(1) }},
	}
}

// onCount decorates the counters as they are written.
func onCount(decorate func(next gateway.Counters) gateway.Counters) func(*build) {
	return func(b *build) { b.Seams.Count = around(b.Seams.Count, decorate) }
}

// driftingGauge makes the gauge of active commands too high by a number.
func driftingGauge(b *build) *atomic.Int64 {
	drift := &atomic.Int64{}
	b.Seams.Tally = around(b.Seams.Tally, func(t gateway.Tally) gateway.Tally {
		t.Active += int(drift.Load())
		return t
	})
	return drift
}

// countAgain counts a killed command again at its end.
func countAgain(p *gateway.Process, e gateway.Ending, books gateway.Counters) gateway.Ending {
	if p.Killed() {
		books.Finished(gateway.FinishKilled)
	}
	return e
}

// noKills counts kills as errors.
type noKills struct{ gateway.Counters }

func (n noKills) Finished(f gateway.Finish) {
	if f == gateway.FinishKilled {
		f = gateway.FinishError
	}
	n.Counters.Finished(f)
}

// swapped swaps success and failure.
type swapped struct{ gateway.Counters }

func (s swapped) Finished(f gateway.Finish) {
	switch f {
	case gateway.FinishOK:
		f = gateway.FinishError
	case gateway.FinishError:
		f = gateway.FinishOK
	default: // killed stays killed
	}
	s.Counters.Finished(f)
}

// leakyStart counts a failed start as active.
type leakyStart struct {
	gateway.Table
	drift *atomic.Int64
}

func (l leakyStart) Start(s gateway.Spec) (*gateway.Process, *gateway.Subscriber, error) {
	p, sub, err := l.Table.Start(s)
	if err != nil {
		l.drift.Add(1)
	}
	return p, sub, err
}
