package reports

import (
	"slices"

	"assay/internal/record/bundle"
)

// cause is one cause of failures with the place that shows it best.
type cause struct {
	bundle.Cause
	source string
	place  place
}

// causesOf returns the causes of a report, the most basic first.
func causesOf(r *bundle.Report) []cause {
	all := make([]cause, 0, len(r.Causes))
	for _, c := range r.Causes {
		k := cause{Cause: c, place: place{
			scenario: c.Scenario, replay: c.Reproducer, excerpt: c.Transcript,
			verdict: bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Verdict: bundle.Fail, Message: c.Message},
		}}
		rules := r.RunRules
		if c.Scenario != "" {
			k.place.axes = []bundle.Axes{c.Axes}
			if s := resultOf(r, c.Scenario, c.Axes); s != nil {
				rules = s.Rules
				k.place.again = reproducersOf(*s, c.Rule)
			}
		}
		if i := slices.IndexFunc(rules, func(v bundle.RuleVerdict) bool { return v.ID == c.Rule }); i >= 0 {
			v := &k.place.verdict
			k.source, v.Verdict, v.Counts, v.Seen = rules[i].Source, rules[i].Verdict, rules[i].Counts, rules[i].Seen
		}
		all = append(all, k)
	}
	return all
}

// resultOf returns the result of a scenario on one set of axes, or nil.
func resultOf(r *bundle.Report, id string, axes bundle.Axes) *bundle.ScenarioResult {
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.ID == id && s.Axes == axes {
			return s
		}
	}
	return nil
}

// explained maps each explained rule to its causes; a cause itself maps to none.
func explained(r *bundle.Report) map[string][]string {
	by := map[string][]string{}
	for _, c := range r.Causes {
		by[c.Rule] = nil
	}
	for _, c := range r.Causes {
		for _, rule := range c.Follows {
			if !isCause(r, rule) {
				by[rule] = append(by[rule], c.Rule)
			}
		}
	}
	return by
}

func isCause(r *bundle.Report, rule string) bool {
	return slices.ContainsFunc(r.Causes, func(c bundle.Cause) bool { return c.Rule == rule })
}

// unexplained returns the findings that belong to no cause.
func unexplained(r *bundle.Report, findings []finding) []finding {
	by := explained(r)
	return slices.DeleteFunc(slices.Clone(findings), func(f finding) bool {
		_, told := by[f.rule.ID]
		return told && f.rule.Verdict != bundle.Error
	})
}

// unjudged returns the rules that could not be judged because of a cause.
func unjudged(r *bundle.Report) map[string]bool {
	all := map[string]bool{}
	for _, c := range r.Causes {
		for _, rule := range c.Unjudged {
			all[rule] = true
		}
	}
	return all
}
