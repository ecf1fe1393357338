package scenarios

import (
	"slices"
	"strings"
)

// Widened returns the catalogue of a user's folder with the built-in scenarios for which the terms
// of a selection ask, as in Select. A term asks for them if it names ids, rules, features or areas
// and matches no scenario of the folder. Terms that do not ask leave the catalogue as it is.
// A scenario of the folder takes the place of a built-in one with the same id.
func (c *Catalogue) Widened(terms string) (*Catalogue, error) {
	parsed, err := parseTerms(terms)
	if err != nil {
		return nil, err
	}
	asking := slices.DeleteFunc(slices.Clone(parsed), func(t term) bool {
		return t.not || t.kind == "axis" || t.kind == "level" || c.anyMatches(t, c.Scenarios...)
	})
	if len(asking) == 0 {
		return c, nil
	}
	all, err := Load()
	if err != nil {
		return nil, err
	}
	out := *c
	out.Scenarios = slices.Clone(c.Scenarios)
	for _, s := range all.Scenarios {
		asked := slices.ContainsFunc(asking, func(t term) bool {
			return all.anyMatches(t, s)
		})
		if asked && c.Scenario(s.ID) == nil {
			out.Scenarios = append(out.Scenarios, s)
		}
	}
	slices.SortFunc(out.Scenarios, func(a, b *Scenario) int { return strings.Compare(a.ID, b.ID) })
	return &out, nil
}

// anyMatches reports whether a term matches any instance of the scenarios.
func (c *Catalogue) anyMatches(t term, of ...*Scenario) bool {
	for _, s := range of {
		for _, axes := range s.Permutations() {
			if c.matches(Instance{s, axes}, t) {
				return true
			}
		}
	}
	return false
}
