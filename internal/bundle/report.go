package bundle

// ReportSchema names the version of the report's JSON form.
const ReportSchema = "assay.report/v1"

// The verdicts of a whole run.
const (
	Conformant      = "conformant"
	Nonconformant   = "nonconformant"
	RunInconclusive = "inconclusive"
)

// Report is the result of a run: the model of `--format json`. Renderers draw
// from it and decide nothing.
type Report struct {
	Schema  string `json:"schema"`
	Tool    Tool   `json:"tool"`
	Run     string `json:"run"`
	Target  Target `json:"target"`
	Profile string `json:"profile"`
	Verdict string `json:"verdict"`
	// Exit is the exit code that the run deserves.
	Exit        int                `json:"exit"`
	Interrupted bool               `json:"interrupted,omitempty"`
	DurationMS  int64              `json:"duration_ms"`
	Counts      map[Conclusion]int `json:"counts"` // over (scenario, axes), each counted once by its worst rule; every conclusion is a key
	Rules       []RuleResult       `json:"rules"`
	Scenarios   []ScenarioResult   `json:"scenarios"`
	// RunRules are the verdicts that belong to no scenario.
	RunRules []RuleVerdict `json:"run_rules,omitempty"`
	// Causes are what failed and does not follow from anything else that failed, the most basic first;
	// each with what follows from it.
	Causes []Cause `json:"causes"`
	// Scope is what the verdict is about: what was not tested, and what was allowed.
	Scope *Scope `json:"scope,omitempty"`
	// Died is the scenario during which the target stopped to accept connections; what came after it was not run.
	Died *Died `json:"died,omitempty"`
	// Notes say, for people, what the report does not rest on: evidence that was not
	// kept, shards that were put together.
	Notes []string `json:"notes,omitempty"`
	// Changed are the verdicts that a stored run had otherwise; it is there, perhaps
	// empty, when a run was judged again.
	Changed []Change `json:"changed,omitzero"`
}

// RuleResult is a rule over all scenarios.
type RuleResult struct {
	ID        string     `json:"id"`
	Level     string     `json:"level"`
	Verdict   Conclusion `json:"verdict"` // the worst
	Scenarios []string   `json:"scenarios"`
}

// Cause is a rule that is broken by itself, and the rules whose failures follow from it.
type Cause struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Title string `json:"title"` // the rule's sentence
	// Scenario, Axes and Message are its best evidence: the smallest scenario that shows it. Scenario is ""
	// for what spans the run.
	Scenario string `json:"scenario,omitempty"`
	Axes     Axes   `json:"axes,omitzero"`
	Message  string `json:"message"`
	// Follows are the rules whose every failure is explained by causes, and some of them by this one, sorted.
	Follows []string `json:"follows"`
	// Unjudged are the rules that could not be judged because of it and are broken nowhere, sorted.
	Unjudged []string `json:"unjudged,omitempty"`
	// Scenarios are all that show it, sorted.
	Scenarios []string `json:"scenarios"`
	// Reproducer is the command that shows it again.
	Reproducer string `json:"reproducer"`
	// Transcript is what was sent and what came around the place where the rule is broken in that
	// scenario, as text; empty in a bundle, which holds the bytes.
	Transcript string `json:"transcript,omitempty"`
}

// Died is the scenario during which a target died.
type Died struct {
	Scenario string `json:"scenario"`
	Axes     Axes   `json:"axes"`
}

// Scope says what a run did not test, and what it allowed.
type Scope struct {
	// Unsupported counts the runs that were left out for each absent feature, most first; a
	// run that lacks several counts for each.
	Unsupported []Count `json:"unsupported,omitempty"`
	// NotRun counts the runs that were left out for each other reason, most first.
	NotRun []Count `json:"not_run,omitempty"`
	// Deviations counts the runs in which a breach of a rule was allowed, by rule, sorted.
	Deviations []Count `json:"deviations,omitempty"`
}

// Count is how many runs something holds for.
type Count struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`
}

// ScenarioResult is a scenario on one set of axes.
type ScenarioResult struct {
	ID         string        `json:"id"`
	Title      string        `json:"title"`
	Axes       Axes          `json:"axes"`
	Verdict    Conclusion    `json:"verdict"` // the worst of its rules
	Rules      []RuleVerdict `json:"rules"`
	DurationMS int64         `json:"duration_ms"`
	// Replay is the command that shows it again.
	Replay string `json:"replay"`
	// Transcript is what was sent and what came around the place where the worst
	// rule is broken, as text; empty where nothing is, and in a bundle, which holds the bytes.
	Transcript string `json:"transcript,omitempty"`
	// Reproducers show its failures again without Assay, and say whether they did.
	Reproducers []Reproducer `json:"reproducers,omitempty"`
}

// RuleVerdict is a rule on one scenario.
type RuleVerdict struct {
	ID      string         `json:"id"`
	Level   string         `json:"level"`
	Text    string         `json:"text,omitempty"` // the rule's sentence
	Source  string         `json:"source,omitempty"`
	Verdict Conclusion     `json:"verdict"`
	Message string         `json:"message"`
	Symptom Symptom        `json:"symptom,omitempty"`
	Seen    string         `json:"seen"` // the legal answer that was seen, where there are several
	Counts  map[string]int `json:"counts,omitempty"`
}
