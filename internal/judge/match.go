package judge

import (
	"slices"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// match judges an exchange by every field of a matcher that is set. The first breach
// decides, else the first doubt; else the observed legal responses are joined.
func match(l *look) finding {
	asked := map[string]bool{"outcome": true} // judged by default
	for field := range l.m.Asked() {
		asked[field.Name] = true
	}
	var result finding
	for _, field := range fields() {
		if !asked[field.name] {
			continue
		}
		f := field.match(l).as(field.symptom)
		if f.grade == violated {
			if f.symptom.IsOutput() && refusedStart(l.x) {
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

// field judges one field of a matcher. A breach has this symptom unless match sets another.
type field struct {
	name    string
	match   func(*look) finding
	symptom bundle.Symptom
}

// fields returns the fields of a matcher in the order of judging, with the most informative
// message first.
func fields() []field {
	return []field{
		{"outcome", matchOutcome, bundle.SymptomOther}, {"status", matchStatus, bundle.SymptomStatus},
		{"error", matchError, bundle.SymptomErrorCode}, {"grpc", matchGRPC, bundle.SymptomErrorCode},
		{"ok", matchOK, bundle.SymptomRefused}, {"headers", matchHeaders, bundle.SymptomHeader},
		{"header-matches", matchHeaderMatches, bundle.SymptomHeader},
		{"trailers", matchTrailers, bundle.SymptomHeader}, {"metadata", matchMetadata, bundle.SymptomHeader},
		{"start", matchStart, bundle.SymptomNoStart}, {"end", matchEnd, bundle.SymptomEndEvent},
		{"ends", matchEnds, bundle.SymptomEndEvent}, {"never", matchNever, bundle.SymptomNotRefused},
		{"events", matchEvents, bundle.SymptomOrder}, {"messages", matchMessages, bundle.SymptomOutputOther},
		{"stdout", matchStdout, bundle.SymptomOutputOther}, {"stderr", matchStderr, bundle.SymptomOutputOther},
		{"pty", matchPTY, bundle.SymptomOutputOther}, {"body", matchBody, bundle.SymptomBody},
		{"lists", matchLists, bundle.SymptomNotListed}, {"not-lists", matchNotLists, bundle.SymptomStillListed},
		{"compressed", matchCompressed, bundle.SymptomCompression}, {"spread", matchSpread, bundle.SymptomHeldBack},
		{"within", matchWithin, bundle.SymptomTime}, {"not-before", matchNotBefore, bundle.SymptomTime},
		{"gap", matchGap, bundle.SymptomTime}, {"conn", matchConn, bundle.SymptomConnection},
		{"h2", matchH2, bundle.SymptomConnection}, {"h2-never", matchH2Never, bundle.SymptomConnection},
		{"ws", matchWS, bundle.SymptomConnection}, {"ws-never", matchWSNever, bundle.SymptomConnection},
		{"close", matchClose, bundle.SymptomConnection},
		{"any", matchAny, bundle.SymptomOther},
	}
}

func join(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + " " + b
}

// matchOutcome compares the transport outcome with the legal set. Without a set, a response that
// other fields are about must be complete. Exceptions: the script or the clean-up aborted it (the
// other fields then decide), it is a complete RPC error before a cut, a WebSocket may end without a
// close frame, or the script only wants the connection closed by the peer.
func matchOutcome(l *look) finding {
	got := l.x.Outcome
	if len(l.m.Outcome) > 0 {
		if slices.Contains(l.m.Outcome, string(got)) {
			return oneOf(len(l.m.Outcome), string(got))
		}
		return l.fails(-1, "want outcome %s, saw %s", phrase.Legal(l.m.Outcome, phrase.AsIs), outcomeText(l.x)).as(shortfall(l.x))
	}
	switch {
	case !asksForAnswer(l.m, "any"), got == bundle.OutcomeComplete, got == bundle.OutcomeAborted:
		return finding{}
	case l.m.Error != nil && l.x.Error != nil && (got == bundle.OutcomeClosed || got == bundle.OutcomeReset):
		return finding{}
	case slices.Contains(l.m.Close, closeWithoutFrame) && (got == bundle.OutcomeClosed || got == bundle.OutcomeReset):
		return finding{}
	case l.m.Conn == connClosedByPeer && !asksForAnswer(l.m, "conn", "never"):
		return finding{}
	}
	if l.m.Error != nil && slices.Equal(l.m.Error.Code, []string{codeDeadline}) && got == bundle.OutcomeStalled {
		return l.fails(-1, "want %s, saw %s", codeDeadline, outcomeText(l.x)).as(bundle.SymptomNoDeadline)
	}
	return l.fails(-1, "want a complete response, saw %s", outcomeText(l.x)).as(shortfall(l.x))
}

// asksForAnswer reports whether a field about the response is set, ignoring those in besides.
func asksForAnswer(m *scenarios.Match, besides ...string) bool {
	for f := range m.Asked() {
		if f.About != scenarios.AboutOutcome && f.About != scenarios.AboutFrames && !slices.Contains(besides, f.Name) {
			return true
		}
	}
	return false
}

// matchAny compares an exchange with a legal set of complete responses and records the name of
// the first that fits.
func matchAny(l *look) finding {
	var doubt finding
	var misses []string
	var symptom bundle.Symptom
	vain := false
	for n := range bundle.Each(l.m.Any) {
		f := match(&look{scene: l.scene, m: &n.Match, x: l.x})
		if f.ok() {
			return saw(n.Name)
		}
		if f.grade != violated {
			doubt = worst(doubt, f)
		}
		if symptom == "" || symptom == bundle.SymptomNotRefused {
			symptom = f.symptom // not-refused says the least
		}
		vain = vain || f.vain // in time it might have been this one
		misses = append(misses, n.Name+" ("+f.message+")")
	}
	if !doubt.ok() {
		return doubt
	}
	f := l.fails(-1, "none of the legal responses fits: %s; saw %s", phrase.Legal(misses, phrase.AsIs), answer(l.x)).as(symptom)
	f.vain = vain
	return f
}

// oneOf records the observed response if the legal set has several members.
func oneOf(members int, seen string) finding {
	if members < 2 {
		return finding{}
	}
	return saw(seen)
}
