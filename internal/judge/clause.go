package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// clauses judges every expectation of a scenario and collects the findings by rule.
func (j *Judge) clauses(s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) map[string]*tally {
	tallies := map[string]*tally{}
	for _, id := range rulesOf(s) {
		tallies[id] = &tally{}
	}
	all := scenes(s, run, o)
	for c := range bundle.Each(s.Expect) {
		t := j.clause(c, s, all, o)
		for _, id := range provedBy(s, c) {
			tallies[id].merge(t)
		}
	}
	for rule, t := range proofs(all, o) {
		if tallies[rule] != nil {
			tallies[rule].merge(t)
		}
	}
	return tallies
}

// proofs returns the breaches of rules that failed preconditions prove.
func proofs(all []*scene, o *bundle.Observation) map[string]*tally {
	tallies := map[string]*tally{}
	for _, sc := range all {
		if sc.cut || sc.unread() != "" {
			continue
		}
		for _, ob := range sc.unmetPreconditions() {
			if ob.rule == "" {
				continue
			}
			if tallies[ob.rule] == nil {
				tallies[ob.rule] = &tally{}
			}
			f := ob.breach(sc)
			f.message = sc.says("", f.message)
			tallies[ob.rule].addOf(sc, f)
		}
	}
	for _, t := range tallies {
		t.sum(len(all), o)
	}
	return tallies
}

// provedBy lists the rules that a clause proves: the rule that it names; else the rules of the
// scenario that no clause names; else, if clauses name them all, all rules of the scenario.
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

func (j *Judge) clause(c *scenarios.Clause, s *scenarios.Scenario, all []*scene, o *bundle.Observation) *tally {
	t := &tally{}
	unread := ""
	for _, sc := range all {
		if why := sc.unread(); why != "" {
			unread = why
			t.addOf(sc, sc.read(c, finding{grade: inconclusive, message: sc.says("", why), at: sc.at(nil, -1)}))
			continue
		}
		for _, name := range sc.inOrder(c.Subjects) {
			t.addOf(sc, sc.expect(name, c.Subjects[name]))
		}
		if len(c.Parity) > 0 {
			t.addOf(sc, sc.parity(c.Parity))
		}
		if len(c.Sequence) > 0 {
			t.addOf(sc, sc.sequence(c.Sequence))
		}
	}
	if unread == "" && len(c.Orders) > 0 {
		judgeOrders(t, c.Orders, all, o)
	}
	if unread == "" && len(c.Metrics) > 0 {
		t.merge(j.counted(c.Metrics, s, all, o))
	}
	if t.worst.grade == violated && c.Says != "" {
		t.worst.message = c.Says + ": " + t.worst.message
	}
	t.sum(len(all), o)
	return t
}

// counted judges counters, unless a precondition failed, so that the steps did not change them.
func (j *Judge) counted(want map[string]string, s *scenarios.Scenario, all []*scene, o *bundle.Observation) *tally {
	for _, sc := range all {
		if blocked := sc.unmetPreconditions(); len(blocked) > 0 && !o.Interrupted {
			t := &tally{}
			t.add(blocked[0].finding(sc))
			return t
		}
	}
	return j.metrics(want, s, o)
}

// sum adds to the message of a breach the number of breaches and why the iterations stopped.
func (t *tally) sum(iterations int, o *bundle.Observation) {
	if t.broken > 1 && iterations > 1 {
		t.worst.message += fmt.Sprintf(" (%d breaches in %d iterations)", t.broken, iterations)
	}
	if t.worst.grade == violated && o.Stopped != "" {
		t.worst.message += "; " + phrase.Clip(o.Stopped)
	}
}

func subjectNames(subjects map[string]*scenarios.Match) []string {
	names := slices.Sorted(maps.Keys(subjects))
	return slices.DeleteFunc(names, func(name string) bool { return subjects[name] == nil })
}

// inOrder returns the names of subjects in the order of their steps, and of those of parallel steps by name. Of several
// breaches the first is told: a download of what was not uploaded fails, too.
func (s *scene) inOrder(subjects map[string]*scenarios.Match) []string {
	step := func(name string) (n int) {
		if x := s.subject(name); x == nil {
			return math.MaxInt
		} else if _, err := fmt.Sscanf(x.Step, "steps[%d]", &n); err != nil {
			return -1 // a raw connection has none
		}
		return n
	}
	names := subjectNames(subjects)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(step(a), step(b)) })
	return names
}

// expect judges one subject of an iteration by its match, unless one of its preconditions failed.
func (s *scene) expect(name string, m *scenarios.Match) finding {
	x := s.subject(name)
	f := s.look(name, m)
	if o := s.behind(name, x); o != nil && !s.cut && (f.grade != holds || !o.soft) {
		f = o.finding(s)
	}
	f = s.heldUp(x, f)
	if f.grade != holds {
		f.message = s.says(name, f.message)
	}
	return f
}

// read returns the first wrong event that a clause finds in a response of which Assay read only a
// part; nothing later can mend it. Without any it returns rest.
func (s *scene) read(c *scenarios.Clause, rest finding) finding {
	for _, name := range subjectNames(c.Subjects) {
		m, x := c.Subjects[name], s.subject(name)
		if x == nil || x.Unread == "" {
			continue
		}
		f := match(&look{scene: s, x: x, m: &scenarios.Match{Start: m.Start, End: m.End, Ends: m.Ends, Never: m.Never}})
		if f.grade == violated && f.at.Off >= 0 {
			f.message = s.says(name, f.message)
			return f
		}
	}
	return rest
}

// pending reports whether what an exchange lacks may only be late although its outcome does not say so: it is the last of a
// poll, the limit in the request ended it, or a call that came before its end, such as its input, was given up.
func (s *scene) pending(x *bundle.Exchange, f finding) bool {
	if s.preconditions != nil && s.preconditions.steps[x.Step] != nil && !s.preconditions.steps[x.Step].Poll().IsZero() {
		return true
	}
	if !slices.Contains(notYet, f.symptom) {
		return false
	}
	limit := limitOf(x)
	return limit > 0 && endedBy(x, limit) ||
		slices.ContainsFunc(s.it.Exchanges, func(o bundle.Exchange) bool {
			return o.ID != x.ID && slices.Contains(unfinished, o.Outcome) && o.Invoked.Before(returned(x))
		})
}

// look judges one subject by its match regardless of preconditions, without its name in the message.
func (s *scene) look(name string, m *scenarios.Match) finding {
	x := s.subject(name)
	if x == nil {
		return s.neverBegan()
	}
	if s.cut && x.Outcome != bundle.OutcomeComplete {
		return s.interrupted(x)
	}
	s.unknown = ""
	f := match(&look{scene: s, m: m, x: x})
	if f.grade == violated && s.unknown != "" {
		source, _, _ := strings.Cut(s.unknown, ".")
		if y := s.subject(source); y == nil || cutShort(y) {
			return s.neverBegan() // there is nothing to compare with
		}
	}
	f.vain = f.vain || s.pending(x, f)
	if f.grade == violated && x.Outcome == bundle.OutcomeAborted && !x.Aborted {
		// The engine aborted it before it could satisfy the script.
		f.grade, f.message = toolError, f.message+": Assay aborted the exchange, although every precondition held"
	}
	return f
}
