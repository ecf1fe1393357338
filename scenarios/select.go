package scenarios

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/internal/target"
)

// Instance is one scenario on one set of axes: the unit of selection, runs and verdicts.
type Instance struct {
	Scenario *Scenario
	Axes     bundle.Axes
}

// NothingSelectedError reports that a term of a selection matches nothing, or that
// all terms together select nothing.
type NothingSelectedError struct {
	Term string   // as the user gave it; all terms if they fail together
	Near []string // suggestions, the nearest first
}

// Error names the term and the suggestions.
func (e *NothingSelectedError) Error() string {
	message := fmt.Sprintf("select %q matches no scenario", e.Term)
	if len(e.Near) > 0 {
		message += "; similar: " + strings.Join(e.Near, ", ")
	}
	return message
}

// Of returns a catalogue of only the scenarios of the instances and the rules that they
// prove.
func (c *Catalogue) Of(instances []Instance) *Catalogue {
	out := &Catalogue{}
	for _, s := range c.Scenarios {
		if slices.ContainsFunc(instances, func(i Instance) bool { return i.Scenario == s }) {
			out.Scenarios = append(out.Scenarios, s)
		}
	}
	for _, r := range c.Rules {
		if slices.ContainsFunc(out.Scenarios, func(s *Scenario) bool { return slices.Contains(s.Rules, r.ID) }) {
			out.Rules = append(out.Rules, r)
		}
	}
	return out
}

// Permutations returns the axes on which s runs: protocol by codec by HTTP version by
// compression, each in the order of the script. gRPC needs HTTP/2, so gRPC on HTTP/1.1 is
// left out.
func (s *Scenario) Permutations() []bundle.Axes {
	return slices.DeleteFunc(s.product(), func(a bundle.Axes) bool { return a.Protocol == "grpc" && a.HTTP == "1.1" })
}

func (s *Scenario) product() []bundle.Axes {
	var all []bundle.Axes
	for _, protocol := range orDefault(s.Axes.Protocol, "connect") {
		for _, codec := range orDefault(s.Axes.Codec, "json") {
			for _, http := range orDefault(s.Axes.HTTP, "1.1") {
				for _, compression := range orDefault(s.Axes.Compression, "identity") {
					all = append(all, bundle.Axes{Protocol: protocol, Codec: codec, HTTP: http, Compression: compression})
				}
			}
		}
	}
	return all
}

func orDefault(values []string, fallback string) []string {
	if len(values) == 0 {
		return []string{fallback}
	}
	return values
}

// term is one term of a selection: !kind:pattern.
type term struct {
	text, kind, pattern string
	not                 bool
}

// termKinds are the words before the colon; a term without one is a glob over ids.
var termKinds = []string{"rule", "level", "feature", "area", "axis"}

// TermKinds returns the words before the colon of a term.
func TermKinds() []string { return slices.Clone(termKinds) }

// Select returns the instances that the terms select, sorted by id, then in the order of
// Permutations; "" selects all.
//
// Terms are joined by commas. A term is a glob over ids (connect.*), or rule:,
// level:, feature:, area: or axis: followed by a glob. An axis is a value
// (axis:proto) or all four (axis:connect/*/1.1/identity). area: also takes the first
// words that several areas share (area:stdio). Terms of one kind
// are alternatives, terms of several kinds must all match, and ! before a term
// excludes its matches. A standing rule that no script names is judged on
// every instance, so rule: with its id selects every instance. If a term matches
// nothing, or all terms together select nothing, the error is a
// *NothingSelectedError with similar ids.
func (c *Catalogue) Select(terms string) ([]Instance, error) {
	parsed, err := parseTerms(terms)
	if err != nil {
		return nil, err
	}
	used := make([]bool, len(parsed))
	var out []Instance
	for _, s := range c.Scenarios {
		for _, axes := range s.Permutations() {
			if c.chosen(Instance{s, axes}, parsed, used) {
				out = append(out, Instance{s, axes})
			}
		}
	}
	for i, t := range parsed {
		if !used[i] {
			return nil, c.noMatch(t)
		}
	}
	if len(out) == 0 {
		return nil, &NothingSelectedError{Term: terms}
	}
	return out, nil
}

