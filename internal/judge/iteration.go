package judge

import (
	"slices"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Fits reports whether the exchange of that name is what all clauses expect of it. The engine calls it
// during a poll to find out when to stop.
func Fits(s *scenarios.Scenario, run *bundle.Run, it *bundle.Iteration, name string) bool {
	sc := &scene{cal: calibration(run), it: it}
	return !slices.ContainsFunc(s.Expected(name), func(m *scenarios.Match) bool { return !sc.look(name, m).ok() })
}

// Broken reports whether a single iteration breaks every rule that it is judged by, so that more
// iterations cannot change the verdict. The engine calls it to decide when to stop repeating.
// It ignores counters, which need the whole scenario.
func Broken(s *scenarios.Scenario, run *bundle.Run, it *bundle.Iteration) bool {
	o := &bundle.Observation{Scenario: s.ID, Iterations: []bundle.Iteration{*it}}
	broke := map[string]bool{}
	all := scenes(s, run, o)
	for i := range s.Expect {
		c := s.Expect[i]
		c.Metrics = nil
		t := (&Judge{}).clause(&c, s, all, o)
		if t.looked == 0 {
			continue
		}
		for _, rule := range provedBy(s, &c) {
			broke[rule] = broke[rule] || t.worst.grade == violated
		}
	}
	for _, is := range broke {
		if !is {
			return false
		}
	}
	return len(broke) > 0
}
