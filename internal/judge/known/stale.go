package known

import (
	"slices"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// stale reports whether an entry excuses nothing any more: it is a glob, the run judged all that
// it matches, something of that passes and nothing fails. An id without a failure is an unexpected
// pass instead.
func stale(entry *scenarios.KnownFailure, run *bundle.Run, obs []*bundle.Observation, verdicts []bundle.Verdict) bool {
	if !entry.Glob() || entry.Flaky || !judgedAll(entry, run, obs) {
		return false
	}
	passed := false
	for v := range bundle.Each(verdicts) {
		switch {
		case v.Scenario == "" || entry.Rule != "" && entry.Rule != v.Rule || !entry.Matches(v.Scenario, v.Axes):
		case passes(v.Conclusion):
			passed = true
		case v.Conclusion != bundle.Unsupported:
			return false
		}
	}
	return passed
}

// judgedAll reports whether everything that an entry matches ran to its end, or cannot run on the
// target.
func judgedAll(entry *scenarios.KnownFailure, run *bundle.Run, obs []*bundle.Observation) bool {
	open := func(o *bundle.Observation) bool {
		return o != nil && (o.Interrupted || o.Omitted != nil || o.Skip != nil && o.Skip.Reason != bundle.SkipFeature) &&
			entry.Matches(o.Scenario, o.Axes)
	}
	return !slices.ContainsFunc(obs, open) && !matchesUnseen(entry, run, obs)
}
