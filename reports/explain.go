package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/scenarios"
)

// Topic is the subject of Explain: whatever has an id that a report prints.
type Topic struct {
	Catalogue *scenarios.Catalogue
	Profiles  []*scenarios.Profile
	Faults    Faults
	ID        string
}

// UnknownIDError reports an id that is none of a rule, a scenario, a profile or a feature.
type UnknownIDError struct {
	ID   string
	Near []string // at most five similar ids
}

// Error names the id and similar ones.
func (e *UnknownIDError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no rule, scenario, profile or feature %q: see `assay list` and `assay list --profiles`", e.ID)
	}
	return fmt.Sprintf("no rule, scenario, profile or feature %q; did you mean %s?", e.ID, strings.Join(e.Near, ", "))
}

// Explain describes a rule (sentence, level, source, the failures that it explains, its
// profiles, scenarios and faults), a scenario (title, rules, needs, axes and script),
// a profile (required features, raised and allowed rules), a feature, also as the rule of a
// profile that requires it, a rule about the whole run, or the rules of a reference such as C118. If several share the
// id, it describes all of them. An unknown id is an *UnknownIDError.
func Explain(w io.Writer, topic Topic, s Style) error {
	c := newCanvas(w, s)
	r, sc := topic.Catalogue.Rule(topic.ID), topic.Catalogue.Scenario(topic.ID)
	told := 0
	next := func() {
		if told++; told > 1 {
			c.row()
		}
	}
	if r != nil {
		next()
		c.explainRule(topic, r)
	}
	if sc != nil {
		next()
		c.explainScenario(topic.Catalogue, sc)
	}
	for _, p := range topic.Profiles {
		if p.ID == topic.ID {
			next()
			c.explainProfile(topic.Catalogue, p)
		}
	}
	for _, r := range topic.Catalogue.Rules {
		if r.Ref != "" && r.Ref == topic.ID {
			next()
			c.explainRule(topic, r)
		}
	}
	if f := featureOf(topic); f != nil {
		next()
		c.explainFeature(f)
	}
	if r := runRule(topic.ID); r != nil {
		next()
		c.explainRule(topic, r)
	}
	if told == 0 {
		return &UnknownIDError{topic.ID, near(topic)}
	}
	return c.err
}

// runRules are the rules about a whole run, which no scenario proves.
var runRules = []scenarios.Rule{
	{ID: "run.front-answers", Level: "must", Text: "The responses are those of the gateway: nothing in front of it answers in its place, as a proxy does with 502."},
	{ID: "run.leftovers", Level: "should", Text: "No process of the run is left on the target."},
	{ID: "run.target-alive", Level: "must", Text: "The target responds until the end of the run."},
}

func runRule(id string) *scenarios.Rule {
	if i := slices.IndexFunc(runRules, func(r scenarios.Rule) bool { return r.ID == id }); i >= 0 {
		return &runRules[i]
	}
	return nil
}

// feature is what scenarios need and profiles require.
type feature struct {
	id                  string
	required, scenarios []string
}

