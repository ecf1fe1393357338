package matrix

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
)

// run is a run with one scenario for each rule, named like it.
func run(name string, verdicts map[string]bundle.Conclusion) Run {
	r := Run{Name: name, Path: "runs/" + name, Report: &bundle.Report{Profile: "full", Tool: bundle.Tool{Name: "assay", Version: "1"}}, Info: &bundle.Run{}}
	for id, v := range verdicts {
		level := "must"
		if strings.HasPrefix(id, "should.") {
			level = "should"
		}
		r.Report.Rules = append(r.Report.Rules, bundle.RuleResult{ID: id, Level: level, Verdict: v, Scenarios: []string{id}})
		r.Report.Scenarios = append(r.Report.Scenarios, bundle.ScenarioResult{ID: id, Rules: []bundle.RuleVerdict{{ID: id, Level: level, Verdict: v, Text: "Text of " + id, Message: "saw " + name}}})
	}
	return r
}

// ended adds an observation of a scenario whose responses ended in these ways.
func (r Run) ended(scenario string, outcomes ...bundle.Outcome) Run {
	o := &bundle.Observation{Scenario: scenario, Iterations: make([]bundle.Iteration, 1)}
	for _, out := range outcomes {
		o.Iterations[0].Exchanges = append(o.Iterations[0].Exchanges, bundle.Exchange{Op: "start", Shape: bundle.ShapeNDJSON, Outcome: out})
	}
	r.Observations = append(r.Observations, o)
	return r
}

func rowOf(t *testing.T, m *bundle.Matrix, id string) bundle.MatrixRule {
	t.Helper()
	i := slices.IndexFunc(m.Rules, func(r bundle.MatrixRule) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no row %s", id)
	}
	return m.Rules[i]
}

func TestARowDiffersOnlyWhereAVerdictSaysSomethingElseAboutAGateway(t *testing.T) {
	for name, c := range map[string]struct {
		a, b bundle.Conclusion
		want bundle.MatrixKind
	}{
		"both hold":                       {bundle.Pass, bundle.Pass, bundle.MatrixSame},
		"both are broken":                 {bundle.Fail, bundle.Fail, bundle.MatrixSame},
		"one is broken":                   {bundle.Pass, bundle.Fail, bundle.MatrixDiffers},
		"one is undecided":                {bundle.Pass, bundle.Inconclusive, bundle.MatrixDiffers},
		"one allows it":                   {bundle.Fail, bundle.Deviation, bundle.MatrixDiffers},
		"one is broken, one lacks it":     {bundle.Unsupported, bundle.Fail, bundle.MatrixDiffers},
		"one holds, one lacks it":         {bundle.Pass, bundle.Unsupported, bundle.MatrixCoverage},
		"one holds, one was not judged":   {bundle.Pass, "", bundle.MatrixCoverage},
		"neither was tested, differently": {bundle.NotRun, bundle.Unsupported, bundle.MatrixCoverage},
	} {
		t.Run(name, func(t *testing.T) {
			b := map[string]bundle.Conclusion{"x.other": bundle.Pass}
			if c.b != "" {
				b["x.y"] = c.b
			}
			m := Of([]Run{run("a", map[string]bundle.Conclusion{"x.y": c.a}), run("b", b)})
			if got := rowOf(t, m, "x.y"); got.Kind != c.want || got.Cells[0].Verdict != c.a || got.Cells[1].Verdict != c.b {
				t.Errorf("the row is %+v, want kind %s", got, c.want)
			}
		})
	}
}

func TestRowsAreMustBeforeShouldAndDifferencesFirst(t *testing.T) {
	a := map[string]bundle.Conclusion{"should.a": bundle.Pass, "must.a": bundle.Pass, "must.b": bundle.Pass, "must.c": bundle.Pass, "should.z": bundle.Pass}
	b := map[string]bundle.Conclusion{"should.a": bundle.Pass, "must.a": bundle.Pass, "must.b": bundle.Unsupported, "must.c": bundle.Fail, "should.z": bundle.Advisory}
	m := Of([]Run{run("a", a), run("b", b)})
	var ids []string
	for _, r := range m.Rules {
		ids = append(ids, r.ID)
	}
	if d := cmp.Diff([]string{"must.c", "must.b", "must.a", "should.z", "should.a"}, ids); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]bundle.MatrixArea{{Level: "must", Area: "must", Verdict: bundle.Pass, Rules: 1}, {Level: "should", Area: "should", Verdict: bundle.Pass, Rules: 1}}, m.Areas); d != "" {
		t.Error(d)
	}
	cell := rowOf(t, m, "must.c").Cells
	if cell[1].Message != "saw b" || cell[1].Scenario != "must.c" || cell[0].Message != "" {
		t.Errorf("the evidence is %+v: want that of the broken cell alone", cell)
	}
}

func TestTheEndingOfARuleIsTheWorstOverItsScenarios(t *testing.T) {
	holds := map[string]bundle.Conclusion{"x.y": bundle.Pass}
	a := run("a", holds).ended("x.y", bundle.OutcomeComplete, bundle.OutcomeAborted)
	b := run("b", holds).ended("x.y", bundle.OutcomeComplete, bundle.OutcomeReset).ended("x.y", bundle.OutcomeClosed)
	c := run("c", holds)
	m := Of([]Run{a, b, c})
	r := rowOf(t, m, "x.y")
	if got := []bundle.Ending{r.Cells[0].Ended, r.Cells[1].Ended, r.Cells[2].Ended}; !slices.Equal(got, []bundle.Ending{bundle.EndedStopped, bundle.EndedReset, ""}) {
		t.Errorf("the endings are %q", got)
	}
	if r.Kind != bundle.MatrixSame || !r.OtherEndings {
		t.Errorf("the row is %+v, want other endings with the same verdict", r)
	}
	if d := cmp.Diff(map[bundle.Ending]int{bundle.EndedClean: 1, bundle.EndedReset: 1, bundle.EndedCut: 1}, m.Gateways[1].Endings); d != "" {
		t.Error(d)
	}
	if clean := rowOf(t, Of([]Run{a, run("d", holds).ended("x.y", bundle.OutcomeComplete)}), "x.y"); clean.OtherEndings {
		t.Error("stopped and clean count as different endings")
	}
}

