package reproduce

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func TestWhatIsTriedAndInWhichOrder(t *testing.T) {
	all := func() []Failure {
		var all []Failure
		for _, v := range []struct{ id, rule string }{{"a", "x"}, {"b", "x"}, {"c", "x"}, {"d", "y"}, {"d", "x"}, {"e", "z"}, {"u", "w"}} {
			f := unary("{}", bundle.Header{Name: "host", Value: "h"})
			f.Observation.Scenario, f.Verdict.Rule = v.id, v.rule
			all = append(all, f)
		}
		all[0].Instance.Scenario.Destructive = true
		last := &all[len(all)-1]
		last.Verdict.Untried, last.Observation.Confirm = true, &bundle.Confirmation{Like: "a"}
		return all
	}
	cause := func(rule, scenario string) bundle.Cause { return bundle.Cause{Rule: rule, Scenario: scenario} }
	tests := []struct {
		name   string
		causes []bundle.Cause
		limit  int
		first  string
		rest   string
	}{
		{"without causes each rule before any twice", nil, 2, "", "b/x d/y d/x"},
		{"with a high limit", nil, 20, "", "b/x d/y e/z c/x d/x"},
		{"the evidence of each cause, in the order of causes", []bundle.Cause{cause("z", "e"), cause("x", "c")}, 20, "e/z c/x", "d/y b/x d/x"},
		{"causes without evidence that can be tried", []bundle.Cause{cause("x", "a"), cause("y", "")}, 2, "b/x d/y", "d/x"},
		{"another rule of an instance that is tried anyway", []bundle.Cause{cause("y", "d")}, 1, "d/y", "d/x"},
		{"more causes than the limit", []bundle.Cause{cause("z", "e"), cause("x", "b")}, 1, "e/z", ""},
		{"a cause that no failure shows", []bundle.Cause{cause("gone", "b")}, 1, "", "b/x"},
		{"the limit is zero", []bundle.Cause{cause("z", "e")}, 0, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			failures := all()
			named := func(numbers []int) string {
				var words []string
				for _, i := range numbers {
					words = append(words, failures[i].Observation.Scenario+"/"+failures[i].Verdict.Rule)
				}
				return strings.Join(words, " ")
			}
			first, rest := rounds(tt.causes, failures, tt.limit)
			if named(first) != tt.first || named(rest) != tt.rest {
				t.Errorf("got %q, then %q; want %q, then %q", named(first), named(rest), tt.first, tt.rest)
			}
		})
	}
}
