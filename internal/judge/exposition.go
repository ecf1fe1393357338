package judge

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
	"assay/internal/ledger"
	"assay/scenarios"
)

// checkExposition is the standing check that every scrape is a valid Prometheus text exposition.
const checkExposition = "metrics-exposition"

// standingScrapes judges the scrapes of an observation by a rule that lists checkExposition.
func (j *Judge) standingScrapes(t *tally, r *scenarios.Rule, o *bundle.Observation) {
	listed := false
	for _, entry := range r.Standing {
		listed = listed || entry == "check:"+checkExposition
	}
	if !listed {
		return
	}
	for i := range o.Scrapes {
		s := &o.Scrapes[i]
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
	for _, p := range problems {
		if !strings.Contains(p, ": "+ledger.ShouldPrefix) {
			return p
		}
	}
	return ""
}
