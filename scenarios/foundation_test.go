package scenarios

import (
	"path"
	"slices"
	"testing"

	"assay/internal/record/bundle"
)

// The symptoms and rules of a foundation must exist. A rule of the same or a lower rank never
// follows from it, so a foundation must not name only such rules.
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
				t.Errorf("%s explains the symptom %q, which does not exist", r.ID, s)
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
