package reports

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// finding is one rule with one verdict, and every place with that verdict.
type finding struct {
	rule   bundle.RuleVerdict // of the first place
	places []place
}

// place is a scenario in which a rule has a verdict; permutations with the same
// result are one place.
type place struct {
	scenario string // "" for the whole run
	axes     []bundle.Axes
	verdict  bundle.RuleVerdict
	replay   string // of the first permutation, like the fields below
	excerpt  string
	again    []bundle.Reproducer // of the rule
}

// where names the scenario.
func (p place) where() string {
	if p.scenario == "" {
		return "the run as a whole"
	}
	return line(p.scenario)
}

// findingsOf groups the results with one of the verdicts by rule: must rules first,
// among them the rules of the whole run, since a missing feature causes many other
// failures; then the rules with the most places, then in order of occurrence.
func findingsOf(r *bundle.Report, verdicts ...bundle.Conclusion) []finding {
	type key struct {
		rule    string
		verdict bundle.Conclusion
	}
	var all []finding
	index := map[key]int{}
	put := func(v bundle.RuleVerdict, p place) {
		if !slices.Contains(verdicts, v.Verdict) {
			return
		}
		k := key{v.ID, v.Verdict}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, finding{rule: v})
		}
		p.verdict = v
		all[i].put(p)
	}
	for _, v := range r.RunRules {
		put(v, place{})
	}
	for _, s := range r.Scenarios {
		for _, v := range s.Rules {
			put(v, place{
				scenario: s.ID, axes: []bundle.Axes{s.Axes}, replay: s.Replay,
				excerpt: s.Transcript, again: reproducersOf(s, v.ID),
			})
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(b.rule.Verdict.Rank(), a.rule.Verdict.Rank()),
			cmp.Compare(levelRank(a.rule.Level), levelRank(b.rule.Level)),
			cmp.Compare(scenarioRank(a), scenarioRank(b)),
			cmp.Compare(len(b.places), len(a.places)),
		)
	})
	return all
}

// put adds a place, or adds its axes to an equal one.
func (f *finding) put(p place) {
	for i := range f.places {
		o := &f.places[i]
		if o.scenario == p.scenario && o.verdict.Message == p.verdict.Message &&
			o.verdict.Seen == p.verdict.Seen && maps.Equal(o.verdict.Counts, p.verdict.Counts) {
			o.axes = append(o.axes, p.axes...)
			return
		}
	}
	f.places = append(f.places, p)
}

// scenarios returns the distinct scenarios in order.
func (f *finding) scenarios() []string {
	var ids []string
	for _, p := range f.places {
		if p.scenario != "" && !slices.Contains(ids, p.scenario) {
			ids = append(ids, p.scenario)
		}
	}
	return ids
}

// scenarioRank orders findings of the whole run before those of scenarios.
func scenarioRank(f finding) int {
	if f.places[0].scenario == "" {
		return 0
	}
	return 1
}

func levelRank(level string) int {
	if i := slices.Index([]string{"must", "should", "may"}, level); i >= 0 {
		return i
	}
	return 3
}

// race is one scenario with the observed orders of its race, as text.
type race struct {
	scenario string
	axes     bundle.Axes
	orders   string
}

// racesOf lists the races of a report, each once. It skips failed ones, which appear
// with their rule, and single runs, which have no distribution.
func racesOf(r *bundle.Report) []race {
	var races []race
	for _, s := range r.Scenarios {
		for _, v := range s.Rules {
			if troubles(s.Verdict) || sum(v.Counts) < 2 {
				continue
			}
			n := race{s.ID, s.Axes, ordersText(v.Counts)}
			if !slices.Contains(races, n) {
				races = append(races, n)
			}
		}
	}
	return races
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// orderParts returns the orders of a race with their counts, by name.
func orderParts(counts map[string]int) []string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, line(name)+": "+strconv.Itoa(counts[name]))
	}
	return parts
}

// ordersText returns orderParts on one line.
func ordersText(counts map[string]int) string { return strings.Join(orderParts(counts), orderSep) }

const orderSep = " · "
