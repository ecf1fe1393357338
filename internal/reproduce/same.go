package reproduce

import (
	"fmt"
	"slices"

	"assay/internal/bundle"
)

// sighting is a verdict and what it was said of.
type sighting struct {
	verdict     *bundle.Verdict
	observation *bundle.Observation
}

func (f Failure) sighting() sighting { return sighting{&f.Verdict, f.Observation} }

// another says how now is another failure than was, "" when it is the same one: it
// has the same conclusion, said of an answer of the same kind. Where the first
// verdict points at no answer, it is enough that now is no failure to connect.
// piped says that now came through a tool, which cannot tell every end apart.
func another(was, now sighting, piped bool) string {
	if !sameConclusion(*was.verdict, now.verdict) {
		return "another conclusion"
	}
	if unconnected(now) && !unconnected(was) {
		return "there was no connection, which there was before"
	}
	before, after := was.exchange(), now.exchange()
	switch {
	case before == nil, after == nil && was.verdict.Conclusion == bundle.UnexpectedPass:
		return ""
	case after == nil:
		return "it is said of no answer, and was said of one before"
	}
	a, b := kindOf(before), kindOf(after)
	if a == b || piped && a.piped(b) {
		return ""
	}
	return fmt.Sprintf("another failure: %s, and before %s", b, a)
}

// sameConclusion reports whether a verdict says again what another said.
func sameConclusion(was bundle.Verdict, v *bundle.Verdict) bool {
	if v == nil {
		return false
	}
	if was.Conclusion == bundle.UnexpectedPass {
		return v.Conclusion == bundle.Pass || v.Conclusion == bundle.UnexpectedPass
	}
	return v.Conclusion == was.Conclusion
}

// iteration is the one that the verdict points at, the first that failed; nil
// where it points at none.
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

// exchange is the one that the verdict points at, nil where it points at none.
func (s sighting) exchange() *bundle.Exchange {
	it := s.iteration()
	if it == nil || s.verdict.Evidence.Exchange < 0 || s.verdict.Evidence.Exchange >= len(it.Exchanges) {
		return nil
	}
	return &it.Exchanges[s.verdict.Evidence.Exchange]
}

// unconnected reports whether a connection could not be opened: in the iteration
// that the verdict points at, in any where it points at none.
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

// kind is what tells failures of one rule apart.
type kind struct {
	outcome bundle.Outcome
	status  int    // of HTTP, 0 without an answer
	code    string // of the error that it carried
	grpc    int    // status of gRPC, -1 without one
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
	text := "the answer is " + string(k.outcome)
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

// piped reports whether now is what a tool shows of k. It shows a reset as an end.
// Where nothing comes it does not show whether the target ended the connection,
// and neither for an answer that we had ended ourselves.
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
