package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// known checks a list of known failures: its form, and that each entry can match something of the
// built-in scenarios or of those that were checked.
func (l *linter) known(f *lintFile) {
	list, err := ParseKnown(f.Name, f.Text)
	if err != nil {
		l.addAll(f, scriptErrors(f.Name, err))
		return
	}
	d, _ := parseDocument(f.Name, f.Text)
	scenarios, rules := l.all()
	for i := range list.Entries {
		l.entry(&list.Entries[i], d, entryPlace{fmt.Sprintf("/%d", i), scenarios, rules})
	}
	l.addAll(f, d.errs)
}

// entryPlace is an entry of a list and what it can name.
type entryPlace struct {
	at        string
	scenarios []*Scenario
	rules     []*Rule
}

// all returns every scenario and every rule that an entry can name.
func (l *linter) all() ([]*Scenario, []*Rule) {
	scenarios, rules := slices.Clone(l.builtin.Scenarios), slices.Clone(l.builtin.Rules)
	for _, h := range l.homes {
		scenarios, rules = append(scenarios, h.catalogue.Scenarios...), append(rules, h.catalogue.Rules...)
	}
	slices.SortStableFunc(scenarios, func(a, b *Scenario) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(rules, func(a, b *Rule) int { return cmp.Compare(a.ID, b.ID) })
	return scenarios, rules
}

// entry checks one entry.
func (l *linter) entry(k *KnownFailure, d *document, p entryPlace) {
	var ids []string
	var onAxes, named []*Scenario
	for _, s := range p.scenarios {
		ids = append(ids, s.ID)
		if !(term{pattern: k.Pattern}).glob(s.ID) {
			continue
		}
		named = append(named, s)
		if slices.ContainsFunc(s.Permutations(), func(a bundle.Axes) bool { return k.Matches(s.ID, a) }) {
			onAxes = append(onAxes, s)
		}
	}
	switch {
	case len(named) == 0:
		d.checkf(CheckUnmatched, d.at(p.at+"/pattern"), cmp.Or(didYouMean(k.Pattern, ids), "for scenarios of your own, add --scenarios DIR"),
			"no scenario matches %q", k.Pattern)
	case len(onAxes) == 0:
		d.checkf(CheckUnmatched, d.at(p.at+"/axes"), "", "nothing that %q matches runs on the axes %q", k.Pattern, k.Axes)
	}
	l.entryRule(k, d, p, onAxes)
	if k.Expired(l.o.Now) {
		d.checkf(CheckExpired, d.at(p.at+"/expires"), "fix the target, or review the entry and set a new date", "the entry expired on %s", k.Expires)
	}
	for field, text := range map[string]string{"reason": k.Reason, "link": k.Link} {
		if strings.Contains(text, "TODO") {
			d.checkf(CheckTODO, d.at(p.at+"/"+field), "", "the %s is still to be filled in", field)
		}
	}
}

// entryRule checks that the rule of an entry exists and can be judged where the entry applies.
func (l *linter) entryRule(k *KnownFailure, d *document, p entryPlace, of []*Scenario) {
	if k.Rule == "" {
		return
	}
	var ids []string
	var rule *Rule
	for _, r := range p.rules {
		ids = append(ids, r.ID)
		if r.ID == k.Rule {
			rule = r
		}
	}
	proves := func(s *Scenario) bool {
		return slices.Contains(s.Rules, k.Rule) || slices.ContainsFunc(s.Expect, func(c Clause) bool { return c.Rule == k.Rule })
	}
	switch {
	case rule == nil:
		d.checkf(CheckUnknownRule, d.at(p.at+"/rule"), didYouMean(k.Rule, ids), "there is no rule %q", k.Rule)
	case len(of) > 0 && len(rule.Standing) == 0 && !slices.ContainsFunc(of, proves):
		d.checkf(CheckUnmatched, d.at(p.at+"/rule"), "", "nothing that %q matches proves the rule %q", k.Pattern, k.Rule)
	}
}
