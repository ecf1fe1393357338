package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/scenarios"
)

// checkExposition is the standing check that every scrape is a valid Prometheus text exposition.
const checkExposition = "metrics-exposition"

// standingScrapes judges the scrapes of an observation by a rule that lists checkExposition.
func (j *Judge) standingScrapes(t *tally, r *scenarios.Rule, o *bundle.Observation) {
	if !slices.Contains(r.Standing, "check:"+checkExposition) {
		return
	}
	for s := range bundle.Each(o.Scrapes) {
		if s.Err != "" || s.Status != 200 {
			continue
		}
		_, problems := ledger.ReadCounters(s.Body, j.metricNames())
		if p := firstBreach(problems); p != "" {
			at := nowhere()
			at.Iteration = s.Iteration
			t.add(finding{grade: violated, symptom: bundle.SymptomCounters, message: fmt.Sprintf("scrape %s: %s", s.Name, phrase.Clip(p)), at: at})
			continue
		}
		t.add(finding{})
	}
}

// firstBreach returns the first problem that breaks the format, not only a recommendation.
func firstBreach(problems []string) string {
	i := slices.IndexFunc(problems, func(p string) bool { return !strings.Contains(p, ": "+ledger.ShouldPrefix) })
	if i < 0 {
		return ""
	}
	return problems[i]
}
