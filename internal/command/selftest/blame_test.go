package selftest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// plainest are the axes of all verdicts of these tests.
var plainest = bundle.Axes{Protocol: "connect", Codec: "json", HTTP: "1.1", Compression: "identity"}

const (
	exitCode = "process.end.exit-code"   // the rule that the fault breaks; wrong exit codes elsewhere follow from it
	tail     = "process.output.complete" // another foundation, which the fault does not name
	attach   = "process.connect.attach"  // not a foundation
)

// blamed returns a tester with two foundations and the verdicts of its reference gateway.
func blamed(reference verdicts) *tester {
	rests := func(rank int, s bundle.Symptom) *scenarios.Foundation {
		return &scenarios.Foundation{Rank: rank, Symptoms: []bundle.Symptom{s}}
	}
	return &tester{
		baseline: &trial{like: &bundle.Run{}, verdicts: reference},
		catalogue: &scenarios.Catalogue{Rules: []*scenarios.Rule{
			{ID: tail, Level: "must", Foundation: rests(10, bundle.SymptomOutputShort)},
			{ID: exitCode, Level: "must", Foundation: rests(20, bundle.SymptomExitCode)},
			{ID: attach, Level: "must"},
		}},
	}
}

// say returns a verdict on a scenario.
func say(scenario, rule string, c bundle.Conclusion, s bundle.Symptom) (key, bundle.Verdict) {
	v := bundle.Verdict{Scenario: scenario, Rule: rule, Level: "must", Conclusion: c, Symptom: s, Message: string(s)}
	if scenario != "" {
		v.Axes = plainest
	}
	return key{scenario: scenario, axes: v.Axes, rule: rule}, v
}

type saying struct {
	scenario, rule string
	conclusion     bundle.Conclusion
	symptom        bundle.Symptom
}

func said(all ...saying) verdicts {
	out := verdicts{}
	for _, s := range all {
		k, v := say(s.scenario, s.rule, s.conclusion, s.symptom)
		out[k] = v
	}
	return out
}

func TestAFaultIsBlamedForWhatDoesNotFollowFromItsOwnRules(t *testing.T) {
	short, code := bundle.SymptomOutputShort, bundle.SymptomExitCode
	own := saying{"a.exit", exitCode, bundle.Fail, code}
	for _, c := range []struct {
		name       string
		now        verdicts
		causes     []string
		attached   []string
		unattached []string
	}{
		{"its own rule alone", said(own), []string{exitCode}, nil, nil},
		{"a rule that follows from its own", said(own, saying{"a.attach", attach, bundle.Fail, code}), []string{exitCode}, []string{attach}, nil},
		{"a rule that fails with another symptom", said(own, saying{"a.attach", attach, bundle.Fail, short}), []string{exitCode, attach}, nil, []string{attach}},
		{"one of two failures follows", said(own, saying{"a.attach", attach, bundle.Fail, code}, saying{"a.churn", attach, bundle.Fail, short}),
			[]string{exitCode, attach}, nil, []string{attach}},
		{"a foundation that it does not name, and its consequence", said(own, saying{"a.tail", tail, bundle.Fail, short}, saying{"a.attach", attach, bundle.Fail, short}),
			[]string{tail, exitCode}, nil, []string{attach, tail}},
		{"its own rule follows from another", said(saying{"a.exit", exitCode, bundle.Fail, short}, saying{"a.tail", tail, bundle.Fail, short}),
			[]string{tail}, nil, []string{tail}},
		{"a rule that cannot be judged", said(own, saying{"a.attach", attach, bundle.Inconclusive, short}), []string{exitCode}, nil, nil},
		{"a rule that was broken on the reference", said(own, saying{"a.broken", attach, bundle.Fail, short}), []string{exitCode}, nil, nil},
		{"a rule that did not apply to the reference", said(own, saying{"a.unseen", attach, bundle.Fail, short}),
			[]string{exitCode, attach}, nil, []string{attach}},
		{"an advisory", said(own, saying{"a.attach", attach, bundle.Advisory, short}), []string{exitCode}, nil, nil},
		{"an advisory beside a failure that it does not explain", said(own, saying{"a.tail", tail, bundle.Advisory, short}, saying{"a.attach", attach, bundle.Fail, short}),
			[]string{exitCode, attach}, nil, []string{attach}},
		{"a defect of Assay on its own rule", said(own, saying{"a.attach", exitCode, bundle.Error, ""}), []string{exitCode}, nil, []string{exitCode}},
		{"a rule of the whole run", said(own, saying{"", "run.target-alive", bundle.Fail, bundle.SymptomNoConnect}),
			[]string{exitCode, "run.target-alive"}, nil, []string{"run.target-alive"}},
		{"nothing fails", said(saying{"a.exit", exitCode, bundle.Pass, ""}), []string{}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			reference := said(saying{"a.exit", exitCode, bundle.Pass, ""}, saying{"a.attach", attach, bundle.Pass, ""}, saying{"a.attach", exitCode, bundle.Pass, ""},
				saying{"a.churn", attach, bundle.Pass, ""}, saying{"a.tail", tail, bundle.Pass, ""}, saying{"a.broken", attach, bundle.Fail, short})
			var r bundle.FaultResult
			blamed(reference).accuse(&zoo.Fault{ID: "f", Breaks: []string{exitCode}}, &trial{verdicts: c.now}, &r)
			var attached, unattached []string
			for _, b := range r.Blame {
				if b.Attached {
					attached = append(attached, b.Rule)
				} else {
					unattached = append(unattached, b.Rule)
				}
			}
			for _, d := range []string{cmp.Diff(c.causes, r.Causes), cmp.Diff(c.attached, attached), cmp.Diff(c.unattached, unattached)} {
				if d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			}
			if r.Unattached != len(c.unattached) {
				t.Errorf("%d unattached, want %d", r.Unattached, len(c.unattached))
			}
		})
	}
}

