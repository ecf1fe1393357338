package bundle

import "time"

// ReportSchema names the version of the report's JSON form.
const ReportSchema = "assay.report/v1"

// The verdicts of a whole run.
const (
	Conformant      = "conformant"
	Nonconformant   = "nonconformant"
	RunInconclusive = "inconclusive"
)

// Report is the result of a run, the model of `--format json`. Renderers only draw it.
type Report struct {
	Schema  string `json:"schema"`
	Tool    Tool   `json:"tool"`
	Run     string `json:"run"`
	Target  Target `json:"target"`
	Profile string `json:"profile"`
	Verdict string `json:"verdict"`
	// Exit is the exit code of the run.
	Exit        int  `json:"exit"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Started is when the run began; absent in reports of older versions.
	Started    time.Time          `json:"started,omitzero"`
	DurationMS int64              `json:"duration_ms"`
	Counts     map[Conclusion]int `json:"counts"` // scenarios and axes by their worst rule; every conclusion is a key
	Rules      []RuleResult       `json:"rules"`
	Scenarios  []ScenarioResult   `json:"scenarios"`
	// RunRules are the verdicts without a scenario.
	RunRules []RuleVerdict `json:"run_rules,omitempty"`
	// Causes are the failures that do not follow from other failures, the most basic first, with
	// the rules that follow from them.
	Causes []Cause `json:"causes"`
	// Scope is the scope of the verdict: untested parts and allowed deviations.
	Scope *Scope `json:"scope,omitempty"`
	// Coverage compares the run with everything that the profile asks of the target; absent in reports of older versions.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Died is the scenario during which the target stopped accepting connections; later scenarios did not run.
	Died *Died `json:"died,omitempty"`
	// Notes are limits of the report: omitted evidence, merged shards.
	Notes []string `json:"notes,omitempty"`
	// Changed are the verdicts that differ from the stored ones; present, possibly empty, when
	// a run was judged again.
	Changed []Change `json:"changed,omitzero"`
}

// RuleResult is the result of a rule over all scenarios.
type RuleResult struct {
	ID        string     `json:"id"`
	Level     string     `json:"level"`
	Verdict   Conclusion `json:"verdict"` // the worst
	Scenarios []string   `json:"scenarios"`
}

// Cause is a broken rule that explains other failures, with the rules that follow from it.
type Cause struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Title string `json:"title"` // the rule's sentence
	// Scenario, Axes and Message are its best evidence: the smallest scenario that shows it. Scenario is
	// "" for the whole run.
	Scenario string `json:"scenario,omitempty"`
	Axes     Axes   `json:"axes,omitzero"`
	Message  string `json:"message"`
	// Follows are the rules whose failures are all explained by causes, at least one by this cause, sorted.
	Follows []string `json:"follows"`
	// Unjudged are the rules that could not be judged because of it and are not broken elsewhere, sorted.
	Unjudged []string `json:"unjudged,omitempty"`
	// Scenarios are all scenarios that show it, sorted.
	Scenarios []string `json:"scenarios"`
	// Reproducer is the command that reproduces it.
	Reproducer string `json:"reproducer"`
	// Transcript is an excerpt of the traffic around the breach in that scenario; empty in a bundle,
	// which has the bytes.
	Transcript string `json:"transcript,omitempty"`
}

// Died is the scenario during which a target died.
type Died struct {
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
}

// Scope lists what a run did not test and which deviations it allowed.
type Scope struct {
	// Unsupported counts the skipped runs for each absent feature, most first; a run that needs
	// several counts for each.
	Unsupported []Count `json:"unsupported,omitempty"`
	// NotRun counts the skipped runs for each other SkipReason, most first.
	NotRun []Count `json:"not_run,omitempty"`
	// Deviations counts the runs with an allowed breach, by rule, sorted.
	Deviations []Count `json:"deviations,omitempty"`
}

// Coverage is how much of what a profile asks of a target was in a run. It leaves out what needs a
// feature that the target lacks.
type Coverage struct {
	// Rules is the number of rules that the profile's scenarios prove, Tested that of those that were tested.
	Rules  int `json:"rules"`
	Tested int `json:"tested"`
	// Runs is the number of the profile's scenarios and axes, Planned that of those in this run.
	Runs    int `json:"runs"`
	Planned int `json:"planned"`
	// Own is the number of tested rules that come from the user's own scripts.
	Own int `json:"own,omitempty"`
	// Partial is set if some of the profile's scenarios were left out: by a selection, by other axes, by shards, or because
	// the user's own scripts ran instead. Slow and destructive scenarios that were not asked for do not set it.
	Partial bool `json:"partial,omitempty"`
}

// Count is a number of runs under a name.
type Count struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
}

// ScenarioResult is the result of a scenario on one set of axes.
type ScenarioResult struct {
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	Axes       Axes          `json:"axes"`
	Verdict    Conclusion    `json:"verdict"` // the worst of its rules
	Rules      []RuleVerdict `json:"rules"`
	DurationMS int64         `json:"duration_ms"`
	// Replay is the command that runs it again.
	Replay string `json:"replay"`
	// Transcript is an excerpt of the traffic around the breach of the worst rule; empty without
	// one, and in a bundle, which has the bytes.
	Transcript string `json:"transcript,omitempty"`
	// Reproducers are commands and scripts that reproduce its failures, and whether they did.
	Reproducers []Reproducer `json:"reproducers,omitempty"`
}

// RuleVerdict is the verdict of a rule on one scenario.
type RuleVerdict struct {
	ID      string         `json:"id"`
	Level   string         `json:"level"`
	Text    string         `json:"text,omitempty"` // the rule's sentence
	Source  string         `json:"source,omitempty"`
	Verdict Conclusion     `json:"verdict"`
	Message string         `json:"message"`
	Symptom Symptom        `json:"symptom,omitempty"`
	Seen    string         `json:"seen"` // the observed legal response, if there are several
	Counts  map[string]int `json:"counts,omitempty"`
	// Repeats is set for a flaky rule.
	Repeats *Repeats `json:"repeats,omitempty"`
}
