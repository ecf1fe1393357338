package outcome

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
)

// admissionNotes returns a note on requests that the target refused only because there were too many.
func admissionNotes(run *bundle.Run, obs []*bundle.Observation) []string {
	a := run.Admission
	if a == nil || a.Limit.Settled == 0 {
		return nil
	}
	note := fmt.Sprintf("the target refused %d of %s (%s), and answered them when there were fewer at a time: no rule is broken by that",
		a.Limit.Requests, phrase.Plural(int(a.Requests), "request"), phrase.Clip(strings.Join(a.Limit.Answers, ", ")))
	if ms := durationMS(run, obs); a.Waited > 0 && ms > 0 {
		note += fmt.Sprintf("; the run waited %s for that, and made about %d requests a second", phrase.Span(a.Waited), max(1, a.Requests*1000/ms))
	}
	return []string{note}
}
