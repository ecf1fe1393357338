package bundle

// DiffSchema names the version of the comparison's JSON form.
const DiffSchema = "assay.diff/v1"

// The kinds of compared runs.
const (
	DiffRuns  = "run"  // two runs of the scenarios
	DiffLoads = "load" // two load runs
)

// Diff is the comparison of run A with run B, the model of `diff --format json`. All
// lists have a fixed order.
type Diff struct {
	Schema string   `json:"schema"`
	Kind   string   `json:"kind"`
	A      DiffSide `json:"a"`
	B      DiffSide `json:"b"`
	// Context lists differences in setup that may cause changes: tool, target, profile,
	// selection, plan.
	Context []DiffContext `json:"context"`
	// Regressions are verdicts that got worse, Fixes those that got better, and Changes
	// all others that differ.
	Regressions []VerdictChange `json:"regressions"`
	Fixes       []VerdictChange `json:"fixes"`
	Changes     []VerdictChange `json:"changes"`
	// New and Vanished are the scenarios only in B, or only in A; NewRules and
	// VanishedRules are the rules judged only in B, or only in A.
	New           []DiffScenario `json:"new"`
	Vanished      []DiffScenario `json:"vanished"`
	NewRules      []string       `json:"new_rules"`
	VanishedRules []string       `json:"vanished_rules"`
	// NewCauses and GoneCauses are the rules that are a cause only in B, or only in A.
	// They do not affect Exit: the rules that they break are regressions.
	NewCauses  []string `json:"new_causes"`
	GoneCauses []string `json:"gone_causes"`
	// Seen are rules that hold in both, with different legal responses.
	Seen     []SeenChange    `json:"seen"`
	Features []FeatureChange `json:"features"`
	Counts   []CountChange   `json:"counts"`
	Latency  []LatencyChange `json:"latency"`
	// LatencyNote says why latencies were not compared, "" when they were.
	LatencyNote string `json:"latency_note,omitempty"`
	// Equal is set if only times differ: verdicts, responses and features are the same.
	// It ignores the counts of a load run.
	Equal bool `json:"equal"`
	// Exit is 1 for a regression (of latency only beyond the requested threshold), else 0.
	Exit int `json:"exit"`
}

// DiffSide is one of the two runs.
type DiffSide struct {
	// Name is the given directory or file.
	Name    string `json:"name"`
	Run     string `json:"run,omitempty"`
	Tool    Tool   `json:"tool"`
	Target  Target `json:"target"`
	Profile string `json:"profile"`
	Verdict string `json:"verdict"`
	// Partial describes the missing parts.
	Partial []string `json:"partial,omitempty"`
}

// DiffContext is one difference in setup.
type DiffContext struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// VerdictChange is a changed verdict of a rule in a scenario.
type VerdictChange struct {
	Rule     string `json:"rule"`
	Level    string `json:"level"`
	Scenario string `json:"scenario"` // "" for the whole run
	// Axes are the axes with this change.
	Axes []string `json:"axes"`
	// Was and Now are the verdicts; "" if the rule was not judged.
	Was Conclusion `json:"was"`
	Now Conclusion `json:"now"`
	// Message is the message in B, on the first axes.
	Message string `json:"message,omitempty"`
	// Replay is the command that replays the scenario as in B.
	Replay string `json:"replay,omitempty"`
}

// DiffScenario is a scenario that one of the runs lacks.
type DiffScenario struct {
	ID      string     `json:"id"`
	Axes    []string   `json:"axes"`
	Verdict Conclusion `json:"verdict"`
}

// SeenChange is a different choice among the legal responses.
type SeenChange struct {
	Rule     string   `json:"rule"`
	Scenario string   `json:"scenario"`
	Axes     []string `json:"axes"`
	Was      string   `json:"was"`
	Now      string   `json:"now"`
}

// FeatureChange is a feature with a different probe result; "" means not probed.
type FeatureChange struct {
	ID  string       `json:"id"`
	Was FeatureState `json:"was"`
	Now FeatureState `json:"now"`
}

// CountChange is a counted figure of a load run.
type CountChange struct {
	Name string `json:"name"`
	A    int64  `json:"a"`
	B    int64  `json:"b"`
}

// The results of comparing two samples.
const (
	LatencySlower  = "slower"
	LatencyFaster  = "faster"
	LatencySame    = "no-significant-change"
	LatencyTooFew  = "too-few-samples"
	LatencyMissing = "not-measured" // in one of the runs
)

// LatencyIteration is the Name for iterations of repeated scenarios.
const LatencyIteration = "iteration"

// LatencyChange compares two samples of a duration with the Mann-Whitney U test, which
// assumes no distribution.
type LatencyChange struct {
	// Name is the measured quantity. Of is the scenario and axes (for LatencyIteration),
	// the class of streams, or "" for the whole run.
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	// Each describes one sample.
	Each   string        `json:"each"`
	A      LatencySample `json:"a"`
	B      LatencySample `json:"b"`
	Result string        `json:"result"`
	// Change is the change of the median as a share of A's: 0.1 is a tenth slower.
	Change float64 `json:"change"`
	// P is the probability of so large a difference by chance, and Alpha the significance
	// level: 0.05 divided among all comparisons.
	P     float64 `json:"p"`
	Alpha float64 `json:"alpha"`
	// Needed is the number of samples that each side needs, if there are too few.
	Needed int `json:"needed,omitempty"`
	// Regression is set if it is slower by more than the requested threshold.
	Regression bool `json:"regression,omitempty"`
}

// LatencySample is one side of a comparison, in microseconds.
type LatencySample struct {
	Samples int     `json:"samples"`
	Median  float64 `json:"median_us"`
	// Low and High bound the median at 95 % confidence, both 0 if there are too few samples.
	Low  float64 `json:"low_us"`
	High float64 `json:"high_us"`
}
