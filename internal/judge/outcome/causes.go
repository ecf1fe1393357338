package outcome

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/envd/call"
	"assay/scenarios"
)

// Causes sorts the failures of a run. A rule follows from a foundation rule that is broken on
// the same target when each of its failures has a symptom that the foundation explains, or
// when the foundation names the rule. What does not follow is a cause. Causes are
// ordered by rank, foundations first, then by how much follows from them, then by rule.
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

// causal is the sorting of one run's failures.
type causal struct {
	cat      *scenarios.Catalogue
	run      *bundle.Run
	verdicts []bundle.Verdict
	rules    map[string]*breakage
}

// breakage is a broken rule.
type breakage struct {
	id    string
	rule  *scenarios.Rule // nil for one that is not in the catalogue
	bad   []*bundle.Verdict
	fails bool // one of them is a fail, and not an advisory
	// own are the breaches that nothing explains; from is what most of the others follow from.
	own  []*bundle.Verdict
	from *breakage
	// kept are the verdicts of the rule that passed: where it held, it explains nothing.
	kept []*bundle.Verdict
}

// gather collects the broken rules.
func (c *causal) gather() {
	for i := range c.verdicts {
		v := &c.verdicts[i]
		if v.Conclusion != bundle.Fail && v.Conclusion != bundle.Advisory && v.Conclusion != bundle.UnexpectedPass {
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
	for i := range c.verdicts {
		if v := &c.verdicts[i]; v.Conclusion == bundle.Pass && c.rules[v.Rule] != nil {
			c.rules[v.Rule].kept = append(c.rules[v.Rule].kept, v)
		}
	}
}

func (c *causal) sorted() []*breakage {
	all := make([]*breakage, 0, len(c.rules))
	for _, b := range c.rules {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *breakage) int { return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.id, b.id)) })
	return all
}

// noRank is that of a rule on which none rests: behind all foundations.
const noRank = 1 << 20

func (b *breakage) rank() int {
	if b.rule == nil || b.rule.Foundation == nil {
		return noRank
	}
	return b.rule.Foundation.Rank
}

// explain finds what the breaches of a rule follow from. Foundations come before what
// rests on them, so that their own cause is known by then.
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

// explainByChance finds what a rule follows from that is broken only where a process did not start, and held elsewhere:
// a foundation that fails at random strikes rules of any rank. The foundation is a cause by itself by now.
func (c *causal) explainByChance(b *breakage) {
	if len(b.own) == 0 || b.from != nil || len(b.kept) == 0 {
		return
	}
	for _, f := range c.sorted() {
		if f.rank() <= b.rank() || f.rank() == noRank || f.from != nil || !f.intermittent() {
			continue
		}
		foreign := slices.ContainsFunc(b.own, func(v *bundle.Verdict) bool { return !v.Symptom.IsUnstarted() || !f.explains(v) })
		if !foreign {
			b.own, b.from = nil, f
			return
		}
	}
}

// intermittent reports whether the rule was broken and held in one scenario, on one version of HTTP.
func (b *breakage) intermittent() bool {
	return slices.ContainsFunc(b.bad, func(o *bundle.Verdict) bool {
		return slices.ContainsFunc(b.kept, func(k *bundle.Verdict) bool { return k.Scenario == o.Scenario && k.Axes.HTTP == o.Axes.HTTP })
	})
}

// explaining are the broken foundations that a breach may follow from.
func (c *causal) explaining(b *breakage, v *bundle.Verdict) []*breakage {
	var by []*breakage
	for _, f := range c.rules {
		if f != b && f.rank() < b.rank() && f.explains(v) {
			by = append(by, f)
		}
	}
	return by
}

// explains reports whether a breach of another rule, or that it could not be judged, follows
// from this one: by name; or by its symptom, in the same protocol, and not for output where this rule held in
// the same run. In either case on the same version of HTTP, unless this rule was not looked at there.
func (b *breakage) explains(v *bundle.Verdict) bool {
	f := b.rule.Foundation
	named := slices.ContainsFunc(f.Rules, func(glob string) bool {
		ok, err := path.Match(glob, v.Rule)
		return err == nil && ok
	})
	alike := slices.Contains(f.Symptoms, v.Symptom) && sameProtocol(b.id, v) && !b.heldIn(v)
	return (named || alike) && b.reaches(v)
}

// heldIn reports whether the rule held in the run of a verdict on output: what came there whole was not lost by it.
// A transport may fail beside one that holds.
func (b *breakage) heldIn(v *bundle.Verdict) bool {
	return v.Symptom.IsOutput() && slices.ContainsFunc(b.kept, func(o *bundle.Verdict) bool { return o.Scenario == v.Scenario && o.Axes == v.Axes })
}

// reaches reports whether the breakage can show on the version of HTTP of a verdict: the rule was broken there, or
// no scenario that breaks it elsewhere held there. Rules of the framing of HTTP/1.1 hold over HTTP/2 whatever is sent,
// so that tells nothing; nor does it where a rule fails at random.
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
	}
	return true
}

// root is the cause that a breakage follows from in the end.
func (b *breakage) root() *breakage {
	for b.from != nil {
		b = b.from
	}
	return b
}

// causes lists what follows from nothing, with what follows from it.
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
		if b.from != nil || !b.fails && len(follows[b]) == 0 {
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

// unjudged are the rules that are broken nowhere and could not be judged, by the cause that explains it.
func (c *causal) unjudged() map[*breakage][]string {
	all := map[*breakage][]string{}
	for i := range c.verdicts {
		v := &c.verdicts[i]
		if v.Conclusion != bundle.Inconclusive || c.rules[v.Rule] != nil || v.Symptom == "" {
			continue
		}
		for _, f := range c.sorted() {
			if f.rank() < noRank && f.explains(v) {
				all[f.root()] = append(all[f.root()], v.Rule)
				break
			}
		}
	}
	return all
}

// cause is a broken rule with its best evidence.
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
	if best.Scenario != "" {
		cause.Reproducer = replay(c.run, instance{best.Scenario, best.Axes})
	}
	return cause
}

// best is the breach that shows a rule's defect most simply: a fail before an advisory, one that
// nothing else explains, of the smallest script, on the plainest axes.
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
			cmp.Compare(sizes[x.Scenario], sizes[y.Scenario]),
			cmp.Compare(x.Scenario, y.Scenario),
			cmp.Compare(plainness(x.Axes), plainness(y.Axes)),
			cmp.Compare(x.Axes.String(), y.Axes.String()),
		)
	})
}

// size is how much a scenario does: its steps, and much more when it repeats them.
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

// plainness counts the axes that are not the plainest.
func plainness(a bundle.Axes) int {
	n := 0
	for _, plain := range []bool{a.Protocol == call.Connect, a.Codec == call.JSON, a.HTTP == "1.1", a.Compression == "identity"} {
		if !plain {
			n++
		}
	}
	return n
}