func TestAStreamWithoutItsLastMessageIsCut(t *testing.T) {
	ok, refused := &bundle.Response{Status: 200}, &bundle.Response{Status: 415}
	for name, c := range map[string]struct {
		e    bundle.Exchange
		want bundle.Ending
	}{
		"a Connect stream":                    {bundle.Exchange{Shape: bundle.ShapeStream, Response: ok}, bundle.EndedCut},
		"a Connect stream with its end":       {bundle.Exchange{Shape: bundle.ShapeStream, Response: ok, EndStream: &bundle.EndStream{}}, bundle.EndedClean},
		"a refused Connect stream":            {bundle.Exchange{Shape: bundle.ShapeStream, Response: refused}, bundle.EndedClean},
		"a gRPC stream":                       {bundle.Exchange{Shape: bundle.ShapeStream, Response: ok, Protocol: "grpc"}, bundle.EndedCut},
		"a gRPC stream with its status":       {bundle.Exchange{Shape: bundle.ShapeStream, Response: ok, Protocol: "grpc-web", GRPC: &bundle.GRPCStatus{}}, bundle.EndedClean},
		"a WebSocket without a close":         {bundle.Exchange{Shape: bundle.ShapeStdio, Response: &bundle.Response{Status: 101}}, bundle.EndedCut},
		"a unary call":                        {bundle.Exchange{Shape: bundle.ShapeUnary, Response: ok}, bundle.EndedClean},
		"a stream that a step of ours ended":  {bundle.Exchange{Shape: bundle.ShapeStream, Response: ok, Aborted: true}, bundle.EndedStopped},
		"a response that was not read to end": {bundle.Exchange{Shape: bundle.ShapePlain, Unread: "enough"}, bundle.EndedStopped},
	} {
		t.Run(name, func(t *testing.T) {
			c.e.Outcome = bundle.OutcomeComplete
			if got := ending(&c.e); got != c.want {
				t.Errorf("it ended %s, want %s", got, c.want)
			}
		})
	}
}

func TestEveryOutcomeHasAnEndingAndProbesHaveNone(t *testing.T) {
	for outcome, want := range map[bundle.Outcome]bundle.Ending{
		bundle.OutcomeNoConnect: bundle.EndedRefused, bundle.OutcomeNoAnswer: bundle.EndedTimeout, bundle.OutcomeStalled: bundle.EndedTimeout,
		bundle.OutcomeClosed: bundle.EndedCut, bundle.OutcomeReset: bundle.EndedReset, bundle.OutcomeGarbage: bundle.EndedGarbage, bundle.OutcomeAborted: bundle.EndedStopped,
	} {
		if got := ending(&bundle.Exchange{Outcome: outcome}); got != want {
			t.Errorf("outcome %s is %s, want %s", outcome, got, want)
		}
	}
	o := &bundle.Observation{Iterations: []bundle.Iteration{{Exchanges: []bundle.Exchange{{Op: "probe", Outcome: bundle.OutcomeReset}, {Op: "cleanup", Outcome: bundle.OutcomeReset}}}}}
	if got := endings(o); len(got) != 0 {
		t.Errorf("probes and the clean-up count: %v", got)
	}
}

func TestARaisedLevelIsThatOfTheRow(t *testing.T) {
	a, b := run("a", map[string]bundle.Conclusion{"should.x": bundle.Advisory}), run("b", map[string]bundle.Conclusion{"should.x": bundle.Fail})
	b.Report.Rules[0].Level = "must"
	r := rowOf(t, Of([]Run{a, b}), "should.x")
	if r.Level != "must" || r.Cells[0].Level != "should" || r.Cells[1].Level != "" {
		t.Errorf("the row is %+v", r)
	}
}

func TestDifferencesInSetupAreListed(t *testing.T) {
	a, b := run("a", nil), run("b", nil)
	b.Report.Profile, b.Report.Tool.Version = "e2b", "2"
	want := []bundle.MatrixContext{{What: "tool", Values: []string{"assay 1", "assay 2"}}, {What: "profile", Values: []string{"full", "e2b"}}}
	if d := cmp.Diff(want, Of([]Run{a, b}).Context); d != "" {
		t.Error(d)
	}
}

func TestEveryWordHasADefinition(t *testing.T) {
	for _, c := range bundle.Conclusions() {
		if verdictWords[c] == "" {
			t.Errorf("verdict %s has no definition", c)
		}
	}
	for _, e := range bundle.Endings() {
		if endingWords[e] == "" {
			t.Errorf("ending %s has no definition", e)
		}
	}
	m := Of([]Run{run("a", map[string]bundle.Conclusion{"x.y": bundle.Fail}), run("b", nil)})
	var got []string
	for _, w := range m.Words {
		got = append(got, w.Word)
	}
	if !slices.Equal(got, []string{"fail", bundle.NotJudged}) {
		t.Errorf("the legend has %q: want the words that occur", got)
	}
}