// featuresOf returns the ids of all features.
func featuresOf(topic Topic) []string {
	var ids []string
	for _, s := range topic.Catalogue.Scenarios {
		ids = append(ids, s.Needs...)
	}
	for _, p := range topic.Profiles {
		ids = append(ids, p.Require...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// featureOf returns the feature of an id, also as in profile.NAME.FEATURE; nil if there is none.
func featureOf(topic Topic) *feature {
	f := &feature{id: topic.ID}
	if rest, ok := strings.CutPrefix(topic.ID, "profile."); ok {
		_, f.id, _ = strings.Cut(rest, ".")
	}
	if !slices.Contains(featuresOf(topic), f.id) {
		return nil
	}
	for _, p := range topic.Profiles {
		if slices.Contains(p.Require, f.id) {
			f.required = append(f.required, p.ID)
		}
	}
	for _, s := range topic.Catalogue.Scenarios {
		if slices.Contains(s.Needs, f.id) {
			f.scenarios = append(f.scenarios, s.ID)
		}
	}
	return f
}

func (c *canvas) explainFeature(f *feature) {
	c.row(c.paint(bold, cut("feature "+line(f.id), c.n)))
	c.block(painted{"  ", plain}, "A target has it or not; `assay doctor URL` tells, and shows what it saw.", plain)
	c.row()
	c.fact("profiles", line(strings.Join(f.required, ", ")))
	c.facts("scenarios", f.scenarios)
}

// factColumns is the width of the names on the left.
const factColumns = 12

// fact draws a name and its value, or nothing without a value.
func (c *canvas) fact(name, value string) {
	if value != "" {
		c.block(painted{pad("  "+name, factColumns), dim}, value, plain)
	}
}

func (c *canvas) facts(name string, values []string) {
	for i, v := range values {
		if i > 0 {
			name = ""
		}
		c.block(painted{pad("  "+name, factColumns), dim}, line(v), plain)
	}
}

func (c *canvas) explainRule(topic Topic, r *scenarios.Rule) {
	c.ends(painted{"rule " + line(r.ID), bold}, painted{line(r.Level), dim})
	c.block(painted{"  ", plain}, line(r.Text), plain)
	c.row()
	source := line(r.Source)
	if r.Section != "" {
		source += ", " + line(r.Section)
	}
	c.fact("source", strings.TrimPrefix(source, ", "))
	c.fact("reference", line(r.Ref))
	c.fact("breach", map[string]string{"must": "a failure", "should": "an advisory, unless --strict or the profile raises it", "may": "an advisory, unless --strict or the profile raises it"}[r.Level])
	c.fact("untestable", line(r.Untestable))
	if len(r.Standing) > 0 {
		c.fact("standing", "judged on every observation by "+line(strings.Join(r.Standing, ", ")))
	}
	c.explainFoundation(r.Foundation)
	c.explainProfiles(topic.Profiles, r.ID)
	c.facts("scenarios", proving(topic.Catalogue, r.ID))
	c.facts("faults", topic.Faults[r.ID])
}

func (c *canvas) explainScenario(cat *scenarios.Catalogue, s *scenarios.Scenario) {
	c.row(c.paint(bold, cut("scenario "+line(s.ID), c.n)))
	c.block(painted{"  ", plain}, line(s.Title), plain)
	c.row()
	for i, id := range provenBy(s) {
		name := ""
		if i == 0 {
			name = "proves"
		}
		text := line(id)
		if r := cat.Rule(id); r != nil {
			text += " (" + line(r.Level) + "): " + line(r.Text)
		}
		c.block(painted{pad("  "+name, factColumns), dim}, text, plain)
	}
	c.fact("needs", line(strings.Join(s.Needs, ", ")))
	c.fact("runs on", axesText(s.Permutations()))
	if s.Repeat.Times > 1 {
		c.fact("repeats", fmt.Sprintf("%d times, %d at once", s.Repeat.Times, max(1, s.Repeat.Parallel)))
	}
	c.fact("runs", conditions(s))
	c.fact("file", line(s.File))
	c.row()
	for l := range strings.SplitSeq(strings.TrimRight(string(s.Text), "\n"), "\n") {
		c.row("  ", c.paint(dim, "│ "), c.text(l)) // verbatim, for copying
	}
}

func conditions(s *scenarios.Scenario) string {
	var parts []string
	if s.Exclusive {
		parts = append(parts, "alone")
	}
	if s.Destructive {
		parts = append(parts, "only with --destructive, last")
	}
	if !s.Slow.IsZero() {
		parts = append(parts, "only with --slow")
	}
	return strings.Join(parts, ", ")
}

// near returns the ids most similar to an unknown one.
func near(topic Topic) []string {
	id := topic.ID
	type candidate struct {
		id       string
		distance int
	}
	var all []candidate
	consider := func(other string) {
		d := distance(id, other)
		if strings.Contains(other, id) && id != "" {
			d = 0
		}
		if d <= max(2, len(id)/3) {
			all = append(all, candidate{other, d})
		}
	}
	for _, r := range topic.Catalogue.Rules {
		consider(r.ID)
	}
	for _, s := range topic.Catalogue.Scenarios {
		consider(s.ID)
	}
	for _, p := range topic.Profiles {
		consider(p.ID)
	}
	for _, id := range featuresOf(topic) {
		consider(id)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.distance - b.distance })
	var ids []string
	for _, c := range all {
		if len(ids) < 5 && !slices.Contains(ids, c.id) {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// distance returns the Levenshtein distance of two ids.
func distance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
