package outcome

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"assay/internal/envd/call"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Causes finds the causes of the failures of a run. A rule follows from a broken foundation rule
// if the foundation explains the symptom of each of its failures, or names the rule. It also follows
// from a more basic rule that was broken in the same way in the same exchange. A broken
// rule that does not follow from another is a cause. Causes are sorted by rank (foundations
// first), then by the number of rules that follow from them, then by id.
func Causes(run *bundle.Run, cat *scenarios.Catalogue, verdicts []bundle.Verdict) []bundle.Cause {
	c := &causal{cat: cat, run: run, verdicts: verdicts, rules: map[string]*breakage{}}
	c.gather()
	for _, b := range c.sorted() {
		c.explain(b)
	}
	for _, b := range c.sorted() {
		c.explainByChance(b)
	}
	return c.causes()
}

// causal holds the state while Causes examines one run.
type causal struct {
	cat      *scenarios.Catalogue
	run      *bundle.Run
	verdicts []bundle.Verdict
	rules    map[string]*breakage
}

// breakage is a broken rule.
type breakage struct {
	id    string
	rule  *scenarios.Rule // nil if it is not in the catalogue
	bad   []*bundle.Verdict
	fails bool // at least one of bad is not an advisory
	// own are the breaches that no foundation explains; from is the foundation that explains most
	// of the others.
	own  []*bundle.Verdict
	from *breakage
	// kept are the passes of the rule: where it held, it explains nothing.
	kept []*bundle.Verdict
}

// gather collects the broken rules.
func (c *causal) gather() {
	for v := range bundle.Each(c.verdicts) {
		if !v.Conclusion.FailsRun() && v.Conclusion != bundle.Advisory {
			continue
		}
		b := c.rules[v.Rule]
		if b == nil {
			b = &breakage{id: v.Rule, rule: c.cat.Rule(v.Rule)}
			c.rules[v.Rule] = b
		}
		b.bad = append(b.bad, v)
		b.fails = b.fails || v.Conclusion != bundle.Advisory
	}
	for v := range bundle.Each(c.verdicts) {
		if v.Conclusion == bundle.Pass && c.rules[v.Rule] != nil {
			c.rules[v.Rule].kept = append(c.rules[v.Rule].kept, v)
		}
	}
}

func (c *causal) sorted() []*breakage {
	all := make([]*breakage, 0, len(c.rules))
	for _, b := range c.rules {
		all = append(all, b)
	}
	slices.SortFunc(all, (*breakage).compare)
	return all
}

// compare orders rules, the most basic first: by rank, then must before should before may, then by id.
func (b *breakage) compare(o *breakage) int {
	return cmp.Or(cmp.Compare(b.rank(), o.rank()), cmp.Compare(b.level(), o.level()), cmp.Compare(b.id, o.id))
}

func (b *breakage) level() int {
	return slices.Index([]string{"must", "should", "may"}, b.bad[0].Level)
}

// noRank is the rank of a rule that is not a foundation: after all foundations.
const noRank = 1 << 20

func (b *breakage) rank() int {
	if b.rule == nil || b.rule.Foundation == nil {
		return noRank
	}
	return b.rule.Foundation.Rank
}

// explain finds the foundation from which a rule follows. It is called in the order of ranks, so
// that the cause of each foundation is already known.
func (c *causal) explain(b *breakage) {
	count := map[*breakage]int{}
	for _, v := range b.bad {
		by := c.explaining(b, v)
		if len(by) == 0 {
			b.own = append(b.own, v)
		}
		for _, f := range by {
			count[f]++
		}
	}
	if len(b.own) > 0 {
		return
	}
	for _, f := range c.sorted() {
		if n := count[f]; n > 0 && (b.from == nil || n > count[b.from]) {
			b.from = f
		}
	}
}

// explainByChance finds the foundation from which a rule follows that held elsewhere and was
// broken only where a process did not start: a foundation that fails at random affects rules of
// any rank. Only a foundation that is itself a cause qualifies.
func (c *causal) explainByChance(b *breakage) {
	if len(b.own) == 0 || b.from != nil || len(b.kept) == 0 {
		return
	}
	for _, f := range c.sorted() {
		if f.rank() <= b.rank() || f.rank() == noRank || f.from != nil || !f.fails || !f.intermittent() {
			continue
		}
		foreign := slices.ContainsFunc(b.own, func(v *bundle.Verdict) bool { return !v.Symptom.IsUnstarted() || !f.explains(v) })
		if !foreign {
			b.own, b.from = nil, f
			return
		}
	}
}

