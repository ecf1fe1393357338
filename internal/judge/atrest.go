package judge

import (
	"fmt"
	"slices"

	"assay/internal/envd/call"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/internal/record/ledger"
	"assay/scenarios"
)

// checkAtRest is the standing check that the gauge of active commands equals the number of
// processes in List while the target is idle.
const checkAtRest = "metrics-at-rest"

// standingRest judges the scrapes between two equal lists by a rule that lists checkAtRest. In
// each iteration only the last such scrape counts, because a gateway may update late.
func (j *Judge) standingRest(t *tally, r *scenarios.Rule, run *bundle.Run, o *bundle.Observation) {
	if !slices.Contains(r.Standing, "check:"+checkAtRest) || len(o.Beside) > 0 {
		return
	}
	for _, s := range scenes(nil, run, o) {
		for i := len(o.Scrapes) - 1; i >= 0; i-- {
			scrape := &o.Scrapes[i]
			if scrape.Iteration != s.it.Index || scrape.Err != "" || scrape.Status != 200 {
				continue
			}
			listed, ok := s.around(scrape)
			if !ok {
				continue
			}
			c, _ := ledger.ReadCounters(scrape.Body, j.metricNames())
			if c.Has["active"] {
				t.add(s.active(scrape, c.Active, listed))
			}
			break
		}
	}
}

// around returns the pids in the last list before a scrape and the first list after it; ok if
// they are equal and no other request was made in between.
func (s *scene) around(scrape *bundle.Scrape) (pids []uint32, ok bool) {
	var before, after *bundle.Exchange
	for x := range bundle.Each(s.it.Exchanges) {
		if x.RPC != call.ProcessList || x.Outcome != bundle.OutcomeComplete || notOK(x) != "" {
			continue
		}
		switch {
		case x.Returned.Before(scrape.Sent):
			before = x
		case after == nil && scrape.Received.Before(x.Invoked):
			after = x
		}
	}
	if before == nil || after == nil {
		return nil, false
	}
	for x := range bundle.Each(s.it.Exchanges) {
		if x != before && x != after && before.Invoked.Before(x.Invoked) && x.Invoked.Before(*after.Returned) {
			return nil, false
		}
	}
	pids, errBefore := listedPIDs(before)
	again, errAfter := listedPIDs(after)
	return pids, errBefore == nil && errAfter == nil && slices.Equal(pids, again)
}

func (s *scene) active(scrape *bundle.Scrape, got float64, listed []uint32) finding {
	if got == float64(len(listed)) {
		return finding{}
	}
	return s.found(violated, nil, "%s", s.says("", fmt.Sprintf("scrape %s: active is %s, and List shows %s before and after it (%s)",
		scrape.Name, ledger.Number(got), phrase.Plural(len(listed), "command"), pidsText(listed)))).as(bundle.SymptomCounters)
}
