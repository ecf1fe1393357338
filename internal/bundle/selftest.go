package bundle

// SelftestSchema names the version of the self-test's JSON form.
const SelftestSchema = "assay.selftest/v1"

// SelftestReport is the result of a self-test: which broken gateways the suites
// noticed, and which legal ones they wrongly blamed. It is the model of
// `selftest --format json`.
type SelftestReport struct {
	Schema string `json:"schema"`
	// Score is the share of faults that were killed, from 0 to 1.
	Score    float64         `json:"score"`
	Faults   []FaultResult   `json:"faults"`
	Variants []VariantResult `json:"variants"`
	// Survivors are the ids of the faults that no scenario noticed.
	Survivors []string `json:"survivors"`
	// IdleScenarios are those that killed no fault; nil when not every scenario
	// was run against every fault.
	IdleScenarios []string `json:"idle_scenarios"`
	// Exit is the exit code that the self-test deserves: 0, or 1 for a survivor or a blamed variant.
	Exit int `json:"exit"`
}

// FaultResult is one broken gateway and what noticed it.
type FaultResult struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Breaks are the rules that the fault says it breaks.
	Breaks []string `json:"breaks"`
	// Source is the real bug that the fault was made from.
	Source string `json:"source"`
	// Killed is set when a rule of Breaks turned from pass to fail or advisory.
	Killed bool `json:"killed"`
	// By are the scenarios that killed it.
	By []string `json:"by"`
	// Saw is what the first of them said, or for a survivor what was seen instead.
	Saw string `json:"saw,omitempty"`
}

// VariantResult is one gateway that differs in a legal way.
type VariantResult struct {
	ID string `json:"id"`
	// Clean is set when no rule was broken on it.
	Clean bool `json:"clean"`
	// Failing are the scenarios, or rules, that blamed it, twice.
	Failing []string `json:"failing"`
	// Once are those that blamed it beside other gateways, and not by themselves.
	Once []string `json:"once,omitempty"`
}
