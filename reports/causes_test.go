package reports

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func TestCausesComeFirstAndWhatFollowsIsOnlyNamed(t *testing.T) {
	text := draw(t, caused(), Style{Width: 100})
	at := -1
	for _, part := range []string{
		"THE TARGET DIED while process.keepalive.zero ran; 2 runs were skipped", "http://gateway.example:8081", "NOT CONFORMANT  to profile full: 2 causes, 6 rules are broken (exit 1)",
		"FAIL  process.output.complete", "must", "Every byte that a process wrote", "envd, Output (E12)", "process.output.large", "stdout ends at byte 65536",
		"◀ stdout differs", "$ assay replay process.output.large", "2 scenarios show it", "2 rules follow from it: connect.stream.flushed, process.pty.echo",
		"not judged because of it: process.input.late, process.signal.term",
		"FAIL  process.end.exit-code", "1 rule follows from it: process.end.status-text",
		"UNEXPECTED PASS  http.method.allow", "INCONCLUSIVE  4 other rules could not be judged in 4 runs", "2 rules in 2 runs, first process.update.a", "1 rule in 1 run: process.signal.kill", "ADVISORY  connect.unary.header-case (should) in 1 scenario: CONTENT-TYPE",
		"not tested  120 runs need http.h2c", "allowed     5 deviations of profile full", "NOT CONFORMANT  to profile full: 2 causes",
	} {
		next := strings.Index(text[at+1:], part)
		if next < 0 {
			t.Fatalf("%q is missing, or comes too early:\n%s", part, text)
		}
		at += 1 + next
	}
	if !strings.HasPrefix(text, "THE TARGET DIED") {
		t.Error("the death of the target is not the first line")
	}
	for _, follows := range []string{"want 12 bytes, saw 7", "the last byte came late", "FAIL  process.pty.echo"} {
		if strings.Contains(text, follows) {
			t.Errorf("%q follows from a cause, and is in the report in full", follows)
		}
		if !strings.Contains(draw(t, caused(), Style{Verbose: true}), follows) {
			t.Errorf("%q is missing with Verbose", follows)
		}
	}
}

// Four causes fit on two screens of 50 lines, however many rules follow from them.
func TestManyConsequencesDoNotHideTheCauses(t *testing.T) {
	r := caused()
	r.Causes = append(r.Causes, r.Causes...)
	for i := range r.Causes {
		c := &r.Causes[i]
		c.Follows = append(c.Follows, c.Rule)
		c.Rule = fmt.Sprintf("%s-%d", c.Rule, i)
		for n := range 200 {
			c.Follows = append(c.Follows, fmt.Sprintf("process.follows.number-%d", n))
			c.Unjudged = append(c.Unjudged, fmt.Sprintf("process.unjudged.number-%d", n))
		}
		c.Transcript = strings.Repeat("a line\n", windowOf(4).first+windowOf(4).before+windowOf(4).behind+1) + "a line"
		s := r.Scenarios[3]
		s.ID = c.Scenario
		s.Rules = []bundle.RuleVerdict{rule(c.Rule, "must", "", bundle.Fail, "x")}
		for n := range 60 {
			s.Rules = append(s.Rules, rule(fmt.Sprintf("process.follows.number-%d", n), "must", "", bundle.Fail, "x"))
			s.Rules = append(s.Rules, rule(fmt.Sprintf("process.open.number-%d", n), "must", "", bundle.Inconclusive, "not judged: p did not start"))
		}
		r.Scenarios = append(r.Scenarios, s)
	}
	for _, columns := range []int{80, 200} {
		text := draw(t, r, Style{Width: columns})
		before, _, _ := strings.Cut(text, "UNEXPECTED PASS")
		if n := strings.Count(before, "\n"); n > 100 {
			t.Errorf("%d columns: the causes take %d lines, want at most 100", columns, n)
		}
		if n := strings.Count(text, "\n"); n > 150 {
			t.Errorf("%d columns: the report takes %d lines, want at most 150", columns, n)
		}
		for _, want := range []string{"203 rules follow from it", "more", "60 rules in 4 runs, first process.output.large"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: %q is missing:\n%s", columns, want, text)
			}
		}
	}
}

