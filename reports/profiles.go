package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/record/bundle"
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
		Scenarios []string         `json:"scenarios"` // globs; empty means any scenario
		Symptoms  []bundle.Symptom `json:"symptoms"`  // empty means any symptom
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

// Profiles draws the profiles as text, each with its title and the numbers of required
// features, allowed deviations and changed levels.
func Profiles(w io.Writer, profiles []*scenarios.Profile, s Style) error {
	c := newCanvas(w, s)
	c.ends(painted{"  PROFILE", bold}, painted{"FEATURES  DEVIATIONS  LEVELS", bold})
	for _, p := range profiles {
		counts := fmt.Sprintf("%8d  %10d  %6d", len(p.Require), len(p.Deviations), len(p.Levels))
		c.ends(painted{"  " + line(p.ID), cyan}, painted{counts, plain})
		c.block(painted{"      ", plain}, line(p.Title), plain)
	}
	c.row()
	c.block(painted{}, "FEATURES: required features. DEVIATIONS: allowed breaches. LEVELS: rules with a changed level. assay explain PROFILE lists them.", dim)
	return c.err
}

// explainProfile draws the required features, changed levels and allowed deviations of a profile.
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
		c.row(c.paint(bold, "  allowed deviations"))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Deviations)) {
		d := p.Deviations[id]
		c.row("  ", c.paint(cyan, cut(line(id), c.n-2)))
		c.block(painted{"      ", plain}, d.Reason, plain)
		c.block(painted{"      ", plain}, allowedWhere(d), dim)
	}
}

// allowedWhere describes the scenarios and symptoms of a deviation.
func allowedWhere(d scenarios.Deviation) string {
	text := "in every scenario"
	if len(d.Scenarios) > 0 {
		text = "in " + line(strings.Join(d.Scenarios, ", "))
	}
	if len(d.Symptoms) > 0 {
		text += ", with the symptom " + symptomsText(d.Symptoms)
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

// explainFoundation draws the other failures that a breach explains.
func (c *canvas) explainFoundation(f *scenarios.Foundation) {
	if f == nil {
		return
	}
	var parts []string
	if len(f.Symptoms) > 0 {
		parts = append(parts, "failures of any rule with the symptom "+symptomsText(f.Symptoms))
	}
	if len(f.Rules) > 0 {
		parts = append(parts, "failures of "+line(strings.Join(f.Rules, ", ")))
	}
	c.fact("explains", "if broken: "+strings.Join(parts, "; "))
}

// explainProfiles draws the profiles that change the level of a rule, and those that allow its breach.
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
			texts = append(texts, fmt.Sprintf("%s allows a breach %s: %s", p.ID, allowedWhere(d), d.Reason))
		}
	}
	c.facts("profiles", texts)
}
