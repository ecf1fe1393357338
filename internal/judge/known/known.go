package known

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The rules about a list of known failures, part of the rules about the whole run.
const (
	ruleKnownExpired   = "run.known.expired"
	ruleKnownUnmatched = "run.known.unmatched"
)

// IsRule reports whether a rule is about the list itself.
func IsRule(rule string) bool { return rule == ruleKnownExpired || rule == ruleKnownUnmatched }

// Apply compares the verdicts of one scenario on one set of axes with the list of known failures,
// and changes them in place. own are the rules that the scenario proves. A nil list changes
// nothing. A fail that an entry names becomes a known-failure; a flaky verdict only if the entry
// is marked as flaky or names its rule. If an entry that demands a failure names none, and all
// verdicts that it names pass, its passes become unexpected-passes. Advisory, inconclusive and
// error verdicts never change. An expired entry has no effect.
//
// An entry expires by the date of the run's start, so that a stored run keeps its verdicts.
func Apply(list *scenarios.Known, own []string, run *bundle.Run, o *bundle.Observation, verdicts []bundle.Verdict) {
	if list == nil || run == nil {
		return
	}
	failed := make([]bool, len(verdicts))
	for i := range verdicts {
		failed[i] = verdicts[i].Conclusion == bundle.Fail || verdicts[i].Conclusion == bundle.Flaky
	}
	for entry := range bundle.Each(list.Entries) {
		if entry.Expired(run.Started) || !entry.Matches(o.Scenario, o.Axes) {
			continue
		}
		broken, sure := excuse(list, entry, verdicts, failed)
		if !broken && sure && entry.Demands() {
			surprise(list, entry, own, verdicts)
		}
	}
}

// excuse turns the failures that an entry names into known failures. broken reports whether there
// were any, sure whether all other verdicts that it names pass.
func excuse(list *scenarios.Known, entry *scenarios.KnownFailure, verdicts []bundle.Verdict, failed []bool) (broken, sure bool) {
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
		if entry.Excuses(v.Rule, v.Conclusion) {
			v.Conclusion = bundle.KnownFailure
			v.Message = fmt.Sprintf("known (%s, until %s: %s; %s): %s", list.At(entry), entry.Expires, phrase.Clip(entry.Reason), phrase.Clip(entry.Link), v.Message)
		}
	}
	return broken, sure
}

// passes reports whether a conclusion rests on evidence and leaves a run conformant. An
// unexpected pass of another entry counts.
func passes(c bundle.Conclusion) bool {
	return c == bundle.Pass || c == bundle.Advisory || c == bundle.Deviation || c == bundle.UnexpectedPass
}

// surprise turns the passes that an entry names into unexpected passes: those of its rule or,
// without one, of the rules that the scenario proves.
func surprise(list *scenarios.Known, entry *scenarios.KnownFailure, own []string, verdicts []bundle.Verdict) {
	for v := range bundle.Each(verdicts) {
		named := entry.Rule == v.Rule || entry.Rule == "" && slices.Contains(own, v.Rule)
		if named && v.Conclusion == bundle.Pass {
			v.Conclusion = bundle.UnexpectedPass
			v.Message = fmt.Sprintf("it passes but is listed as a known failure (%s: %s; %s): remove it from the list", list.At(entry), phrase.Clip(entry.Reason), phrase.Clip(entry.Link))
		}
	}
}

// List judges the list of known failures itself. An entry that had expired when the run began is
// a fail of run.known.expired. An entry that matches nothing is a fail of run.known.unmatched, and
// so is a glob of which nothing fails any more. What the run left out, by its selection, its shard
// or as a rerun, may still fail: it counts as a match. verdicts are those of the scenarios. Without
// a list there are no verdicts.
func List(list *scenarios.Known, run *bundle.Run, obs []*bundle.Observation, verdicts []bundle.Verdict) []bundle.Verdict {
	if list == nil || run == nil {
		return nil
	}
	var expired, unmatched []string
	for entry := range bundle.Each(list.Entries) {
		switch {
		case entry.Expired(run.Started):
			expired = append(expired, fmt.Sprintf("%s: %s was known to fail until %s (%s; %s): fix the target, or review the entry and set a new date",
				list.At(entry), entry.Pattern, entry.Expires, phrase.Clip(entry.Reason), phrase.Clip(entry.Link)))
		case !matchesAny(entry, run, obs, verdicts):
			unmatched = append(unmatched, fmt.Sprintf("%s: nothing matches %s: correct the entry, or remove it", list.At(entry), describe(entry)))
		case stale(entry, run, obs, verdicts):
			unmatched = append(unmatched, fmt.Sprintf("%s: nothing that %s matches fails any more (%s; %s): remove the entry, or mark it with flaky: true if the failure comes and goes",
				list.At(entry), describe(entry), phrase.Clip(entry.Reason), phrase.Clip(entry.Link)))
		}
	}
	var all []bundle.Verdict
	for _, r := range []struct {
		rule     string
		messages []string
	}{{ruleKnownExpired, expired}, {ruleKnownUnmatched, unmatched}} {
		if len(r.messages) > 0 {
			all = append(all, bundle.Verdict{Rule: r.rule, Level: "must", Conclusion: bundle.Fail, Message: strings.Join(r.messages, "\n")})
		}
	}
	return all
}

// describe returns an entry in words: "pattern process.output.*, rule …, axes proto".
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

// matchesAny reports whether an entry matches anything in the run. For scenarios that did not
// run, the judged rules are unknown, so the rule of the entry is ignored.
func matchesAny(entry *scenarios.KnownFailure, run *bundle.Run, obs []*bundle.Observation, verdicts []bundle.Verdict) bool {
	unjudged := func(o *bundle.Observation) bool {
		return o != nil && (entry.Rule == "" || o.Skip != nil || o.Interrupted) && entry.Matches(o.Scenario, o.Axes)
	}
	return slices.ContainsFunc(obs, unjudged) || matchesUnseen(entry, run, obs) || slices.ContainsFunc(verdicts, func(v bundle.Verdict) bool {
		return v.Scenario != "" && entry.Rule == v.Rule && entry.Matches(v.Scenario, v.Axes)
	})
}

// matchesUnseen reports whether an entry matches something that the run left out, or planned and did not observe.
func matchesUnseen(entry *scenarios.KnownFailure, run *bundle.Run, obs []*bundle.Observation) bool {
	seen := map[bundle.Planned]bool{}
	for _, o := range obs {
		if o != nil {
			seen[bundle.Planned{Scenario: o.Scenario, Axes: o.Axes}] = true
		}
	}
	matches := func(p bundle.Planned) bool { return entry.Matches(p.Scenario, p.Axes) }
	return slices.ContainsFunc(run.LeftOut, matches) ||
		slices.ContainsFunc(run.Planned, func(p bundle.Planned) bool { return !seen[p] && matches(p) })
}
