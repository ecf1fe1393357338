package judge

import (
	"slices"

	"assay/internal/bundle"
	"assay/scenarios"
)

// match holds an exchange against every field of a matcher that is set. The first
// breach decides; what could not be told comes next; the legal answers seen are joined.
func match(l *look) finding {
	var result finding
	for _, field := range fields() {
		f := field.hold(l).as(field.symptom)
		if f.grade == broken {
			if isOutput(f.symptom) && refusedStart(l.x) {
				f.symptom = bundle.SymptomNoStart
			}
			return f
		}
		result = worst(result, f)
		if f.ok() && f.seen != "" && result.ok() {
			result.seen = join(result.seen, f.seen)
		}
	}
	return result
}

// field is one part of a matcher, and what a breach of it looks like unless it says
// otherwise itself.
type field struct {
	hold    func(*look) finding
	symptom bundle.Symptom
}

// fields are the parts of a matcher in the order in which they are tried: the
// first message is the one that explains most.
func fields() []field {
	return []field{
		{matchOutcome, bundle.SymptomOther}, {matchStatus, bundle.SymptomStatus}, {matchError, bundle.SymptomErrorCode},
		{matchGRPC, bundle.SymptomErrorCode}, {matchOK, bundle.SymptomRefused}, {matchHeaders, bundle.SymptomHeader},
		{matchTrailers, bundle.SymptomHeader}, {matchMetadata, bundle.SymptomHeader},
		{matchStart, bundle.SymptomNoStart}, {matchEnd, bundle.SymptomEndEvent}, {matchEnds, bundle.SymptomEndEvent},
		{matchNever, bundle.SymptomNotRefused}, {matchEvents, bundle.SymptomOrder}, {matchMessages, bundle.SymptomOutputOther},
		{matchStdout, bundle.SymptomOutputOther}, {matchStderr, bundle.SymptomOutputOther}, {matchPTY, bundle.SymptomOutputOther},
		{matchBody, bundle.SymptomBody}, {matchLists, bundle.SymptomNotListed}, {matchNotLists, bundle.SymptomStillListed},
		{matchCompressed, bundle.SymptomCompression}, {matchSpread, bundle.SymptomHeldBack}, {matchWithin, bundle.SymptomTime},
		{matchNotBefore, bundle.SymptomTime}, {matchGap, bundle.SymptomTime}, {matchConn, bundle.SymptomConnection},
		{matchH2, bundle.SymptomConnection}, {matchH2Never, bundle.SymptomConnection}, {matchAny, bundle.SymptomOther},
	}
}

func join(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + " " + b
}

// matchOutcome holds the transport outcome against the legal set. Where the script
// names none, an answer must be complete, unless the script or the clean-up broke it
// off (then what was asked of it decides), or it is an RPC error that came whole before a cut.
func matchOutcome(l *look) finding {
	got := l.x.Outcome
	alone := *l.m
	alone.Any = nil
	if len(l.m.Outcome) > 0 {
		if slices.Contains(l.m.Outcome, string(got)) {
			return oneOf(len(l.m.Outcome), string(got))
		}
		return l.fails(-1, "want outcome %s, saw %s", legal(l.m.Outcome, asIs), outcomeText(l.x)).as(shortfall(l.x))
	}
	switch {
	case !asksAnything(&alone), got == bundle.OutcomeComplete, got == bundle.OutcomeAborted:
		return finding{}
	case l.m.Error != nil && l.x.Error != nil && (got == bundle.OutcomeClosed || got == bundle.OutcomeReset):
		return finding{}
	case onlyConn(l.m):
		return finding{}
	}
	if l.m.Error != nil && slices.Equal(l.m.Error.Code, []string{codeDeadline}) && got == bundle.OutcomeStalled {
		return l.fails(-1, "want %s, saw %s", codeDeadline, outcomeText(l.x)).as(bundle.SymptomNoDeadline)
	}
	return l.fails(-1, "want a complete answer, saw %s", outcomeText(l.x)).as(shortfall(l.x))
}

// onlyConn reports whether a matcher asks for nothing but how the connection ended.
func onlyConn(m *scenarios.Match) bool {
	c := *m
	c.Conn, c.Never = "", nil
	return m.Conn == connClosedByPeer && !asksAnything(&c)
}

func asksAnything(m *scenarios.Match) bool {
	return m.OK != nil || len(m.Status) > 0 || m.Error != nil || len(m.Headers) > 0 ||
		len(m.Trailers) > 0 || m.GRPC != nil || len(m.Metadata) > 0 || m.Messages != nil ||
		m.Start != nil || m.End != nil || m.Ends != "" || m.Events != "" || len(m.Never) > 0 ||
		m.Stdout != nil || m.Stderr != nil || m.PTY != nil || m.Body != nil ||
		len(m.Lists) > 0 || len(m.NotLists) > 0 || m.Compressed != nil || !m.Spread.IsZero() ||
		!m.Within.IsZero() || !m.NotBefore.IsZero() || !m.Gap.IsZero() || m.Conn != "" || len(m.Any) > 0
}

// matchAny holds an exchange against a legal set of whole answers and records
// the name of the first that fits.
func matchAny(l *look) finding {
	if len(l.m.Any) == 0 {
		return finding{}
	}
	var doubt finding
	var misses []string
	var symptom bundle.Symptom
	for i := range l.m.Any {
		n := &l.m.Any[i]
		f := match(&look{scene: l.scene, m: &n.Match, x: l.x})
		if f.ok() {
			return saw(n.Name)
		}
		if f.grade != broken {
			doubt = worst(doubt, f)
		}
		if symptom == "" || symptom == bundle.SymptomNotRefused {
			symptom = f.symptom // that it was not refused is the least that can be said
		}
		misses = append(misses, n.Name+" ("+f.message+")")
	}
	if !doubt.ok() {
		return doubt
	}
	return l.fails(-1, "none of the legal answers: %s; saw %s", legal(misses, asIs), answer(l.x)).as(symptom)
}

// oneOf records what was seen where the legal set has several members.
func oneOf(members int, seen string) finding {
	if members < 2 {
		return finding{}
	}
	return saw(seen)
}
