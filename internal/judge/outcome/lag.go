package outcome

import (
	"fmt"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// lagNotes returns one note for all verdicts that are inconclusive because the driver ran late.
func lagNotes(run *bundle.Run, verdicts []bundle.Verdict) []string {
	n := 0
	for _, v := range verdicts {
		if v.Conclusion == bundle.Inconclusive && strings.Contains(v.Message, phrase.RanLate) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf(
		"%d of the verdicts are inconclusive because %s, by up to %s: this machine was overloaded or suspended; fewer --jobs or a larger --time-scale help",
		n, phrase.RanLate, phrase.Span(run.DriverLag))}
}
