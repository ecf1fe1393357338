package judge

import (
	"assay/internal/bundle"
	"assay/scenarios"
)

// Broken reports whether an iteration by itself breaks every rule of the scenario
// that iterations are held against: more of its kind cannot change the verdict. The
// engine asks it to know when to stop repeating. Counters are no matter of a
// single iteration, and are left out.
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
			broke[rule] = broke[rule] || t.worst.grade == broken
		}
	}
	for _, is := range broke {
		if !is {
			return false
		}
	}
	return len(broke) > 0
}