func parseTerms(terms string) ([]term, error) {
	var out []term
	for _, text := range strings.Split(terms, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		t := term{text: text, kind: "id"}
		t.pattern, t.not = strings.CutPrefix(text, "!")
		if kind, pattern, ok := strings.Cut(t.pattern, ":"); ok {
			if !slices.Contains(termKinds, kind) {
				return nil, fmt.Errorf("select %q: there is no kind of term %q; there are %s, and globs over ids%s",
					text, kind, strings.Join(termKinds, ", "), asSentence(didYouMean(kind, termKinds)))
			}
			t.kind, t.pattern = kind, pattern
		}
		if _, err := path.Match(t.pattern, ""); err != nil || t.pattern == "" {
			return nil, fmt.Errorf("select %q: %q is not a glob; write one such as connect.*", text, t.pattern)
		}
		out = append(out, t)
	}
	return out, nil
}

// chosen reports whether the terms select i, and marks the terms that match it in used.
func (c *Catalogue) chosen(i Instance, terms []term, used []bool) bool {
	met := map[string]bool{} // by kind
	out := false
	for n, t := range terms {
		hit := c.matches(i, t)
		used[n] = used[n] || hit
		if t.not {
			out = out || hit
			continue
		}
		met[t.kind] = met[t.kind] || hit
	}
	return !out && !slices.Contains(slices.Collect(maps.Values(met)), false)
}

func (c *Catalogue) matches(i Instance, t term) bool {
	s := i.Scenario
	switch t.kind {
	case "rule":
		return slices.ContainsFunc(s.Rules, t.glob) || c.standsAlone(t)
	case "level":
		return slices.ContainsFunc(s.Rules, func(id string) bool {
			r := c.Rule(id)
			return r != nil && t.glob(r.Level)
		})
	case "feature":
		return slices.ContainsFunc(s.Needs, t.glob)
	case "area":
		return t.glob(s.Area) || strings.HasPrefix(s.Area, t.pattern+"-") && !c.hasArea(t.pattern)
	case "axis":
		return t.onAxes(i.Axes)
	default:
		return t.glob(s.ID)
	}
}

// hasArea reports whether an area has exactly that name. If none has, the name is the beginning of
// several: stdio for stdio-exit, stdio-input and so on.
func (c *Catalogue) hasArea(name string) bool {
	return slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return s.Area == name })
}

// standsAlone reports whether the term names a standing rule, and no rule of a script.
func (c *Catalogue) standsAlone(t term) bool {
	named := slices.ContainsFunc(c.Scenarios, func(s *Scenario) bool { return slices.ContainsFunc(s.Rules, t.glob) })
	return !named && slices.ContainsFunc(c.Rules, func(r *Rule) bool { return len(r.Standing) > 0 && t.glob(r.ID) })
}

func (t term) glob(text string) bool {
	ok, err := path.Match(t.pattern, text)
	return err == nil && ok
}

// onAxes reports whether the pattern matches one of the axes, or all four together.
func (t term) onAxes(a bundle.Axes) bool {
	return t.glob(a.String()) || slices.ContainsFunc([]string{a.Protocol, a.Codec, a.HTTP, a.Compression}, t.glob)
}

func (c *Catalogue) noMatch(t term) error {
	var known []string
	switch t.kind {
	case "rule":
		for _, r := range c.Rules {
			known = append(known, r.ID)
		}
	case "level":
		known = []string{"must", "should", "may"}
	case "feature":
		known = target.Features()
	case "axis":
		known = []string{"connect", "grpc", "grpc-web", "json", "proto", "1.1", "h2c", "h2-tls", "identity", "gzip"}
	case "area":
		for _, s := range c.Scenarios {
			known = append(known, s.Area)
		}
	default:
		for _, s := range c.Scenarios {
			known = append(known, s.ID)
		}
	}
	return &NothingSelectedError{Term: t.text, Near: nearest(t.pattern, known, 3)}
}
