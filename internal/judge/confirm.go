package judge

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

var (
	// waitedFor are the symptoms of what Assay waited for in vain.
	waitedFor = []bundle.Symptom{
		bundle.SymptomNoConnect, bundle.SymptomNoAnswer, bundle.SymptomStalled, bundle.SymptomHeldBack, bundle.SymptomStillListed,
	}
	// notYet are the symptoms of what a response does not have: it may not have come yet.
	notYet = []bundle.Symptom{
		bundle.SymptomNoStart, bundle.SymptomNoEnd, bundle.SymptomNoEndStream, bundle.SymptomOutputMissing, bundle.SymptomOutputShort,
		bundle.SymptomNoDeadline, bundle.SymptomTime, bundle.SymptomConnection, bundle.SymptomOther,
	}
	// unfinished are the outcomes of an exchange whose rest did not come in time.
	unfinished = []bundle.Outcome{bundle.OutcomeNoConnect, bundle.OutcomeNoAnswer, bundle.OutcomeStalled}
)

// lateDriver is the lag of this driver's timers from which a target that cuts a connection may have done so because of a
// time limit of its own: whoever is that late reads and writes too slowly. On a quiet machine the lag of a whole run is
// below 60 ms; with 40 threads ready for each processor it is half a second and more.
const lateDriver = 200 * time.Millisecond

// awaited reports whether what broke a rule did not come in time: all that is known is that Assay waited for it in
// vain, or that the target cut the connection while Assay was late itself. Bytes that break a rule are judged where they
// are seen, and so is what is missing from a complete response.
func awaited(o *bundle.Observation, f finding) bool {
	outcome := outcomeAt(o, f.at)
	return f.vain || slices.Contains(waitedFor, f.symptom) ||
		slices.Contains(notYet, f.symptom) && slices.Contains(unfinished, outcome) ||
		o.Lag >= int64(lateDriver) && (outcome == bundle.OutcomeClosed || outcome == bundle.OutcomeReset)
}

// outcomeAt returns the outcome of the exchange that a piece of evidence names; "" if it names none.
func outcomeAt(o *bundle.Observation, at bundle.Evidence) bundle.Outcome {
	if x := exchangeAt(o, at); x != nil {
		return x.Outcome
	}
	return ""
}

// exchangeAt returns the exchange that a piece of evidence names, or nil.
func exchangeAt(o *bundle.Observation, at bundle.Evidence) *bundle.Exchange {
	for it, x := range o.Exchanges() {
		if it.Index == at.Iteration && x.ID == at.Exchange {
			return x
		}
	}
	return nil
}

// confirm makes of a suspicion what the second pass of the run has found: a failure that it saw again, or nothing
// that the target can be blamed for. An observation without a second pass stays as it is.
func (j *Judge) confirm(v *bundle.Verdict, s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) {
	c := o.Confirm
	if c == nil || !v.Awaited || !told(v) {
		return
	}
	switch {
	case c.Alone != nil && c.Alone.Died:
		v.Message = "seen once, and the target died when it was tried again alone: " + v.Message
	case c.Alone != nil && j.breaks(v.Rule, s, run, c.Alone):
		v.Message += "; it was the same alone, with nothing beside it"
		if c.Tries > 1 {
			v.Message += fmt.Sprintf(", in try %d", c.Tries)
		}
		return
	case c.Alone != nil:
		v.Message = fmt.Sprintf("seen once, and not again in %s alone: %s", phrase.Plural(c.Tries, "attempt"), v.Message)
	case c.Like != "":
		v.Untried = true
		v.Message += "; alone, " + phrase.Clip(c.Like) + " showed the same, so this was not tried again"
		return
	default:
		v.Message = "seen once, and not tried again alone, since " + phrase.Clip(c.Untried) + ": " + v.Message
	}
	v.Conclusion, v.Repeats = bundle.Inconclusive, nil
}

// Died makes inconclusive what is missing because the target died: the rule about that says so. A destructive scenario is
// about just that.
func Died(v *bundle.Verdict, s *scenarios.Scenario, o *bundle.Observation) {
	cut := func(at bundle.Evidence) bool {
		of := outcomeAt(o, at)
		return of == bundle.OutcomeClosed || of == bundle.OutcomeReset || slices.Contains(unfinished, of)
	}
	if !s.Destructive && v.Conclusion.FailsRun() && (v.Awaited || v.Evidence != nil && cut(*v.Evidence)) {
		v.Conclusion, v.Message, v.Repeats = bundle.Inconclusive, "the target died meanwhile: "+v.Message, nil
	}
}

// told reports whether a verdict tells the target that it breaks a rule.
func told(v *bundle.Verdict) bool { return v.Conclusion.FailsRun() || v.Conclusion == bundle.Advisory }

// breaks reports whether an observation breaks a rule.
func (j *Judge) breaks(rule string, s *scenarios.Scenario, run *bundle.Run, o *bundle.Observation) bool {
	return slices.ContainsFunc(j.Scenario(s, run, o), func(v bundle.Verdict) bool { return v.Rule == rule && told(&v) })
}

// Suspicions returns what the verdicts of an observation only suspect: the symptom of each, and the way in which the
// scenario speaks to the target. It is empty for a scenario that breaks no rule, or shows what it breaks.
func Suspicions(verdicts []bundle.Verdict) []string {
	var all []string
	for v := range bundle.Each(verdicts) {
		if v.Awaited && told(v) {
			all = append(all, fmt.Sprintf("%s, %s over %s", v.Symptom, v.Axes.Protocol, v.Axes.HTTP))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Doubtful reports whether verdicts say less than that every rule holds that applies.
func Doubtful(verdicts []bundle.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v bundle.Verdict) bool {
		return told(&v) || v.Conclusion == bundle.Inconclusive
	})
}