// intermittent reports whether the rule was both broken and held in the same scenario over the
// same version of HTTP: in two of its runs, or in two iterations of one.
func (b *breakage) intermittent() bool {
	return slices.ContainsFunc(b.bad, func(o *bundle.Verdict) bool {
		return o.Varied || slices.ContainsFunc(b.kept, func(k *bundle.Verdict) bool { return k.Scenario == o.Scenario && k.Axes.HTTP == o.Axes.HTTP })
	})
}

// explaining returns the broken foundations that explain a breach. What is only an advisory explains no failure.
func (c *causal) explaining(b *breakage, v *bundle.Verdict) []*breakage {
	var by []*breakage
	for _, f := range c.rules {
		more := f.compare(b) < 0 && (f.fails || v.Conclusion == bundle.Advisory)
		if more && (f.rank() < b.rank() && f.explains(v) || f.shares(v)) {
			by = append(by, f)
		}
	}
	return by
}

// shares reports whether the rule was broken by what a breach of another rule shows: the same exchange has
// the same symptom. The features that a target lacks are one breach as well.
func (b *breakage) shares(v *bundle.Verdict) bool {
	return slices.ContainsFunc(b.bad, func(o *bundle.Verdict) bool {
		switch {
		case o.Symptom != v.Symptom || o.Symptom == "" || o.Scenario != v.Scenario || o.Axes != v.Axes:
			return false
		case o.Symptom == bundle.SymptomAbsent:
			return true
		case o.Evidence == nil || v.Evidence == nil || o.Evidence.Exchange < 0:
			return false
		}
		return o.Evidence.Exchange == v.Evidence.Exchange && o.Evidence.Iteration == v.Evidence.Iteration
	})
}

// explains reports whether a breach or an inconclusive verdict of another rule follows from this
// one: because the foundation names the rule; or by its symptom, if the protocols agree and, for a
// symptom of output, this rule did not hold in the same run. In both cases the breakage must reach
// the verdict's version of HTTP.
func (b *breakage) explains(v *bundle.Verdict) bool {
	f := b.rule.Foundation
	named := slices.ContainsFunc(f.Rules, func(glob string) bool {
		ok, err := path.Match(glob, v.Rule)
		return err == nil && ok
	})
	alike := slices.Contains(f.Symptoms, v.Symptom) && sameProtocol(b.id, v) && !b.heldIn(v)
	return (named || alike) && b.reaches(v)
}

// heldIn reports whether the rule held in the run of a verdict on output: output that was
// complete there was not lost by this rule. Other symptoms are not compared, because one transport
// may fail while another holds.
func (b *breakage) heldIn(v *bundle.Verdict) bool {
	return v.Symptom.IsOutput() && slices.ContainsFunc(b.kept, func(o *bundle.Verdict) bool { return o.Scenario == v.Scenario && o.Axes == v.Axes })
}

// reaches reports whether the breakage can affect the version of HTTP of a verdict: the rule was
// broken there, or no scenario that breaks it elsewhere held there. It is always true for rules
// about HTTP/1.1 framing, which hold over HTTP/2 regardless, and for rules that fail at random.
func (b *breakage) reaches(v *bundle.Verdict) bool {
	if strings.HasPrefix(b.id, "http.") || b.intermittent() {
		return true
	}
	on := func(o *bundle.Verdict) bool { return o.Axes.HTTP == v.Axes.HTTP }
	held := func(o *bundle.Verdict) bool {
		return on(o) && slices.ContainsFunc(b.bad, func(bad *bundle.Verdict) bool { return bad.Scenario == o.Scenario })
	}
	return v.Scenario == "" || slices.ContainsFunc(b.bad, on) || !slices.ContainsFunc(b.kept, held)
}

// sameProtocol reports whether a rule of one protocol can explain a verdict at all.
func sameProtocol(rule string, v *bundle.Verdict) bool {
	area, _, _ := strings.Cut(rule, ".")
	switch area {
	case call.Connect:
		return v.Axes.Protocol == call.Connect || v.Axes.Protocol == ""
	case call.GRPC:
		return v.Axes.Protocol == call.GRPC || v.Axes.Protocol == call.GRPCWeb
	case call.GRPCWeb:
		return v.Axes.Protocol == call.GRPCWeb
	case "stdio": // the last surface over the processes explains no other
		return strings.HasPrefix(v.Rule, "stdio.")
	}
	return true
}

