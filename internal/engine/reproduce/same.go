package reproduce

import (
	"fmt"
	"slices"

	"assay/internal/record/bundle"
)

// sighting is a verdict and its observation.
type sighting struct {
	verdict     *bundle.Verdict
	observation *bundle.Observation
}

func (f Failure) sighting() sighting { return sighting{&f.Verdict, f.Observation} }

// another says how now differs from the failure was; "" when it is the same one, with the
// same conclusion about a response of the same kind. If the first verdict points at no
// response, any failure other than a failure to connect is the same. piped means that
// now came through a tool, which does not show every kind of end.
func another(was, now sighting, piped bool) string {
	if !sameConclusion(*was.verdict, now.verdict) {
		return "another conclusion"
	}
	if unconnected(now) && !unconnected(was) {
		return "there was no connection this time"
	}
	before, after := was.exchange(), now.exchange()
	switch {
	case before == nil, after == nil && was.verdict.Conclusion == bundle.UnexpectedPass:
		return ""
	case after == nil:
		return "this time the verdict points at no response"
	}
	a, b := kindOf(before), kindOf(after)
	if a == b || piped && a.piped(b) {
		return ""
	}
	return fmt.Sprintf("another failure: now %s, before %s", b, a)
}

// sameConclusion reports whether two verdicts have the same conclusion.
func sameConclusion(was bundle.Verdict, v *bundle.Verdict) bool {
	if v == nil {
		return false
	}
	if was.Conclusion == bundle.UnexpectedPass {
		return v.Conclusion == bundle.Pass || v.Conclusion == bundle.UnexpectedPass
	}
	return v.Conclusion == was.Conclusion || breaks(v.Conclusion) && breaks(was.Conclusion)
}

// breaks reports whether a rule was broken; one try of a flaky rule that breaks it again is a fail.
func breaks(c bundle.Conclusion) bool { return c == bundle.Fail || c == bundle.Flaky }

// iteration returns the iteration that the verdict points at, the first that failed, or
// nil.
func (s sighting) iteration() *bundle.Iteration {
	if s.verdict == nil || s.verdict.Evidence == nil {
		return nil
	}
	for i := range s.observation.Iterations {
		if it := &s.observation.Iterations[i]; it.Index == s.verdict.Evidence.Iteration {
			return it
		}
	}
	return nil
}

// exchange returns the exchange that the verdict points at, or nil.
func (s sighting) exchange() *bundle.Exchange {
	it := s.iteration()
	if it == nil || s.verdict.Evidence.Exchange < 0 || s.verdict.Evidence.Exchange >= len(it.Exchanges) {
		return nil
	}
	return &it.Exchanges[s.verdict.Evidence.Exchange]
}

// unconnected reports whether a connection could not be opened, in the iteration that
// the verdict points at or, without one, in any.
func unconnected(s sighting) bool {
	iterations := s.observation.Iterations
	if it := s.iteration(); it != nil {
		iterations = []bundle.Iteration{*it}
	}
	for i := range iterations {
		if slices.ContainsFunc(iterations[i].Conns, func(c bundle.Conn) bool { return c.DialError != "" }) ||
			slices.ContainsFunc(iterations[i].Exchanges, func(x bundle.Exchange) bool { return x.Outcome == bundle.OutcomeNoConnect }) {
			return true
		}
	}
	return false
}

// kind distinguishes failures of one rule.
type kind struct {
	outcome bundle.Outcome
	status  int    // HTTP status, 0 without a response
	code    string // error code in the response
	grpc    int    // gRPC status, -1 without one
}

func kindOf(x *bundle.Exchange) kind {
	k := kind{outcome: x.Outcome, grpc: -1}
	if x.Response != nil {
		k.status = x.Response.Status
	}
	if x.Error != nil {
		k.code = x.Error.Code
	}
	if x.GRPC != nil {
		k.grpc = x.GRPC.Code
	}
	return k
}

func (k kind) String() string {
	text := "the response is " + string(k.outcome)
	if k.status != 0 {
		text += fmt.Sprintf(" with status %d", k.status)
	}
	if k.code != "" {
		text += " and error " + clean(clip(k.code))
	}
	if k.grpc >= 0 {
		text += fmt.Sprintf(" and gRPC status %d", k.grpc)
	}
	return text
}

// piped reports whether a tool would show k as now. It shows a reset as an end. Without a
// response, or after we ended the connection ourselves, it does not show whether the
// target ended it.
func (k kind) piped(now kind) bool {
	var shown []bundle.Outcome
	switch k.outcome {
	case bundle.OutcomeClosed, bundle.OutcomeReset:
		shown = []bundle.Outcome{bundle.OutcomeClosed, bundle.OutcomeReset}
		if k.status == 0 {
			shown = append(shown, bundle.OutcomeNoAnswer)
		}
	case bundle.OutcomeAborted:
		shown = []bundle.Outcome{bundle.OutcomeClosed, bundle.OutcomeStalled, bundle.OutcomeNoAnswer}
	default:
		return false
	}
	if !slices.Contains(shown, now.outcome) {
		return false
	}
	now.outcome = k.outcome
	return now == k
}
