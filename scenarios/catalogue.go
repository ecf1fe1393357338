package scenarios

import (
	"path"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"assay/internal/record/bundle"
)

// Rule is one requirement.
type Rule struct {
	ID         string `yaml:"id"`
	Level      string `yaml:"level"` // must, should, may
	Source     string `yaml:"source"`
	Section    string `yaml:"section"`
	Text       string `yaml:"text"`       // one sentence
	Ref        string `yaml:"ref"`        // numbers in the table of protocol rules, "C128" or "G10, W18"
	Untestable string `yaml:"untestable"` // reason, from a closed list
	// Standing lists the violation kinds and checks that judge every observation ("envelope.reserved-flags", "check:http-trailers").
	Standing []string `yaml:"standing"`
	// Foundation says which other failures a breach of this rule explains; nil if none.
	Foundation *Foundation `yaml:"foundation"`
}

// Foundation says which other failures a broken rule explains: those with one of its
// symptoms, and those of its rules.
type Foundation struct {
	// Rank orders foundations: a failure of one follows only from one of a lower rank.
	Rank int `yaml:"rank"`
	// Symptoms of the failures that follow, whatever their rule.
	Symptoms Many[bundle.Symptom] `yaml:"symptoms"`
	// Rules are globs over the ids of rules that follow, whatever the symptom.
	Rules []string `yaml:"rules"`
}

// Profile is what a target claims to be.
type Profile struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Require lists features whose absence is a failure of profile.ID.FEATURE.
	Require []string `yaml:"require"`
	// Select are the terms of the scenarios that a run has by default; "" is all.
	Select string `yaml:"select"`
	// Deviations are rule ids whose breach is allowed, with where and why.
	Deviations map[string]Deviation `yaml:"deviations"`
	// Levels raise or lower rules.
	Levels map[string]LevelChange `yaml:"levels"`
	// Metrics are the names of the process counters: started, finished, active.
	Metrics map[string]string `yaml:"metrics"`
	// Shell is the words before the command of an `sh`. Default: [/bin/sh, -c] or
	// [/bin/bash, -l, -c], whichever the target accepts.
	Shell []string `yaml:"shell"`
	// Certification is the load and the soak of a certificate; nil if the profile has no such level.
	Certification *Certification `yaml:"certification"`
	// Text is the source, so that a stored run can be judged by the same profile.
	Text []byte `yaml:"-"`
	// Paths are the paths of surfaces that are not the default ones.
	Paths map[string]string `yaml:"paths"`
}

// Certification is what a certificate of the level with-load asks for.
type Certification struct {
	// Streams are kept open for Duration.
	Streams  int           `yaml:"streams"`
	Duration time.Duration `yaml:"duration"`
	// Soak is the time of the soak, and Window that of its windows.
	Soak   time.Duration `yaml:"soak"`
	Window time.Duration `yaml:"window"`
}

// Deviation is a breach of a rule that a profile allows, only in the named scenarios
// and only with the named symptoms.
type Deviation struct {
	Reason string `yaml:"reason"`
	// Scenarios are globs over scenario ids; empty means any scenario.
	Scenarios Many[string] `yaml:"scenarios"`
	// Symptoms of the breach; empty means any symptom.
	Symptoms Many[bundle.Symptom] `yaml:"symptoms"`
}

// Allows reports whether the deviation covers a breach with that symptom in a scenario.
func (d Deviation) Allows(scenario string, symptom bundle.Symptom) bool {
	named := len(d.Scenarios) == 0 || slices.ContainsFunc(d.Scenarios, func(glob string) bool {
		ok, err := path.Match(glob, scenario)
		return err == nil && ok
	})
	return named && (len(d.Symptoms) == 0 || slices.Contains(d.Symptoms, symptom))
}

// UnmarshalYAML reads a deviation. A scalar is the reason of a deviation that covers every
// breach of its rule, as in the profiles of older bundles.
func (d *Deviation) UnmarshalYAML(n *yaml.Node) error {
	type plain Deviation
	return orScalar(n, (*plain)(d), func(text string) { d.Reason = text })
}

// LevelChange gives a rule another level, with a reason.
type LevelChange struct {
	Level  string `yaml:"level"`
	Reason string `yaml:"reason"`
}

// Catalogue is the scripts, rules and profiles.
type Catalogue struct {
	Scenarios []*Scenario // sorted by ID
	Rules     []*Rule     // sorted by ID
	RulesText []byte      // rules.yaml of a user's folder, if any
	Profiles  []*Profile  // of a user's folder, sorted by ID

	own []string // ids of the rules of the user's folder
}
