package judge

import (
	"fmt"

	"assay/internal/record/bundle"
)

// neverBegan returns the finding for an exchange that never began: a precondition failed, an
// earlier response was incomplete, or the run was interrupted; otherwise it is a defect of Assay.
func (s *scene) neverBegan() finding {
	if s.cut {
		return s.interrupted(nil)
	}
	if o := s.behind("", nil); o != nil {
		return o.finding(s)
	}
	for _, bad := range []func(*bundle.Exchange) bool{cutShort, startless} {
		if x := s.earliest(bad); x != nil {
			o := unmet{text: fmt.Sprintf("step %s (%s): %s", stepName(x.Step), x.Name, answer(x)), symptom: failure(x), x: x}
			return o.finding(s)
		}
	}
	return finding{grade: toolError, message: "the step was never executed, although every precondition held", at: s.at(nil, -1)}
}

// startless reports whether a Start or Connect got no start event, or a handshake no upgrade.
func startless(x *bundle.Exchange) bool {
	return (x.Op == bundle.OpStart || x.Op == bundle.OpConnect) && !begun(x)
}

// earliest returns the bad exchange that returned first, or nil.
func (s *scene) earliest(bad func(*bundle.Exchange) bool) *bundle.Exchange {
	var first *bundle.Exchange
	for x := range bundle.Each(s.it.Exchanges) {
		if x.Aborted || x.Op == bundle.OpCleanup || !bad(x) {
			continue
		}
		if first == nil || returned(x).Before(returned(first)) {
			first = x
		}
	}
	return first
}

// cutShort reports whether a response is incomplete for a reason other than Assay. Raw bytes
// need no response.
func cutShort(x *bundle.Exchange) bool {
	switch x.Outcome {
	case bundle.OutcomeNoAnswer:
		return x.Op != bundle.OpRaw
	case bundle.OutcomeNoConnect, bundle.OutcomeStalled, bundle.OutcomeClosed, bundle.OutcomeReset, bundle.OutcomeGarbage:
		return true
	case bundle.OutcomeComplete, bundle.OutcomeAborted:
	}
	return false
}

// returned returns the end of an exchange, or its beginning if it never returned.
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
