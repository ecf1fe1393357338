package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// CatalogueSchema names the version of the catalogue's JSON form.
const CatalogueSchema = "assay.catalogue/v1"

// Faults maps rule ids to the faults that break them. The caller, which may import
// the fakes, provides it; nil means no faults.
type Faults map[string][]string

// The JSON form of a catalogue.
type (
	catalogueJSON struct {
		Schema    string         `json:"schema"`
		Rules     []ruleJSON     `json:"rules"`
		Scenarios []scenarioJSON `json:"scenarios"`
		Profiles  []profileJSON  `json:"profiles,omitempty"` // only in a list of profiles, which has neither rules nor scenarios
	}
	ruleJSON struct {
		ID         string   `json:"id"`
		Level      string   `json:"level"`
		Source     string   `json:"source"`
		Section    string   `json:"section"`
		Text       string   `json:"text"`
		Untestable *string  `json:"untestable"` // the reason, or null
		Standing   bool     `json:"standing"`   // judged on every observation
		Scenarios  []string `json:"scenarios"`
		Faults     []string `json:"faults"`
	}
	scenarioJSON struct {
		ID    string        `json:"id"`
		Title string        `json:"title"`
		Rules []string      `json:"rules"`
		Needs []string      `json:"needs"`
		Axes  []bundle.Axes `json:"axes"` // every permutation
	}
)

// ListJSON writes the catalogue as one JSON value of schema assay.catalogue/v1
// and a newline.
func ListJSON(w io.Writer, cat *scenarios.Catalogue, faults Faults) error {
	doc := catalogueJSON{Schema: CatalogueSchema, Rules: []ruleJSON{}, Scenarios: []scenarioJSON{}}
	for _, r := range cat.Rules {
		j := ruleJSON{
			ID: r.ID, Level: r.Level, Source: r.Source, Section: r.Section, Text: r.Text, Standing: len(r.Standing) > 0,
			Scenarios: list(proving(cat, r.ID)), Faults: list(faults[r.ID]),
		}
		if r.Untestable != "" {
			j.Untestable = &r.Untestable
		}
		doc.Rules = append(doc.Rules, j)
	}
	for _, s := range cat.Scenarios {
		doc.Scenarios = append(doc.Scenarios, scenarioJSON{
			ID: s.ID, Title: s.Title, Rules: list(provenBy(s)), Needs: list(s.Needs), Axes: list(s.Permutations()),
		})
	}
	return writeJSON(w, doc)
}

// provenBy returns the rules that a scenario proves: those it lists and those of its clauses.
func provenBy(s *scenarios.Scenario) []string {
	ids := slices.Clone(s.Rules)
	for _, c := range s.Expect {
		if c.Rule != "" && !slices.Contains(ids, c.Rule) {
			ids = append(ids, c.Rule)
		}
	}
	return ids
}

// proving returns the scenarios that prove a rule.
func proving(cat *scenarios.Catalogue, rule string) []string {
	var ids []string
	for _, s := range cat.Scenarios {
		if slices.Contains(s.Rules, rule) || slices.ContainsFunc(s.Expect, func(c scenarios.Clause) bool { return c.Rule == rule }) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// List draws the catalogue as text: the scenarios by area with their titles, then the
// rules with their coverage. Verbose adds the sentence of each rule.
func List(w io.Writer, cat *scenarios.Catalogue, faults Faults, s Style) error {
	c := newCanvas(w, s)
	runs := 0
	last := ""
	for _, sc := range cat.Scenarios {
		if a := area(sc.ID); a != last {
			if last != "" {
				c.row()
			}
			last = a
			c.row(c.paint(bold, strings.ToUpper(a)))
		}
		runs += len(sc.Permutations())
		c.listScenario(sc)
	}
	c.row()
	c.row(c.paint(bold, "RULES"))
	for _, r := range cat.Rules {
		c.listRule(cat, r, faults)
	}
	c.row()
	c.flow(painted{}, []string{plural(len(cat.Scenarios), "scenario"), plural(runs, "run"), plural(len(cat.Rules), "rule")})
	return c.err
}

func (c *canvas) listScenario(s *scenarios.Scenario) {
	var flags []string
	if n := len(s.Permutations()); n > 1 {
		flags = append(flags, fmt.Sprintf("×%d", n))
	}
	if s.Exclusive {
		flags = append(flags, "exclusive")
	}
	if s.Destructive {
		flags = append(flags, "destructive")
	}
	if !s.Slow.IsZero() {
		flags = append(flags, "slow")
	}
	c.ends(painted{"  " + line(s.ID), cyan}, painted{strings.Join(flags, " "), dim})
	c.block(painted{"      ", plain}, line(s.Title), plain)
}

func (c *canvas) listRule(cat *scenarios.Catalogue, r *scenarios.Rule, faults Faults) {
	c.ends(painted{fmt.Sprintf("  %-7s %s", line(r.Level), line(r.ID)), plain}, painted{coverage(cat, r, faults), dim})
	if c.style.Verbose {
		c.block(painted{"          ", plain}, line(r.Text), dim)
	}
}

// coverage describes in a few words how a rule is tested.
func coverage(cat *scenarios.Catalogue, r *scenarios.Rule, faults Faults) string {
	var parts []string
	if r.Untestable != "" {
		parts = append(parts, "not testable")
	}
	if len(r.Standing) > 0 {
		parts = append(parts, "standing")
	}
	if n := len(proving(cat, r.ID)); n > 0 {
		parts = append(parts, plural(n, "scenario"))
	}
	if n := len(faults[r.ID]); n > 0 {
		parts = append(parts, plural(n, "fault"))
	}
	if len(parts) == 0 {
		return "no scenario"
	}
	return strings.Join(parts, " · ")
}
