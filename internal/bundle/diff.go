package bundle

// DiffSchema names the version of the comparison's JSON form.
const DiffSchema = "assay.diff/v1"

// The kinds of what is compared.
const (
	DiffRuns  = "run"  // two runs of the scenarios
	DiffLoads = "load" // two runs under load
)

// Diff is what changed from one run, A, to another, B. It is the model of
// `diff --format json`. All lists have a fixed order.
type Diff struct {
	Schema string   `json:"schema"`
	Kind   string   `json:"kind"`
	A      DiffSide `json:"a"`
	B      DiffSide `json:"b"`
	// Context says where the two runs were not made alike, so that a change may
	// come from there: tool, target, profile, selection, plan.
	Context []DiffContext `json:"context"`
	// Regressions are verdicts that got worse, Fixes those that got better, and
	// Changes all others that are not the same.
	Regressions []VerdictChange `json:"regressions"`
	Fixes       []VerdictChange `json:"fixes"`
	Changes     []VerdictChange `json:"changes"`
	// New and Vanished are the scenarios that only B, or only A, has; NewRules and
	// VanishedRules are the rules that only one of them was judged by.
	New           []DiffScenario `json:"new"`
	Vanished      []DiffScenario `json:"vanished"`
	NewRules      []string       `json:"new_rules"`
	VanishedRules []string       `json:"vanished_rules"`
	// NewCauses and GoneCauses are the rules that are a cause of failures in B alone, or in A alone.
	// They do not enter Exit: what they break is a regression.
	NewCauses  []string `json:"new_causes"`
	GoneCauses []string `json:"gone_causes"`
	// Seen are rules that hold in both, with another of the legal answers.
	Seen     []SeenChange    `json:"seen"`
	Features []FeatureChange `json:"features"`
	Counts   []CountChange   `json:"counts"`
	Latency  []LatencyChange `json:"latency"`
	// LatencyNote says why latencies were not compared, "" when they were.
	LatencyNote string `json:"latency_note,omitempty"`
	// Equal is set when nothing but times differs: verdicts, answers and features
	// are the same. Counts of a load run do not enter.
	Equal bool `json:"equal"`
	// Exit is 1 for a regression (of latency only past a threshold that was asked for), else 0.
	Exit int `json:"exit"`
}

// DiffSide is one of the two runs.
type DiffSide struct {
	// Name is how it was given: a directory or a file.
	Name    string `json:"name"`
	Run     string `json:"run,omitempty"`
	Tool    Tool   `json:"tool"`
	Target  Target `json:"target"`
	Profile string `json:"profile"`
	Verdict string `json:"verdict"`
	// Partial says in words what is missing of it.
	Partial []string `json:"partial,omitempty"`
}

// DiffContext is one way in which two runs were not made alike.
type DiffContext struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// VerdictChange is a rule that came to another verdict in a scenario.
type VerdictChange struct {
	Rule     string `json:"rule"`
	Level    string `json:"level"`
	Scenario string `json:"scenario"` // "" for what spans the run
	// Axes are those on which it changed in this way.
	Axes []string `json:"axes"`
	// Was and Now are the verdicts; "" where the rule was not judged.
	Was Conclusion `json:"was"`
	Now Conclusion `json:"now"`
	// Message is what is said of it now, on the first axes.
	Message string `json:"message,omitempty"`
	// Replay is the command that shows the scenario as it is now.
	Replay string `json:"replay,omitempty"`
}

// DiffScenario is a scenario that one of the runs does not have.
type DiffScenario struct {
	ID      string     `json:"id"`
	Axes    []string   `json:"axes"`
	Verdict Conclusion `json:"verdict"`
}

// SeenChange is another choice among the legal answers.
type SeenChange struct {
	Rule     string   `json:"rule"`
	Scenario string   `json:"scenario"`
	Axes     []string `json:"axes"`
	Was      string   `json:"was"`
	Now      string   `json:"now"`
}

// FeatureChange is a feature whose probe came to another result; "" is not probed.
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
	LatencyMissing = "not-measured" // by one of the runs
)

// LatencyIteration is the name of what repeated scenarios are compared by.
const LatencyIteration = "iteration"

// LatencyChange compares two samples of a duration by the Mann-Whitney U test,
// which assumes nothing of their distribution.
type LatencyChange struct {
	// Name is what was measured, Of the scenario and axes (of LatencyIteration), the
	// class of streams, or "" for the whole run.
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	// Each is what one sample is.
	Each   string        `json:"each"`
	A      LatencySample `json:"a"`
	B      LatencySample `json:"b"`
	Result string        `json:"result"`
	// Change is the change of the median as a share of A's: 0.1 is a tenth slower.
	Change float64 `json:"change"`
	// P is the chance to see so large a difference where there is none, and Alpha
	// what it must stay under: 0.05 shared among all that is compared at once.
	P     float64 `json:"p"`
	Alpha float64 `json:"alpha"`
	// Needed is how many samples each side needs before any difference can be told, when there are too few.
	Needed int `json:"needed,omitempty"`
	// Regression is set when it is slower by more than the threshold that was asked for.
	Regression bool `json:"regression,omitempty"`
}

// LatencySample is one side of a comparison, in microseconds.
type LatencySample struct {
	Samples int     `json:"samples"`
	Median  float64 `json:"median_us"`
	// Low and High bound the median at 95 % confidence, both 0 where there are too few samples for bounds.
	Low  float64 `json:"low_us"`
	High float64 `json:"high_us"`
}
