package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/scenarios"
)

// The JSON form of a profile, in a catalogue.
type (
	profileJSON struct {
		ID         string          `json:"id"`
		Title      string          `json:"title"`
		Require    []string        `json:"require"`
		Deviations []deviationJSON `json:"deviations"` // by rule
		Levels     []levelJSON     `json:"levels"`     // by rule
	}
	deviationJSON struct {
		Rule      string           `json:"rule"`
		Scenarios []string         `json:"scenarios"` // globs; none is any scenario
		Symptoms  []bundle.Symptom `json:"symptoms"`  // none is any
		Reason    string           `json:"reason"`
	}
	levelJSON struct {
		Rule   string `json:"rule"`
		Level  string `json:"level"`
		Reason string `json:"reason"`
	}
)

// ProfilesJSON writes the profiles as one JSON value of schema assay.catalogue/v1,
// without rules and scenarios, and a newline.
func ProfilesJSON(w io.Writer, profiles []*scenarios.Profile) error {
	doc := catalogueJSON{Schema: CatalogueSchema, Rules: []ruleJSON{}, Scenarios: []scenarioJSON{}}
	for _, p := range profiles {
		j := profileJSON{ID: p.ID, Title: p.Title, Require: list(p.Require), Deviations: []deviationJSON{}, Levels: []levelJSON{}}
		for _, id := range slices.Sorted(maps.Keys(p.Deviations)) {
			d := p.Deviations[id]
			j.Deviations = append(j.Deviations, deviationJSON{id, list(d.Scenarios), list(d.Symptoms), d.Reason})
		}
		for _, id := range slices.Sorted(maps.Keys(p.Levels)) {
			j.Levels = append(j.Levels, levelJSON{id, p.Levels[id].Level, p.Levels[id].Reason})
		}
		doc.Profiles = append(doc.Profiles, j)
	}
	return writeJSON(w, doc)
}

// Profiles draws the profiles for people, each with its title and how many features
// it requires, deviations it allows, and rules it raises.
func Profiles(w io.Writer, profiles []*scenarios.Profile, s Style) error {
	c := newCanvas(w, s)
	c.ends(painted{"  PROFILE", bold}, painted{"FEATURES  DEVIATIONS  LEVELS", bold})
	for _, p := range profiles {
		counts := fmt.Sprintf("%8d  %10d  %6d", len(p.Require), len(p.Deviations), len(p.Levels))
		c.ends(painted{"  " + line(p.ID), cyan}, painted{counts, plain})
		c.block(painted{"      ", plain}, line(p.Title), plain)
	}
	c.row()
	c.block(painted{}, "FEATURES must be there, DEVIATIONS are breaches that are allowed, LEVELS are rules that count more or less than they do by themselves: assay explain PROFILE names them.", dim)
	return c.err
}

// explainProfile tells what a profile requires, which rules it raises, and which breaches it allows where.
func (c *canvas) explainProfile(cat *scenarios.Catalogue, p *scenarios.Profile) {
	c.row(c.paint(bold, cut("profile "+line(p.ID), c.n)))
	c.block(painted{"  ", plain}, line(p.Title), plain)
	c.row()
	c.fact("requires", line(strings.Join(p.Require, ", ")))
	c.fact("shell", line(strings.Join(p.Shell, " ")))
	if len(p.Levels) > 0 {
		c.row()
		c.row(c.paint(bold, "  other levels"))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Levels)) {
		change := line(p.Levels[id].Level)
		if r := cat.Rule(id); r != nil {
			change = line(r.Level) + " → " + change
		}
		c.ends(painted{"  " + line(id), cyan}, painted{change, plain})
		c.block(painted{"      ", plain}, p.Levels[id].Reason, plain)
	}
	if len(p.Deviations) > 0 {
		c.row()
		c.row(c.paint(bold, "  deviations that are allowed"))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Deviations)) {
		d := p.Deviations[id]
		c.row("  ", c.paint(cyan, cut(line(id), c.n-2)))
		c.block(painted{"      ", plain}, d.Reason, plain)
		c.block(painted{"      ", plain}, allowedWhere(d), dim)
	}
}

// allowedWhere says where a deviation is allowed.
func allowedWhere(d scenarios.Deviation) string {
	text := "in every scenario"
	if len(d.Scenarios) > 0 {
		text = "in " + line(strings.Join(d.Scenarios, ", "))
	}
	if len(d.Symptoms) > 0 {
		text += ", where it looks like " + symptomsText(d.Symptoms)
	}
	return text
}

func symptomsText(symptoms []bundle.Symptom) string {
	names := make([]string, len(symptoms))
	for i, s := range symptoms {
		names[i] = string(s)
	}
	return line(strings.Join(names, ", "))
}

// explainFoundation says what a broken rule explains elsewhere.
func (c *canvas) explainFoundation(f *scenarios.Foundation) {
	if f == nil {
		return
	}
	var parts []string
	if len(f.Symptoms) > 0 {
		parts = append(parts, "failures that look like "+symptomsText(f.Symptoms)+", whatever the rule")
	}
	if len(f.Rules) > 0 {
		parts = append(parts, "failures of "+line(strings.Join(f.Rules, ", ")))
	}
	c.fact("explains", "when it is broken: "+strings.Join(parts, "; "))
}

// explainProfiles says which profiles give a rule another level, and which allow its breach.
func (c *canvas) explainProfiles(profiles []*scenarios.Profile, rule string) {
	var texts []string
	by := map[scenarios.LevelChange][]string{}
	for _, p := range profiles {
		if l, ok := p.Levels[rule]; ok {
			by[l] = append(by[l], p.ID)
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(by), func(a, b scenarios.LevelChange) int {
		return cmp.Or(cmp.Compare(levelRank(a.Level), levelRank(b.Level)), cmp.Compare(a.Reason, b.Reason))
	}) {
		texts = append(texts, fmt.Sprintf("a %s in %s: %s", l.Level, strings.Join(by[l], ", "), l.Reason))
	}
	for _, p := range profiles {
		if d, ok := p.Deviations[rule]; ok {
			texts = append(texts, fmt.Sprintf("%s allows its breach %s: %s", p.ID, allowedWhere(d), d.Reason))
		}
	}
	c.facts("profiles", texts)
}
