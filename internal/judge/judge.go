package judge

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/judge/known"
	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The levels of rules.
const (
	levelMust   = "must"
	levelShould = "should"
	levelMay    = "may"
)

// Judge holds the rules and the profile; it has no other state, and its methods may be called concurrently.
// A nil Profile allows and changes nothing.
type Judge struct {
	Rules   *scenarios.Catalogue
	Profile *scenarios.Profile
	// Strict makes a broken should or may a failure.
	Strict bool
	// Known lists the expected failures; nil excuses nothing.
	Known *scenarios.Known
}

// Scenario judges one observation. It returns one verdict for each rule of the scenario and
// for each standing rule that applied, sorted by rule id; a rule that is both has one merged
// verdict.
func (j *Judge) Scenario(s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) []bundle.Verdict {
	own := rulesOf(s)
	if o.Skip != nil {
		return j.skipped(own, o)
	}
	if id := unanswered(s, run, o); id != "" {
		return j.unjudged(own, o, bundle.Inconclusive, "the probe for "+id+" got no response, and neither did this scenario", bundle.SymptomNoAnswer)
	}
	tallies := j.clauses(s, run, o)
	for id, t := range j.standing(run, o) {
		if tallies[id] == nil {
			tallies[id] = &tally{}
		}
		tallies[id].merge(t)
	}
	var verdicts []bundle.Verdict
	for id, t := range tallies {
		if t.looked == 0 && !slices.Contains(own, id) {
			continue
		}
		v := j.verdict(id, o, t)
		decide(&v, s, o)
		wavers(&v, s, run, t)
		j.confirm(&v, s, run, o)
		if o.Died || run.KilledBy(o.Scenario) {
			Died(&v, s, o)
		}
		verdicts = append(verdicts, v)
	}
	verdicts = sorted(verdicts)
	known.Apply(j.Known, own, run, o, verdicts)
	return verdicts
}

