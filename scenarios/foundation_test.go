package scenarios

import (
	"path"
	"slices"
	"testing"

	"assay/internal/bundle"
)

// What a foundation names must exist, and rest on it: a rule of the same rank or a lower one never
// follows from it, so to name that one alone would be a mistake.
func TestFoundationsExplainRulesAndSymptomsThatExist(t *testing.T) {
	rules := load(t).Rules
	for _, r := range rules {
		if r.Foundation == nil {
			continue
		}
		f := r.Foundation
		if f.Rank < 1 || len(f.Symptoms)+len(f.Rules) == 0 {
			t.Errorf("%s explains nothing, or has no rank: %+v", r.ID, *f)
		}
		for _, s := range f.Symptoms {
			if !slices.Contains(bundle.Symptoms(), s) {
				t.Errorf("%s explains the symptom %q, which is not known", r.ID, s)
			}
		}
		for _, glob := range f.Rules {
			follows := slices.ContainsFunc(rules, func(o *Rule) bool {
				ok, err := path.Match(glob, o.ID)
				return err == nil && ok && o != r && (o.Foundation == nil || o.Foundation.Rank > f.Rank)
			})
			if !follows {
				t.Errorf("%s explains %q, and no rule of that name can follow from it", r.ID, glob)
			}
		}
	}
}
