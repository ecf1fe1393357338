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
	// Exit is the exit code that the self-test deserves: 0, or 1 for a survivor, a blamed variant or
	// a fault that is blamed on another rule.
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
	// Causes are the rules that are broken on it and follow from nothing else, the most basic first; nil when
	// the scenarios stopped at the first that noticed it.
	Causes []string `json:"causes"`
	// Blame are the rules that are broken on it and that Breaks does not name, the unattached first; nil as
	// Causes.
	Blame []Blame `json:"blame"`
	// Unattached counts those of Blame that do not follow from a rule of Breaks.
	Unattached int `json:"unattached"`
	// Once are those that were broken beside other gateways, and not by themselves.
	Once []string `json:"once,omitempty"`
}

// MostCauses is how many causes a fault may have: it is one defect, which at most two rules describe
// equally well.
const MostCauses = 2

// Misblamed reports whether whoever reads a report on this gateway is led to something else than its defect.
func (f *FaultResult) Misblamed() bool { return f.Unattached > 0 || len(f.Causes) > MostCauses }

// Blame is a rule that is broken on a faulty gateway and that the fault does not name.
type Blame struct {
	Rule string `json:"rule"`
	// Cause is the rule that it follows from, or the rule itself when it follows from nothing.
	Cause string `json:"cause"`
	// Attached is set when the fault names the cause.
	Attached bool `json:"attached"`
	// Scenarios are all that show it, sorted; none for what spans the run.
	Scenarios []string `json:"scenarios"`
	// Axes and Message are those of the first breach.
	Axes    Axes   `json:"axes,omitzero"`
	Message string `json:"message"`
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