// rulesOf lists the rules that a scenario proves, sorted.
func rulesOf(s *scenarios.Scenario) []string {
	ids := slices.Clone(s.Rules)
	for i := range s.Expect {
		if r := s.Expect[i].Rule; r != "" {
			ids = append(ids, r)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// skips say why a scenario did not run.
var skips = map[bundle.SkipReason]string{
	bundle.SkipFeature:     "the target lacks a feature that the scenario needs",
	bundle.SkipDestructive: "not requested",
	bundle.SkipSlow:        "not requested",
	bundle.SkipInterrupted: "the run was interrupted before this scenario",
	bundle.SkipTargetGone:  "the target was gone",
	bundle.SkipKiller:      "the target dies of it",
	bundle.SkipStalled:     "the target does not answer in this way",
	bundle.SkipBudget:      "the time budget of the run was spent before this scenario",
	bundle.SkipUnanswered:  "not tried",
}

// skipped returns the verdicts of a scenario that did not run.
func (j *Judge) skipped(rules []string, o *bundle.Observation) []bundle.Verdict {
	conclusion := bundle.NotRun
	switch o.Skip.Reason {
	case bundle.SkipFeature:
		conclusion = bundle.Unsupported
	case bundle.SkipUnanswered:
		conclusion = bundle.Inconclusive
	default:
	}
	message, known := skips[o.Skip.Reason]
	if !known {
		message = "not run: " + phrase.Clip(string(o.Skip.Reason))
	}
	if o.Skip.Detail != "" {
		message += ": " + phrase.Clip(o.Skip.Detail)
	}
	return j.unjudged(rules, o, conclusion, message, "")
}

// unanswered returns a feature that the scenario needs and whose probe was inconclusive, if the
// scenario got no response either; otherwise "".
func unanswered(s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) string {
	if run == nil || o.Interrupted {
		return ""
	}
	asked := false
	for _, x := range o.Exchanges() {
		if x.Response != nil && !x.Housekeeping() || len(x.Violations) > 0 {
			return ""
		}
		asked = true
	}
	if !asked {
		return ""
	}
	for _, id := range (scenarios.Instance{Scenario: s, Axes: o.Axes}).Needs() {
		if run.Features[id].State == bundle.FeatureUnknown {
			return id
		}
	}
	return ""
}

// unjudged returns the same verdict for all rules of an observation that is not judged.
func (j *Judge) unjudged(rules []string, o *bundle.Observation, c bundle.Conclusion, why string, symptom bundle.Symptom) []bundle.Verdict {
	verdicts := make([]bundle.Verdict, 0, len(rules))
	for _, id := range rules {
		verdicts = append(verdicts, bundle.Verdict{
			Scenario: o.Scenario, Axes: o.Axes, Rule: id, Level: j.level(id), Conclusion: c, Message: why, Symptom: symptom,
		})
	}
	return verdicts
}

// verdict turns the findings of a rule into its verdict.
func (j *Judge) verdict(rule string, o *bundle.Observation, t *tally) bundle.Verdict {
	f := t.worst
	switch {
	case f.grade == violated && o.Shortage != "":
		f.grade = inconclusive
		f.message += "; meanwhile this machine lacked a resource: " + phrase.Clip(o.Shortage)
	case f.grade == violated && o.Refused != nil && o.Refused.Excused:
		f.grade = inconclusive
		f.message += fmt.Sprintf("; the last of %d tries had %s refused (%s), and a refusal breaks no rule",
			o.Refused.Tries, phrase.Plural(o.Refused.Requests, "request"), phrase.Clip(o.Refused.Answer))
	case f.grade == violated:
		if note := defects(o); note != "" {
			f.message += "; in addition, a defect of Assay: " + note
		}
	case defects(o) != "":
		f = finding{grade: toolError, message: "a defect of Assay: " + defects(o), at: nowhere()}
	case t.looked == 0 && !o.Interrupted:
		f = finding{grade: inconclusive, message: "no expectation of the scenario could be checked", at: nowhere()}
	}
	v := bundle.Verdict{Scenario: o.Scenario, Axes: o.Axes, Rule: rule, Level: j.level(rule), Counts: t.counts, Seen: t.seenText()}
	j.conclude(&v, f)
	v.Awaited = f.grade == violated && awaited(o, f)
	if o.Interrupted && f.grade != violated && f.grade != toolError {
		v.Conclusion, v.Message, v.Symptom, v.Evidence = bundle.NotRun, "interrupted before the rule could be judged", "", nil
		if o.CutByBudget {
			v.Message = "the time budget of the run was spent before it was concluded"
		}
	}
	return v
}

// conclude sets the conclusion of a finding, given the level of the verdict and the profile.
func (j *Judge) conclude(v *bundle.Verdict, f finding) {
	v.Message, v.Symptom = f.message, f.symptom
	if f.grade != holds {
		at := f.at
		v.Evidence = &at
	}
	switch f.grade {
	case holds:
		v.Conclusion, v.Message, v.Symptom = bundle.Pass, "", ""
	case unsupported:
		v.Conclusion = bundle.Unsupported
	case inconclusive:
		v.Conclusion = bundle.Inconclusive
	case toolError:
		v.Conclusion = bundle.Error
	case violated:
		v.Conclusion = bundle.Fail
		if v.Level != levelMust && !j.Strict {
			v.Conclusion = bundle.Advisory
		}
		if reason, ok := j.deviation(v); ok {
			v.Conclusion = bundle.Deviation
			v.Message = "allowed by profile " + j.Profile.ID + " (" + phrase.Clip(reason) + "): " + f.message
		}
	}
}

// level returns the level of a rule under the profile; a rule outside the catalogue is a must.
func (j *Judge) level(rule string) string {
	if j.Profile != nil {
		if change, ok := j.Profile.Levels[rule]; ok && change.Level != "" {
			return change.Level
		}
	}
	if r := j.Rules.Rule(rule); r != nil && r.Level != "" {
		return r.Level
	}
	return levelMust
}

// deviation reports whether the profile allows the breach, and why.
func (j *Judge) deviation(v *bundle.Verdict) (reason string, ok bool) {
	if j.Profile == nil {
		return "", false
	}
	d, named := j.Profile.Deviations[v.Rule]
	return d.Reason, named && d.Allows(v.Scenario, v.Symptom)
}

// defects describes a defect of Assay in an observation; "" for none.
func defects(o *bundle.Observation) string {
	if o.Defect != "" {
		return phrase.Clip(o.Defect)
	}
	for i := range o.Iterations {
		if d := o.Iterations[i].Defect; d != "" {
			return phrase.Clip(d)
		}
	}
	return ""
}

// nowhere returns evidence without a location.
func nowhere() bundle.Evidence {
	return bundle.Evidence{Iteration: -1, Exchange: -1, Conn: -1, Off: -1}
}

func sorted(verdicts []bundle.Verdict) []bundle.Verdict {
	slices.SortStableFunc(verdicts, func(a, b bundle.Verdict) int { return cmp.Compare(a.Rule, b.Rule) })
	return verdicts
}
