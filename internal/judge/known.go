package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/scenarios"
)

// The rules that a list of known failures is judged by, as part of the run.
const (
	ruleKnownExpired   = "run.known.expired"
	ruleKnownUnmatched = "run.known.unmatched"
)

// ofKnownList reports whether a rule is one by which the list itself is judged.
func ofKnownList(rule string) bool { return rule == ruleKnownExpired || rule == ruleKnownUnmatched }

// applyKnown holds the verdicts of one scenario on one set of axes against the
// list of known failures, in place. A fail that an entry names becomes a
// known-failure. Where an entry expects a failure and there is only what passes,
// the passes that it speaks of become unexpected-passes. Nothing else is changed:
// no advisory, nothing inconclusive, no error of ours. An entry that has expired
// has no effect.
//
// The day is that of the run's start, so that a stored run keeps its verdicts.
func (j *Judge) applyKnown(own []string, run *bundle.Run, o *bundle.Observation, verdicts []bundle.Verdict) {
	if j.Known == nil || run == nil {
		return
	}
	failed := make([]bool, len(verdicts))
	for i := range verdicts {
		failed[i] = verdicts[i].Conclusion == bundle.Fail
	}
	for n := range j.Known.Entries {
		entry := &j.Known.Entries[n]
		if entry.Expired(run.Started) || !entry.Matches(o.Scenario, o.Axes) {
			continue
		}
		broken, sure := j.excuse(entry, verdicts, failed)
		if !broken && sure {
			j.surprise(entry, own, verdicts)
		}
	}
}

// excuse makes known failures of what the entry names. broken reports whether it
// named any fail, sure whether all else that it names was told for certain.
func (j *Judge) excuse(entry *scenarios.KnownFailure, verdicts []bundle.Verdict, failed []bool) (broken, sure bool) {
	sure = true
	for i := range verdicts {
		v := &verdicts[i]
		if entry.Rule != "" && entry.Rule != v.Rule {
			continue
		}
		if !failed[i] {
			sure = sure && passes(v.Conclusion)
			continue
		}
		broken = true
		if v.Conclusion == bundle.Fail {
			v.Conclusion = bundle.KnownFailure
			v.Message = fmt.Sprintf("known (%s, until %s: %s; %s): %s", j.Known.At(entry), entry.Expires, clip(entry.Reason), clip(entry.Link), v.Message)
		}
	}
	return broken, sure
}

// passes reports whether a conclusion leaves a run conformant, and was reached by looking.
func passes(c bundle.Conclusion) bool {
	return c == bundle.Pass || c == bundle.Advisory || c == bundle.Deviation || c == bundle.UnexpectedPass
}

// surprise makes unexpected passes of what the entry names: of its rule, or of
// the rules that the scenario is there to prove.
func (j *Judge) surprise(entry *scenarios.KnownFailure, own []string, verdicts []bundle.Verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		named := entry.Rule == v.Rule || entry.Rule == "" && slices.Contains(own, v.Rule)
		if named && v.Conclusion == bundle.Pass {
			v.Conclusion = bundle.UnexpectedPass
			v.Message = fmt.Sprintf("it passes, and is listed as a known failure (%s: %s; %s): take it off the list", j.Known.At(entry), clip(entry.Reason), clip(entry.Link))
		}
	}
}

// KnownList judges the list of known failures itself, against all that was
// selected, also where only a part of it was to run again: an entry that had expired when the run began is a fail of
// run.known.expired, one that names nothing of the run a fail of
// run.known.unmatched. verdicts are those of the scenarios. There are none of its
// own without a list.
func (j *Judge) KnownList(run *bundle.Run, obs []*bundle.Observation, verdicts []bundle.Verdict) []bundle.Verdict {
	if j.Known == nil || run == nil {
		return nil
	}
	var expired, unmatched []string
	for i := range j.Known.Entries {
		entry := &j.Known.Entries[i]
		switch {
		case entry.Expired(run.Started):
			expired = append(expired, fmt.Sprintf("%s: %s was known to fail until %s (%s; %s): mend the target, or look into it again and set another day",
				j.Known.At(entry), entry.Pattern, entry.Expires, clip(entry.Reason), clip(entry.Link)))
		case !matchesAny(entry, run, obs, verdicts):
			unmatched = append(unmatched, fmt.Sprintf("%s: nothing that was selected is named by %s", j.Known.At(entry), describe(entry)))
		}
	}
	var all []bundle.Verdict
	for _, r := range []struct {
		rule     string
		messages []string
	}{{ruleKnownExpired, expired}, {ruleKnownUnmatched, unmatched}} {
		if len(r.messages) > 0 {
			all = append(all, bundle.Verdict{Rule: r.rule, Level: levelMust, Conclusion: bundle.Fail, Message: strings.Join(r.messages, "\n")})
		}
	}
	return all
}

// describe is an entry in words: "pattern process.output.*, rule …, axes proto".
func describe(entry *scenarios.KnownFailure) string {
	text := "pattern " + entry.Pattern
	if entry.Rule != "" {
		text += ", rule " + entry.Rule
	}
	if entry.Axes != "" {
		text += ", axes " + entry.Axes
	}
	return text
}

// matchesAny reports whether the entry names anything of the run. The rules that
// a scenario would have been judged by are not known while it has not been run,
// so that of those only the pattern counts.
func matchesAny(entry *scenarios.KnownFailure, run *bundle.Run, obs []*bundle.Observation, verdicts []bundle.Verdict) bool {
	seen := map[instance]bool{}
	for _, o := range obs {
		if o == nil {
			continue
		}
		seen[instance{o.Scenario, o.Axes}] = true
		unjudged := o.Skip != nil || o.Interrupted
		if (entry.Rule == "" || unjudged) && entry.Matches(o.Scenario, o.Axes) {
			return true
		}
	}
	for _, p := range run.LeftOut {
		if entry.Matches(p.Scenario, p.Axes) {
			return true
		}
	}
	for _, p := range run.Planned {
		if !seen[instance{p.Scenario, p.Axes}] && entry.Matches(p.Scenario, p.Axes) {
			return true
		}
	}
	return slices.ContainsFunc(verdicts, func(v bundle.Verdict) bool {
		return v.Scenario != "" && entry.Rule == v.Rule && entry.Matches(v.Scenario, v.Axes)
	})
}
