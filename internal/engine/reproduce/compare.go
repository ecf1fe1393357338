package reproduce

import (
	"context"
	"errors"
	"maps"
	"net"

	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/scenarios"
)

// Reference is a correct gateway, called like the target: with the same scheme,
// credentials, shell and path prefix.
type Reference struct {
	// Run holds its calibration and its features.
	Run    *bundle.Run
	Target *target.Target
	// Again runs instances against it, and returns their observations in order.
	Again func(context.Context, []scenarios.Instance) []*bundle.Observation
}

// compare runs the reproduced failures against the reference gateway. A failure on a
// correct gateway as well proves nothing.
func (m *maker) compare(ctx context.Context, failures []Failure) {
	if m.o.Incomparable {
		return
	}
	var shown []Failure
	for _, f := range failures {
		o := m.seen[keyOf(f)]
		if o == nil || f.Verdict.Conclusion == bundle.UnexpectedPass {
			continue
		}
		if another(f.sighting(), sighting{verdictOf(m.o.Judge, m.o.Run, f, o), o}, false) == "" {
			shown = append(shown, f)
		}
	}
	keys, instances := m.lacking(m.right, shown)
	if len(keys) == 0 || ctx.Err() != nil {
		return
	}
	reference, err := m.refer(ctx)
	if err != nil {
		return
	}
	for i, o := range reference.Again(ctx, instances) {
		m.right[keys[i]] = o
	}
}

// refer returns the reference gateway and requests it only once.
func (m *maker) refer(ctx context.Context) (*Reference, error) {
	m.asking.Lock()
	defer m.asking.Unlock()
	if m.reference == nil && m.noReference == nil {
		m.noReference = errNoReference
		if m.o.Reference != nil {
			m.reference, m.noReference = m.o.Reference(ctx)
		}
	}
	return m.reference, m.noReference
}

var errNoReference = errors.New("none is available")

// notCompared introduces the reason why a failure does not count as reproduced.
const notCompared = "not compared with the reference gateway: "

// likewise says why a failure that showed again on the target does not count as
// reproduced: the reference gateway shows it too, or could not be tested. "" when it counts.
func (m *maker) likewise(ctx context.Context, f Failure) string {
	if f.Verdict.Conclusion == bundle.UnexpectedPass || m.o.Incomparable {
		return "" // a correct gateway passes; no reference offers another service
	}
	reference, err := m.refer(ctx)
	if err != nil {
		return notCompared + err.Error()
	}
	right := m.right[keyOf(f)]
	switch {
	case right == nil, right.Interrupted, right.Skip != nil && right.Skip.Reason == bundle.SkipInterrupted:
		return notCompared + noTime
	case right.Skip != nil:
		return notCompared + "the scenario does not run there: " + right.Skip.Detail
	}
	return bothShow(f.sighting(), sighting{verdictOf(m.o.Judge, reference.Run, f, right), right}, false)
}

// bothShowText says why a text that showed the failure on the target proves nothing; ""
// when the reference gateway does not show it.
func (m *maker) bothShowText(ctx context.Context, s *source, now sighting) string {
	if s.Verdict.Conclusion == bundle.UnexpectedPass || m.o.Incomparable {
		return ""
	}
	reference, err := m.refer(ctx)
	switch {
	case err != nil:
		return notCompared + err.Error()
	case !maps.Equal(m.o.Target.Identity().Paths, reference.Target.Identity().Paths):
		return notCompared + "its surfaces have other paths"
	}
	_, right, err := m.attempt(ctx, s, reference.party())
	switch {
	case ctx.Err() != nil:
		return notCompared + noTime
	case err != nil:
		return notCompared + err.Error()
	case right.observation == nil:
		return notCompared + "no response"
	}
	if right.verdict != nil && !pointed(s.Verdict, right.verdict) {
		return "" // verdicts about other calls do not count
	}
	return bothShow(now, right, true)
}

func (r *Reference) party() party {
	d := dialing(r.Target, r.Run.Target.URL)
	d.Insecure = true // its certificate is self-signed
	return party{r.Run, r.Target, d}
}

// bothShow says how the reference gateway breaks the rule too; "" when it does not.
func bothShow(was, right sighting, piped bool) string {
	switch {
	case was.verdict.Conclusion == bundle.UnexpectedPass, !sameConclusion(*was.verdict, right.verdict):
		return ""
	case another(was, right, piped) == "":
		return "the reference gateway responds the same"
	}
	return notCompared + "it breaks the rule in another way there: " + clean(clip(right.verdict.Message))
}

// dialing returns the connection parameters for a gateway.
func dialing(t *target.Target, url string) Dialing {
	host, port, err := net.SplitHostPort(t.Addr())
	if err != nil {
		host, port = t.Addr(), "80"
	}
	return Dialing{URL: url, Host: host, Port: port, Secure: t.Secure()}
}

// dialing returns the connection parameters for the target.
func (m *maker) dialing() Dialing {
	d := dialing(m.o.Target, m.o.Run.Target.URL)
	d.CACert, d.Insecure = m.o.CACert, m.o.Insecure
	return d
}

// verdictOf judges an observation of a failure's scenario and returns the verdict on its
// rule, or nil.
func verdictOf(j *judge.Judge, run *bundle.Run, f Failure, o *bundle.Observation) *bundle.Verdict {
	for _, v := range j.Scenario(f.Instance.Scenario, run, o) {
		if v.Rule == f.Verdict.Rule {
			return &v
		}
	}
	return nil
}