func TestAReportWithoutCausesTellsOfEveryBrokenRule(t *testing.T) {
	r := caused()
	r.Causes = nil
	text := draw(t, r, Style{})
	for _, want := range []string{"FAIL  process.pty.echo", "FAIL  process.end.status-text", "profile full: 6 rules are broken"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

func TestACauseThatSpansTheRunHasNoScenario(t *testing.T) {
	r := failing()
	r.Causes = []bundle.Cause{{Rule: "profile.full.process.tag", Level: "must", Title: "The profile requires process.tag.", Message: "the probe saw unimplemented"}}
	text := draw(t, r, Style{})
	if !strings.Contains(text, "the run as a whole\n    the probe saw unimplemented\n") || strings.Count(text, "the probe saw unimplemented") != 1 {
		t.Errorf("the cause is not there exactly once:\n%s", text)
	}
}

func TestWhatAVerdictRestsOnFitsInSixLines(t *testing.T) {
	r := passing()
	r.Scope = caused().Scope
	for i := range 40 {
		r.Scope.Unsupported = append(r.Scope.Unsupported, bundle.Count{Name: fmt.Sprintf("feature.number-%d", i), Runs: 1})
		r.Scope.Deviations = append(r.Scope.Deviations, bundle.Count{Name: fmt.Sprintf("a.rather-long.rule-%d", i), Runs: 1})
	}
	for _, columns := range []int{60, 80, 200} {
		_, text, _ := strings.Cut(draw(t, r, Style{Width: columns}), "not tested")
		text, _, _ = strings.Cut(text, "CONFORMANT")
		if n := strings.Count(text, "\n"); n > 6 {
			t.Errorf("%d columns: %d lines, want at most 6:\n%s", columns, n, text)
		}
		if !strings.Contains(text, "more") || !strings.Contains(strings.Join(strings.Fields(text), " "), "5 slow runs (--slow); 2 destructive runs (--destructive)") {
			t.Errorf("%d columns: a part is missing:\n%s", columns, text)
		}
	}
}

func TestAnInconclusiveRunSaysWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		add     []bundle.RuleVerdict
		skipped bundle.SkipReason
		want    string
	}{
		"the budget was spent":       {nil, bundle.SkipBudget, "2 of 3 runs were skipped: the time budget was spent (exit 5)"},
		"a rule could not be judged": {[]bundle.RuleVerdict{rule("a.b", "must", "", bundle.Inconclusive, "x")}, "", "1 rule could not be judged"},
		"nothing was tested":         {nil, "", "too little was tested"},
		"skipped for another reason": {nil, bundle.SkipSlow, "too little was tested"},
	} {
		t.Run(name, func(t *testing.T) {
			r := passing()
			r.Exit = 5
			for i, v := range tt.add {
				r.Scenarios = append(r.Scenarios, bundle.ScenarioResult{ID: fmt.Sprintf("a.b-%d", i), Axes: axesJSON, Verdict: v.Verdict, Rules: []bundle.RuleVerdict{v}})
			}
			if tt.skipped != "" {
				r.Scope = &bundle.Scope{NotRun: []bundle.Count{{Name: string(tt.skipped), Runs: 2}}}
			}
			text := draw(t, counted(r), Style{Width: 200})
			if !strings.Contains(text, "\nINCONCLUSIVE  "+tt.want) {
				t.Errorf("no %q in\n%s", tt.want, text)
			}
		})
	}
}

func TestTheProfileOfTheDaemonIsSuggestedToThoseWhoDidNotNameIt(t *testing.T) {
	for _, tt := range []struct {
		looks, profile string
		want           bool
	}{{"envd", "connect", true}, {"envd", "full", true}, {"envd", "envd", false}, {"envd", "e2b", false}, {"", "connect", false}} {
		r := passing()
		r.Target.Looks, r.Profile = tt.looks, tt.profile
		if got := strings.Contains(draw(t, r, Style{}), "--profile envd"); got != tt.want {
			t.Errorf("looks %q, profile %s: suggested: %v", tt.looks, tt.profile, got)
		}
	}
}

func TestJUnitSaysWhatAFailureFollowsFrom(t *testing.T) {
	p := parse(t, rendered(t, FormatJUnit, caused()))
	first := p.Suites[0].Cases[0]
	if first.Name != "process.output.large [connect/json/1.1/identity]" || len(first.Failure) != 1 || first.Failure[0].Message != "process.output.complete: stdout ends at byte 65536, 200000 were written" {
		t.Errorf("the first case is %+v, want the cause", first)
	}
	want := "follows from process.output.complete: process.pty.echo: want 12 bytes, saw 7"
	for _, s := range p.Suites {
		for _, c := range s.Cases {
			if strings.HasPrefix(c.Name, "process.pty.output ") {
				if c.Failure[0].Message != want {
					t.Errorf("message %q, want %q", c.Failure[0].Message, want)
				}
				return
			}
		}
	}
	t.Error("a case is missing")
}

// One scenario breaks two rules in different exchanges: each cause has the excerpt of its own
// exchange.
func TestACauseHasTheExcerptOfItsOwnRule(t *testing.T) {
	f := streamWithoutEnd()
	o := f.observation()
	other := o.Iterations[0].Exchanges[0]
	other.ID, other.Name, other.Violations = 1, "q", nil
	other.Request.Path = "/process.Process/List"
	o.Iterations[0].Exchanges = append(o.Iterations[0].Exchanges, other)
	verdicts := []bundle.Verdict{
		{Scenario: o.Scenario, Axes: o.Axes, Rule: "a.other", Conclusion: bundle.Fail, Evidence: &bundle.Evidence{Exchange: 0, Off: -1}},
		{Scenario: o.Scenario, Axes: o.Axes, Rule: "b.cause", Conclusion: bundle.Fail, Evidence: &bundle.Evidence{Exchange: 1, Off: -1}},
	}
	r := &bundle.Report{
		Scenarios: []bundle.ScenarioResult{{ID: o.Scenario, Axes: o.Axes, Verdict: bundle.Fail}},
		Causes:    []bundle.Cause{{Rule: "b.cause", Scenario: o.Scenario, Axes: o.Axes}, {Rule: "a.other", Scenario: o.Scenario, Axes: o.Axes}, {Rule: "c.run"}},
	}
	Annotate(r, []*bundle.Observation{o}, verdicts, 80)
	for name, tt := range map[string]struct{ text, want, not string }{
		"the first cause":  {r.Causes[0].Transcript, "/process.Process/List", "/process.Process/Start"},
		"the second cause": {r.Causes[1].Transcript, "/process.Process/Start", "/process.Process/List"},
		"the scenario":     {r.Scenarios[0].Transcript, "/process.Process/List", "/process.Process/Start"},
	} {
		if !strings.Contains(tt.text, tt.want) || strings.Contains(tt.text, tt.not) {
			t.Errorf("%s: want %s alone in\n%s", name, tt.want, tt.text)
		}
	}
	if r.Causes[2].Transcript != "" {
		t.Error("a rule of the whole run has an excerpt")
	}
}
