package bundle

import "testing"

func TestACauseHasTheCommandThatShowedIt(t *testing.T) {
	other := sampleAxes
	other.Codec = "proto"
	of := func(scenario string, axes Axes, kind ReproducerKind, shown bool, text string) Reproducer {
		return Reproducer{Scenario: scenario, Axes: axes, Rule: "r", Kind: kind, Ran: shown, Shown: shown, Text: text}
	}
	tests := []struct {
		name  string
		all   []Reproducer
		want  string
		heads string // the scenario and codec that head the cause
	}{
		{"nothing was made", nil, "replay a.b", "a.b json"},
		{"nothing was tried", []Reproducer{of("a.c", sampleAxes, ReproduceReplay, false, "c"), of("a.b", sampleAxes, ReproduceCurl, false, "curl"), of("a.b", sampleAxes, ReproduceReplay, false, "b")}, "b", "a.b json"},
		{"its replay showed it", []Reproducer{of("a.b", sampleAxes, ReproduceCurl, true, "curl"), of("a.b", sampleAxes, ReproduceReplay, true, "b"), of("a.c", sampleAxes, ReproduceReplay, true, "c")}, "b", "a.b json"},
		{"a replay elsewhere showed it", []Reproducer{of("a.b", sampleAxes, ReproduceReplay, false, "b"), of("a.b", other, ReproduceReplay, true, "proto")}, "proto", "a.b proto"},
		{"only a line for curl showed it", []Reproducer{of("a.b", sampleAxes, ReproduceReplay, false, "b"), of("a.b", sampleAxes, ReproduceCurl, true, "curl\n")}, "curl", "a.b json"},
		{"another rule was shown", []Reproducer{{Scenario: "a.b", Axes: sampleAxes, Rule: "s", Kind: ReproduceReplay, Ran: true, Shown: true, Text: "s"}}, "replay a.b", "a.b json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &Report{
				Scenarios: []ScenarioResult{{ID: "a.b", Axes: other, Replay: "no", Rules: []RuleVerdict{{ID: "r", Message: "with proto"}}}, {ID: "a.b", Axes: sampleAxes, Replay: "replay a.b"}},
				Causes:    []Cause{{Rule: "q", Reproducer: "of the run"}, {Rule: "r", Scenario: "a.b", Axes: sampleAxes}},
			}
			r.Attach(tt.all)
			if got := r.Causes[1].Reproducer; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := r.Causes[1].Scenario + " " + r.Causes[1].Axes.Codec; got != tt.heads {
				t.Errorf("it is headed by %q, want %q", got, tt.heads)
			}
			if got := r.Causes[0].Reproducer; got != "of the run" {
				t.Errorf("the cause of the run has %q", got)
			}
		})
	}
}
