package outcome

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// admissionNotes returns notes on requests that the target refused, and not because of what they ask.
func admissionNotes(run *bundle.Run, obs []*bundle.Observation) (notes []string) {
	a := run.Admission
	if a == nil {
		return nil
	}
	if n := excused(obs); n > 0 {
		notes = append(notes, fmt.Sprintf("the target refused requests of %s in every try (%s): they break no rule, and show none to hold",
			phrase.Plural(n, "run"), phrase.Clip(strings.Join(slices.Concat(a.Limit.Answers, a.Front.Answers), ", "))))
	}
	if a.Limit.Settled == 0 {
		return notes
	}
	note := fmt.Sprintf("the target refused %d of %s (%s), and answered them when there were fewer at a time: no rule is broken by that",
		a.Limit.Requests, phrase.Plural(int(a.Requests), "request"), phrase.Clip(strings.Join(a.Limit.Answers, ", ")))
	if ms := durationMS(run, obs); a.Waited > 0 && ms > 0 {
		note += fmt.Sprintf("; the run waited %s for that, and made about %d requests a second", phrase.Span(a.Waited), max(1, a.Requests*1000/ms))
	}
	return append(notes, note)
}

// excused counts the observations whose requests were refused in the end, which breaks no rule.
func excused(obs []*bundle.Observation) (n int) {
	for _, o := range obs {
		if o.Refused != nil && o.Refused.Excused {
			n++
		}
	}
	return n
}
