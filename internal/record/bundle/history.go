package bundle

import "time"

// HistorySchema names the version of the JSON form of a history. Members may be added, and are never changed.
const HistorySchema = "assay.history/v1"

// History is what changed over many runs: the model of `history --format json`.
type History struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	// Groups are the runs that can be compared with each other, each with what changed in it.
	Groups []HistoryGroup `json:"groups"`
	// Skipped are folders that were no whole bundle, with the reason.
	Skipped []HistorySkip `json:"skipped,omitempty"`
}

// HistorySkip is a folder that was left out.
type HistorySkip struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// HistoryGroup is a sequence of runs of one kind against one target with one profile.
type HistoryGroup struct {
	Kind    Kind   `json:"kind"`
	Target  string `json:"target"` // the URL, or "embedded"
	Profile string `json:"profile"`
	// Runs are in the order of time.
	Runs []HistoryRun `json:"runs"`
	// Changes are what changed, the latest first.
	Changes []HistoryChange `json:"changes"`
	// Flaky are the rules whose verdict goes to and fro.
	Flaky []HistoryFlaky `json:"flaky,omitempty"`
	// Trends are the figures over the runs.
	Trends []HistoryTrend `json:"trends,omitempty"`
}

// HistoryRun is one run.
type HistoryRun struct {
	Path    string    `json:"path"`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Version string    `json:"version"` // of assay
	Verdict string    `json:"verdict"`
}

// The kinds of changes.
const (
	HistoryBroken = "broken" // a rule passed before, and does not since
	HistoryFixed  = "fixed"
	HistoryWorse  = "worse" // a figure rose
	HistoryBetter = "better"
)

// HistoryChange is one change, and the run that it began with.
type HistoryChange struct {
	Kind string `json:"kind"`
	// Name is the id of a rule, or the name of a figure.
	Name string `json:"name"`
	// Since is the index of the first run with the change, from 1.
	Since int `json:"since"`
	// Run and Path are those of that run.
	Run  string `json:"run"`
	Path string `json:"path"`
	// Before and After are the verdicts, or the medians with their unit.
	Before string `json:"before"`
	After  string `json:"after"`
	// P is the probability of such a change of a figure by chance, from permutations; 0 for a rule.
	P float64 `json:"p,omitempty"`
	// Message is the change in one sentence.
	Message string `json:"message"`
}

// HistoryFlaky is a rule whose verdict goes to and fro.
type HistoryFlaky struct {
	Rule string `json:"rule"`
	// Flips is how often the verdict changed between pass and not.
	Flips int `json:"flips"`
	// Verdicts has a letter for each run: . pass, F fail, a advisory, f flaky, - not judged.
	Verdicts string `json:"verdicts"`
}

// HistoryTrend is one figure over the runs.
type HistoryTrend struct {
	Name string `json:"name"`
	Unit string `json:"unit"` // us, or "" for a number
	// Values has one for each run; null is none.
	Values []*float64 `json:"values"`
	// Recent is the median of the last three values, and Usual that of the twenty before; 0 is too few.
	Recent float64 `json:"recent,omitempty"`
	Usual  float64 `json:"usual,omitempty"`
}