// root returns the cause at the end of the chain that a breakage follows from.
func (b *breakage) root() *breakage {
	for b.from != nil {
		b = b.from
	}
	return b
}

// causes lists the breakages that follow from no other, each with the rules that follow from it.
func (c *causal) causes() []bundle.Cause {
	follows := map[*breakage][]string{}
	for _, b := range c.sorted() {
		if b.from != nil && b.fails {
			follows[b.root()] = append(follows[b.root()], b.id)
		}
	}
	unjudged := c.unjudged()
	out := []bundle.Cause{}
	for _, b := range c.sorted() {
		if b.from != nil || !b.fails {
			continue
		}
		cause := c.cause(b)
		cause.Follows = append([]string{}, sortedOnce(follows[b])...)
		cause.Unjudged = sortedOnce(unjudged[b])
		out = append(out, cause)
	}
	slices.SortStableFunc(out, func(x, y bundle.Cause) int {
		a, b := c.rules[x.Rule], c.rules[y.Rule]
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(y.Follows), len(x.Follows)), cmp.Compare(x.Rule, y.Rule))
	})
	return out
}

func sortedOnce(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// unjudged returns, for each cause, the rules that could not be judged because of it and that are
// not broken elsewhere.
func (c *causal) unjudged() map[*breakage][]string {
	all := map[*breakage][]string{}
	for v := range bundle.Each(c.verdicts) {
		if v.Conclusion != bundle.Inconclusive || c.rules[v.Rule] != nil || v.Symptom == "" {
			continue
		}
		for _, f := range c.sorted() {
			if f.fails && f.rank() < noRank && f.explains(v) {
				all[f.root()] = append(all[f.root()], v.Rule)
				break
			}
		}
	}
	return all
}

// cause returns a broken rule with its best evidence.
func (c *causal) cause(b *breakage) bundle.Cause {
	best := c.best(b)
	cause := bundle.Cause{
		Rule: b.id, Level: best.Level, Scenario: best.Scenario, Axes: best.Axes, Message: best.Message,
		Follows: []string{}, Scenarios: []string{},
	}
	if b.rule != nil {
		cause.Title = b.rule.Text
	}
	for _, v := range b.bad {
		if v.Scenario != "" {
			cause.Scenarios = append(cause.Scenarios, v.Scenario)
		}
	}
	cause.Scenarios = append([]string{}, sortedOnce(cause.Scenarios)...)
	switch {
	case b.absent():
		c.lacking(&cause)
	case best.Scenario != "":
		cause.Reproducer = replay(c.run, instance{best.Scenario, best.Axes})
	}
	return cause
}

// best returns the breach that shows a rule's defect most simply: one that nothing else explains,
// a fail before an advisory, then the smallest script, then the plainest axes.
func (c *causal) best(b *breakage) *bundle.Verdict {
	of := b.bad
	if len(b.own) > 0 {
		of = b.own
	}
	sizes := map[string]int{}
	for _, v := range of {
		sizes[v.Scenario] = c.size(v.Scenario)
	}
	return slices.MinFunc(of, func(x, y *bundle.Verdict) int {
		return cmp.Or(
			-cmp.Compare(x.Conclusion.Rank(), y.Conclusion.Rank()),
			cmp.Compare(secondHand(x), secondHand(y)),
			cmp.Compare(sizes[x.Scenario], sizes[y.Scenario]),
			cmp.Compare(x.Scenario, y.Scenario),
			cmp.Compare(plainness(x.Axes), plainness(y.Axes)),
			cmp.Compare(x.Axes.String(), y.Axes.String()),
		)
	})
}

// secondHand returns 1 for a verdict that was not confirmed by itself: something that was seen again is better evidence.
func secondHand(v *bundle.Verdict) int {
	if v.Untried {
		return 1
	}
	return 0
}

// size returns the number of steps of a scenario, plus 100 if it repeats them.
func (c *causal) size(id string) int {
	s := c.cat.Scenario(id)
	if s == nil {
		return 0
	}
	n := 0
	s.EachStep(func(*scenarios.Step) { n++ })
	if s.Repeat.Times > 1 {
		n += 100
	}
	return n
}

// plainness counts the axes without the plainest value.
func plainness(a bundle.Axes) int {
	n := 0
	for _, plain := range []bool{a.Protocol == call.Connect, a.Codec == call.JSON, a.HTTP == "1.1", a.Compression == "identity"} {
		if !plain {
			n++
		}
	}
	return n
}
