package judge

import (
	"fmt"
	"slices"
	"sort"

	"assay/internal/bundle"
	"assay/scenarios"
)

// clauses judges every expectation of a scenario, and gathers the findings by rule.
func (j *Judge) clauses(s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) map[string]*tally {
	tallies := map[string]*tally{}
	for _, id := range rulesOf(s) {
		tallies[id] = &tally{}
	}
	for i := range s.Expect {
		c := &s.Expect[i]
		t := j.clause(c, s, run, o)
		for _, id := range provedBy(s, c) {
			tallies[id].merge(t)
		}
	}
	return tallies
}

// provedBy lists the rules that a clause proves: its own, or, for a clause that
// names none, those of the scenario that no other clause names; all of them when
// each is named.
func provedBy(s *scenarios.Scenario, c *scenarios.Clause) []string {
	if c.Rule != "" {
		return []string{c.Rule}
	}
	var free []string
	for _, id := range s.Rules {
		if !slices.ContainsFunc(s.Expect, func(o scenarios.Clause) bool { return o.Rule == id }) {
			free = append(free, id)
		}
	}
	if len(free) == 0 {
		free = slices.Clone(s.Rules)
	}
	slices.Sort(free)
	return slices.Compact(free)
}

func (j *Judge) clause(c *scenarios.Clause, s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) *tally {
	t := &tally{}
	all := scenes(run, o)
	for _, sc := range all {
		for _, name := range subjectNames(c.Subjects) {
			t.add(sc.expect(name, c.Subjects[name]))
		}
		if len(c.Parity) > 0 {
			t.add(sc.parity(c.Parity))
		}
		if len(c.Sequence) > 0 {
			t.add(sc.sequence(c.Sequence))
		}
	}
	if len(c.Orders) > 0 {
		judgeOrders(t, c.Orders, all, o)
	}
	if len(c.Metrics) > 0 {
		t.merge(j.metrics(c.Metrics, s, o))
	}
	if t.broken > 1 && len(all) > 1 {
		t.worst.message += fmt.Sprintf(" (%d breaches in %d iterations)", t.broken, len(all))
	}
	if t.worst.grade == broken && o.Stopped != "" {
		t.worst.message += "; " + clip(o.Stopped)
	}
	return t
}

func subjectNames(subjects map[string]*scenarios.Match) []string {
	names := make([]string, 0, len(subjects))
	for name, m := range subjects {
		if m != nil {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// expect holds one subject of an iteration against its matcher.
func (s *scene) expect(name string, m *scenarios.Match) finding {
	f := s.heldUp(s.subject(name), s.look(name, m))
	if f.grade != held {
		f.message = s.says(name, f.message)
	}
	return f
}

// look is expect without the subject's name in the message.
func (s *scene) look(name string, m *scenarios.Match) finding {
	x := s.subject(name)
	if x == nil {
		return s.neverGot("no such answer")
	}
	if s.cut && x.Outcome != bundle.OutcomeComplete {
		return finding{grade: unclear, message: "interrupted", at: s.at(x, -1)}
	}
	f := match(&look{scene: s, m: m, x: x})
	if f.grade == broken && x.Outcome == bundle.OutcomeAborted && !x.Aborted {
		// We broke it off before it could satisfy the script, because an earlier step had failed.
		g := s.neverGot(f.message)
		if g.grade != broken {
			g.message = f.message + ": we broke the answer off, and no earlier step failed because of the target"
		}
		g.at = f.at
		return g
	}
	return f
}
