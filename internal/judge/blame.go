package judge

import (
	"fmt"
	"slices"

	"assay/internal/bundle"
)

// neverGot is the finding for an expectation on a step that never began, or that
// we broke off: the target's fault when an earlier step failed because of it, else ours.
func (s *scene) neverGot(what string) finding {
	if s.cut {
		return finding{grade: unclear, message: what + ": interrupted", at: s.at(nil, -1)}
	}
	if text, x := s.culprit(); text != "" {
		return finding{grade: broken, message: fmt.Sprintf("%s: never got that far: %s", what, text), at: s.at(x, -1)}
	}
	return finding{
		grade:   ours,
		message: what + ": the step was never executed, and no earlier step failed because of the target",
		at:      s.at(nil, -1),
	}
}

// culprit finds the step that the target let down, in words: the earliest exchange
// whose answer never came whole, or await that was not met; where there is none,
// the earliest answer that is an error (a script may well have asked for that one).
func (s *scene) culprit() (text string, guilty *bundle.Exchange) {
	if text, guilty = s.earliest(cutShort); text != "" {
		return text, guilty
	}
	if text, guilty = s.earliest(isError); text != "" {
		return text, guilty
	}
	return s.earliest(startless)
}

// startless reports whether a Start or Connect was answered, and no process came
// of it: whatever needs its pid cannot be done.
func startless(x *bundle.Exchange) bool {
	if x.Op != "start" && x.Op != "connect" {
		return false
	}
	return !slices.ContainsFunc(x.Events, func(e bundle.Event) bool { return e.Kind == bundle.EventStart })
}

// earliest finds the first exchange that is bad, or await that was not met.
func (s *scene) earliest(bad func(*bundle.Exchange) bool) (text string, guilty *bundle.Exchange) {
	var when bundle.Stamp
	for i := range s.it.Exchanges {
		x := &s.it.Exchanges[i]
		if x.Aborted || x.Op == "cleanup" || !bad(x) {
			continue
		}
		if at := returned(x); guilty == nil || at.Before(when) {
			guilty, when = x, at
			text = fmt.Sprintf("step %s (%s): %s", stepName(x.Step), x.Name, answer(x))
		}
	}
	for i := range s.it.Awaits {
		a := &s.it.Awaits[i]
		if a.Met || text != "" && when.Before(a.Ended) {
			continue
		}
		when, guilty = a.Ended, s.it.Exchange(a.On)
		text = fmt.Sprintf("step %s: waited %s for %s on %s, which did not come",
			stepName(a.Step), span(a.Ended.T-a.Began.T), clip(a.What), clip(a.On))
	}
	return text, guilty
}

// cutShort reports whether an answer never came whole, and not because of us. Raw
// bytes need not be answered.
func cutShort(x *bundle.Exchange) bool {
	switch x.Outcome {
	case bundle.OutcomeNoAnswer:
		return x.Op != "raw"
	case bundle.OutcomeNoConnect, bundle.OutcomeStalled, bundle.OutcomeClosed, bundle.OutcomeReset, bundle.OutcomeGarbage:
		return true
	case bundle.OutcomeComplete, bundle.OutcomeAborted:
	}
	return false
}

// returned is when an exchange was over; one that never returned comes at its invocation.
func returned(x *bundle.Exchange) bundle.Stamp {
	if x.Returned != nil {
		return *x.Returned
	}
	return x.Invoked
}

func stepName(step string) string {
	if step == "" {
		return "?"
	}
	return step
}
