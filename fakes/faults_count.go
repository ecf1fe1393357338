package fakes

import "sync/atomic"

// countFaults keep wrong books.
func countFaults() []faultDecorator {
	return []faultDecorator{
		{Fault{
			ID:     "kill-counted-twice",
			Title:  "A killed command is counted at the kill, and once more when it has died",
			Breaks: []string{"coppice.finalize.once", "coppice.metrics.partition"},
			Source: "maximhq/bifrost#7005",
		}, func(s *seams, _ uint64) { s.exit = aroundExit(s.exit, countAgain) }},
		{Fault{
			ID:     "kill-counted-as-error",
			Title:  "A killed command counts as one that failed",
			Breaks: []string{"coppice.metrics.status"},
			Source: "PostgREST#4622: one path out of several counts otherwise",
		}, func(s *seams, _ uint64) {
			s.count = around(s.count, func(next counters) counters { return noKills{next} })
		}},
		{Fault{
			ID:     "spawn-failure-active",
			Title:  "A command that could not be started is active for ever",
			Breaks: []string{"coppice.metrics.spawn-failure"},
			Source: "traefik/traefik#10733: a gauge that drifts on an error before the start",
		}, func(s *seams, _ uint64) {
			drift := driftingGauge(s)
			s.table = around(s.table, func(next processTable) processTable { return leakyStart{next, drift} })
		}},
		{Fault{
			ID:     "lost-client-active",
			Title:  "A command whose client went away is active for ever",
			Breaks: []string{"coppice.metrics.partition"},
			Source: "ollama/ollama#17131",
		}, func(s *seams, _ uint64) {
			drift := driftingGauge(s)
			s.gone = func(processTable, *process) { drift.Add(1) }
		}},
		{Fault{
			ID:     "labels-swapped",
			Title:  "A command that went well counts as error, and one that failed as ok",
			Breaks: []string{"coppice.metrics.status"},
			Source: "agentscope-ai/agentscope-java#2793: an exit code of 0 that is omitted read as a failure",
		}, func(s *seams, _ uint64) {
			s.count = around(s.count, func(next counters) counters { return swapped{next} })
		}},
		{Fault{
			ID:     "gauge-one-too-high",
			Title:  "One command more is said to be active than there are",
			Breaks: []string{"coppice.metrics.at-rest"},
			Source: "soketi#1195, fluent-bit#8868: a gauge that was raised once on a path that never lowers it",
		}, func(s *seams, _ uint64) { driftingGauge(s).Add(1) }},
	}
}

// driftingGauge makes the gauge of active commands too high by a number.
func driftingGauge(s *seams) *atomic.Int64 {
	drift := &atomic.Int64{}
	s.tally = around(s.tally, func(t tally) tally {
		t.active += int(drift.Load())
		return t
	})
	return drift
}

// doubleCount counts a kill again on the exit path.
type doubleCount struct {
	exitPath
	count counters
}

func countAgain(next exitPath, c counters) exitPath { return doubleCount{next, c} }

func (d doubleCount) ending(p *process) ending {
	if p.endedBy() != byItself {
		d.count.finished(finishKilled)
	}
	return d.exitPath.ending(p)
}

// noKills counts kills as errors.
type noKills struct{ counters }

func (n noKills) finished(f finish) {
	if f == finishKilled {
		f = finishError
	}
	n.counters.finished(f)
}

// swapped mixes up success and failure.
type swapped struct{ counters }

func (s swapped) finished(f finish) {
	switch f {
	case finishOK:
		f = finishError
	case finishError:
		f = finishOK
	default: // a kill is a kill
	}
	s.counters.finished(f)
}

// leakyStart counts as active what could not be started.
type leakyStart struct {
	processTable
	drift *atomic.Int64
}

func (l leakyStart) start(s spec) (*process, *subscriber, error) {
	p, sub, err := l.processTable.start(s)
	if err != nil {
		l.drift.Add(1)
	}
	return p, sub, err
}
