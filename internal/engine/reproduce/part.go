package reproduce

import "assay/scenarios"

// part returns the failure with the script reduced to this connection: a text shows
// nothing else, and missing parts break no rule.
func (s *source) part() Failure {
	script := *s.Instance.Scenario
	script.Steps, script.Expect = nil, make([]scenarios.Clause, 0, len(s.Instance.Scenario.Expect))
	for _, st := range s.Instance.Scenario.Steps {
		if s.acts(&st) {
			script.Steps = append(script.Steps, st)
		}
	}
	// Keep clauses without a subject: the rules of other clauses depend on them.
	for _, c := range s.Instance.Scenario.Expect {
		kept := scenarios.Clause{Rule: c.Rule, Line: c.Line, Subjects: map[string]*scenarios.Match{}}
		for name, m := range c.Subjects {
			if s.named(name) {
				kept.Subjects[name] = m
			}
		}
		script.Expect = append(script.Expect, kept)
	}
	f := s.Failure
	f.Instance.Scenario = &script
	return f
}

// acts reports whether a step, or one inside it, sent something on the connection. Waits
// do not count: a text waits in its own way, and the judged observation has no records
// of them.
func (s *source) acts(st *scenarios.Step) bool {
	acts := false
	st.Each(func(st *scenarios.Step) {
		acts = acts || s.stepped(st.At) || st.Open != nil && s.named(st.Open.As) || st.Write != nil && s.named(st.Write.To)
	})
	return acts
}
