package bundle

// SelftestSchema names the version of the self-test's JSON form.
const SelftestSchema = "assay.selftest/v1"

// SelftestReport is the result of a self-test: the faults that the scenarios detected, and
// the legal variants that they blamed. It is the model of `selftest --format json`.
type SelftestReport struct {
	Schema string `json:"schema"`
	// Build is the tested program; absent in reports of older versions.
	Build *Build `json:"build,omitempty"`
	// Profile is the profile that the self-test was limited to, "" for everything.
	Profile string `json:"profile,omitempty"`
	// Shard is the part of the faults and variants that the self-test was limited to, for example 2/7; "" for all of them.
	Shard string `json:"shard,omitempty"`
	// Score is the share of killed faults, from 0 to 1.
	Score    float64         `json:"score"`
	Faults   []FaultResult   `json:"faults"`
	Variants []VariantResult `json:"variants"`
	// Survivors are the ids of the undetected faults.
	Survivors []string `json:"survivors"`
	// IdleScenarios are the scenarios that killed no fault; nil unless every scenario ran
	// against every fault, which a shard does not do.
	IdleScenarios []string `json:"idle_scenarios"`
	// Exit is the exit code: 0, or 1 for a survivor, a blamed variant or a fault that breaks
	// unrelated rules.
	Exit int `json:"exit"`
}

// FaultResult is one fault and the scenarios that detected it.
type FaultResult struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Breaks are the rules that the fault declares to break.
	Breaks []string `json:"breaks"`
	// Source is the real bug that the fault models.
	Source string `json:"source"`
	// Killed is set if a rule of Breaks turned from pass to fail or advisory.
	Killed bool `json:"killed"`
	// By are the scenarios that killed it.
	By []string `json:"by"`
	// Saw is the message of the first of them, or, for a survivor, the observation instead.
	Saw string `json:"saw,omitempty"`
	// Causes are the broken rules that follow from no other, the most basic first; nil if the scenarios
	// stopped at the first detection.
	Causes []string `json:"causes"`
	// Blame are the broken rules outside Breaks, the unattached first; nil like Causes.
	Blame []Blame `json:"blame"`
	// Unattached counts the rules in Blame that do not follow from a rule in Breaks.
	Unattached int `json:"unattached"`
	// Once are the rules that were broken only while other gateways ran.
	Once []string `json:"once,omitempty"`
}

// MostCauses is the maximum number of causes of a fault: at most two rules describe one defect
// equally well.
const MostCauses = 2

// Misblamed reports whether a report on this gateway points away from its defect.
func (f *FaultResult) Misblamed() bool { return f.Unattached > 0 || len(f.Causes) > MostCauses }

// Blame is a broken rule that the fault does not name.
type Blame struct {
	Rule string `json:"rule"`
	// Cause is the rule that it follows from, or the rule itself when it follows from nothing.
	Cause string `json:"cause"`
	// Attached is set if the fault names the cause.
	Attached bool `json:"attached"`
	// Scenarios are all scenarios that show it, sorted; none for the whole run.
	Scenarios []string `json:"scenarios"`
	// Axes and Message belong to the first breach.
	Axes    Axes   `json:"axes,omitzero"`
	Message string `json:"message"`
}

// VariantResult is the result for one legal variant.
type VariantResult struct {
	ID string `json:"id"`
	// Clean is set if no rule was broken.
	Clean bool `json:"clean"`
	// Failing are the scenarios or rules that blamed it, also when run alone.
	Failing []string `json:"failing"`
	// Once are those that blamed it only while other gateways ran.
	Once []string `json:"once,omitempty"`
}
