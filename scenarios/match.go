package scenarios

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// About is the part of an exchange on which a field of a Match depends.
type About string

// The parts of an exchange.
const (
	AboutOutcome  About = "outcome"  // how the transport ended
	AboutHead     About = "head"     // known once the response head is complete
	AboutProgress About = "progress" // known before the response ends
	AboutEnd      About = "end"      // known only once the response has ended
	AboutFrames   About = "frames"   // HTTP/2 frames of the connection; no response is needed
	AboutAny      About = "any"      // other matches
)

// MatchField is one field of a Match.
type MatchField struct {
	Name  string // in scripts
	About About
}

// matchFields are the fields of a Match, in the order of the type.
var matchFields = func() []MatchField {
	var all []MatchField
	for f := range reflect.TypeFor[Match]().Fields() {
		all = append(all, MatchField{Name: f.Tag.Get("yaml"), About: About(f.Tag.Get("about"))})
	}
	return all
}()

// Asked yields the fields that are set. An empty list or mapping is not set.
func (m *Match) Asked() iter.Seq[MatchField] {
	return func(yield func(MatchField) bool) {
		v := reflect.ValueOf(m).Elem()
		for i, field := range matchFields {
			set := !v.Field(i).IsZero()
			if kind := v.Field(i).Kind(); kind == reflect.Slice || kind == reflect.Map {
				set = v.Field(i).Len() > 0
			}
			if set && !yield(field) {
				return
			}
		}
	}
}

// Fields lists the names of the header fields, trailers and metadata that the match is about.
func (m *Match) Fields() []string {
	if m == nil {
		return nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(m.Headers)), slices.Collect(maps.Keys(m.HeaderMatches)),
		slices.Collect(maps.Keys(m.Trailers)), slices.Collect(maps.Keys(m.Metadata)))
	for i := range m.Any {
		names = append(names, m.Any[i].Fields()...)
	}
	return names
}

// Outputs returns the output matches that are set, by stream.
func (m *Match) Outputs() map[string]*OutputMatch {
	all := map[string]*OutputMatch{"stdout": m.Stdout, "stderr": m.Stderr, "pty": m.PTY}
	for stream, o := range all {
		if o == nil {
			delete(all, stream)
		}
	}
	return all
}

// NeedsEnd reports whether the match can be judged only after the response has ended. A start,
// a head or a part of the output can be judged before; so can "ends: never", and an
// outcome that only Assay causes, such as aborted.
func (m *Match) NeedsEnd() bool {
	if m == nil || len(m.Outcome) > 0 && !slices.ContainsFunc(m.Outcome, endsByItself) {
		return false
	}
	for field := range m.Asked() {
		// A response that may be aborted is not waited for after the steps.
		mayBeAborted := field.About == AboutOutcome && slices.Contains(m.Outcome, string(bundle.OutcomeAborted))
		if (field.About == AboutEnd || field.About == AboutOutcome) && !mayBeAborted {
			return true
		}
	}
	for _, o := range m.Outputs() {
		if o.Contains == nil && o.PrefixOf == nil {
			return true
		}
	}
	if m.Messages != nil && (m.Messages.Count != nil || len(m.Messages.All) > 0) {
		return true
	}
	return m.Ends == "once" || slices.ContainsFunc(m.Any, func(n NamedMatch) bool { return n.NeedsEnd() })
}

// endsByItself reports whether the target causes the outcome, and not Assay by giving up.
func endsByItself(outcome string) bool {
	ours := []bundle.Outcome{bundle.OutcomeAborted, bundle.OutcomeNoAnswer, bundle.OutcomeStalled}
	return !slices.Contains(ours, bundle.Outcome(outcome))
}

// Subjects returns the names of the exchanges in clauses. The value reports whether a
// clause can be judged only after the exchange has ended.
func (s *Scenario) Subjects() map[string]bool {
	names := map[string]bool{}
	add := func(subjects map[string]*Match) {
		for name, m := range subjects {
			names[name] = names[name] || m.NeedsEnd()
		}
	}
	for i := range s.Expect {
		c := &s.Expect[i]
		add(c.Subjects)
		for j := range c.Orders {
			add(c.Orders[j].Subjects)
		}
		for _, name := range c.Parity {
			names[name] = true
		}
		for _, instant := range c.Sequence {
			name, what, _ := strings.Cut(instant, ".")
			names[name] = names[name] || what == "end" || what == "end-stream" || what == "returned"
		}
	}
	return names
}