// Blame lists each scenario once, with the cause and the first message.
func TestBlameTellsWhereItWasSeen(t *testing.T) {
	now := said(saying{"b.tail", tail, bundle.Fail, bundle.SymptomOutputShort}, saying{"b.attach", attach, bundle.Fail, bundle.SymptomOutputShort},
		saying{"a.attach", attach, bundle.Fail, bundle.SymptomOutputShort})
	k, v := say("b.attach", attach, bundle.Fail, bundle.SymptomOutputShort)
	k.axes.Codec, v.Axes.Codec = "proto", "proto"
	now[k] = v
	var r bundle.FaultResult
	blamed(verdicts{}).accuse(&zoo.Fault{ID: "f"}, &trial{verdicts: now}, &r)
	want := []bundle.Blame{
		{Rule: attach, Cause: tail, Scenarios: []string{"a.attach", "b.attach"}, Axes: plainest, Message: "output-short"},
		{Rule: tail, Cause: tail, Scenarios: []string{"b.tail"}, Axes: plainest, Message: "output-short"},
	}
	if diff := cmp.Diff(want, r.Blame); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A verdict of another gateway's company is confirmed alone: the same scenario is right, or wrong again.
func TestOnlyTheVerdictAloneCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code string
		bad        bool
	}{
		{"right alone", "0", false},
		{"wrong alone", "3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tester, err := newTester(Options{Full: true})
			if err != nil {
				t.Fatal(err)
			}
			tester.all = nil // the test needs only the calibration and features of the reference
			if tester.baseline, err = tester.reference(t.Context()); err != nil {
				t.Fatal(err)
			}
			trialOf := func(rule, exit string, first bundle.Conclusion) *trial {
				script, err := scenarios.Parse("x.yaml", []byte("id: process.exit.x\ntitle: X\nrules: ["+rule+"]\nneeds: [process.start]\n"+
					"steps: [{start: {as: p, sh: exit "+exit+", wait: end}}]\nexpect: {p: {end: {code: "+c.code+"}}}\n"))
				if err != nil {
					t.Fatal(err)
				}
				k1, v := say(script.ID, rule, first, bundle.SymptomTime)
				return &trial{like: tester.baseline.like, ran: []scenarios.Instance{{Scenario: script, Axes: plainest}}, verdicts: verdicts{k1: v}}
			}
			zeroed := &zoo.Fault{ID: "exit-code-zeroed", Breaks: []string{exitCode}}

			blamed := trialOf(attach, "3", bundle.Fail)
			blamed.options.Faults = []string{zeroed.ID}
			if r, err := tester.concludeFault(t.Context(), zeroed, blamed); err != nil || r.Unattached > 0 != c.bad || len(r.Once) > 0 == c.bad || len(r.Causes) > 0 != c.bad {
				t.Errorf("blame of a fault: %+v, %v", r, err)
			}
			legal := trialOf(exitCode, "0", bundle.Fail)
			legal.options.Variants = []string{"no-date"}
			if r, err := tester.concludeVariant(t.Context(), &zoo.Variant{ID: "no-date"}, legal); err != nil || r.Clean == c.bad || len(r.Failing) > 0 != c.bad || len(r.Once) > 0 == c.bad {
				t.Errorf("blame of a variant: %+v, %v", r, err)
			}
			late := trialOf(exitCode, "3", bundle.Inconclusive)
			late.options.Faults = []string{zeroed.ID}
			tester.all = late.ran
			k := key{scenario: "process.exit.x", axes: plainest, rule: exitCode}
			tester.baseline.verdicts[k] = bundle.Verdict{Conclusion: bundle.Pass}
			if r, err := tester.concludeFault(t.Context(), zeroed, late); err != nil || r.Killed != c.bad || len(r.By) > 0 != c.bad || r.Saw != "" != c.bad {
				t.Errorf("a fault that a late driver did not detect: %+v, %v", r, err)
			}
		})
	}
}

// A rule of the whole run is confirmed with all instances.
func TestWhatSpansTheRunIsConfirmedWithAllOfIt(t *testing.T) {
	one, two := scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.one"}, Axes: plainest}, scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.two"}, Axes: plainest}
	tr := &trial{ran: []scenarios.Instance{one, two}}
	if got := tr.behind(said(saying{"a.two", attach, bundle.Fail, ""})); !slices.Equal(got, []scenarios.Instance{two}) {
		t.Errorf("got %v, want a.two alone", names(got))
	}
	if got := tr.behind(said(saying{"", "run.target-alive", bundle.Fail, ""})); len(got) != 2 {
		t.Errorf("got %v, want all", names(got))
	}
}

func TestASelftestWithBlameIsNotTrusted(t *testing.T) {
	for _, c := range []struct {
		name string
		f    bundle.FaultResult
		exit int
	}{
		{"one cause", bundle.FaultResult{Killed: true, Causes: []string{"a"}}, 0},
		{"two causes, and rules that follow", bundle.FaultResult{Killed: true, Causes: []string{"a", "b"}, Blame: []bundle.Blame{{Attached: true}}}, 0},
		{"three causes", bundle.FaultResult{Killed: true, Causes: []string{"a", "b", "c"}}, 1},
		{"blame that is not attached", bundle.FaultResult{Killed: true, Causes: []string{"a"}, Unattached: 1}, 1},
		{"a survivor", bundle.FaultResult{}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &bundle.SelftestReport{Faults: []bundle.FaultResult{c.f}}
			if (&tester{}).conclude(r); r.Exit != c.exit {
				t.Errorf("exit code %d, want %d", r.Exit, c.exit)
			}
		})
	}
}
