package selftest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/fakes/zoo"
	"assay/internal/bundle"
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
		baseline: &baseline{run: &bundle.Run{}, verdicts: reference},
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
		{"an advisory from which nothing follows", said(own, saying{"a.attach", attach, bundle.Advisory, short}), []string{exitCode}, nil, nil},
		{"an advisory from which a failure follows", said(own, saying{"a.tail", tail, bundle.Advisory, short}, saying{"a.attach", attach, bundle.Fail, short}),
			[]string{tail, exitCode}, nil, []string{attach, tail}},
		{"a defect of Assay on its own rule", said(own, saying{"a.attach", exitCode, bundle.Error, ""}), []string{exitCode}, nil, []string{exitCode}},
		{"a rule of the whole run", said(own, saying{"", "run.target-alive", bundle.Fail, bundle.SymptomNoConnect}),
			[]string{exitCode, "run.target-alive"}, nil, []string{"run.target-alive"}},
		{"nothing fails", said(saying{"a.exit", exitCode, bundle.Pass, ""}), []string{}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			reference := said(saying{"a.exit", exitCode, bundle.Pass, ""}, saying{"a.attach", attach, bundle.Pass, ""}, saying{"a.attach", exitCode, bundle.Pass, ""},
				saying{"a.churn", attach, bundle.Pass, ""}, saying{"a.tail", tail, bundle.Pass, ""}, saying{"a.broken", attach, bundle.Fail, short})
			tr := &trial{fault: zoo.Fault{ID: "f", Breaks: []string{exitCode}}, res: &bundle.FaultResult{}, verdicts: c.now}
			blamed(reference).accuse(tr)
			var attached, unattached []string
			for _, b := range tr.res.Blame {
				if b.Attached {
					attached = append(attached, b.Rule)
				} else {
					unattached = append(unattached, b.Rule)
				}
			}
			for _, d := range []string{cmp.Diff(c.causes, tr.res.Causes), cmp.Diff(c.attached, attached), cmp.Diff(c.unattached, unattached)} {
				if d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			}
			if tr.res.Unattached != len(c.unattached) {
				t.Errorf("%d unattached, want %d", tr.res.Unattached, len(c.unattached))
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
	tr := &trial{fault: zoo.Fault{ID: "f"}, res: &bundle.FaultResult{}, verdicts: now}
	blamed(verdicts{}).accuse(tr)
	want := []bundle.Blame{
		{Rule: attach, Cause: tail, Scenarios: []string{"a.attach", "b.attach"}, Axes: plainest, Message: "output-short"},
		{Rule: tail, Cause: tail, Scenarios: []string{"b.tail"}, Axes: plainest, Message: "output-short"},
	}
	if diff := cmp.Diff(want, tr.res.Blame); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A failure that repeats when it runs alone is blame. Any other is attributed to the machine, and recorded.
func TestAFaultIsBlamedByWhatBlamesItTwice(t *testing.T) {
	for _, c := range []struct {
		name, code string
		unattached int
		once       int
	}{
		{"right alone", "0", 0, 1},
		{"wrong alone", "3", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tester, err := newTester(Options{Full: true})
			if err != nil {
				t.Fatal(err)
			}
			script, err := scenarios.Parse("x.yaml", []byte("id: process.exit.x\ntitle: X\nrules: ["+attach+"]\nneeds: [process.start]\n"+
				"steps: [{start: {as: p, sh: exit 3, wait: end}}]\nexpect: {p: {end: {code: "+c.code+"}}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			tester.all = nil // the test needs only the calibration and features of the reference
			if tester.baseline, err = tester.reference(t.Context()); err != nil {
				t.Fatal(err)
			}
			tr := &trial{
				fault: zoo.Fault{ID: "exit-code-zeroed", Breaks: []string{exitCode}}, res: &bundle.FaultResult{},
				ran:      []scenarios.Instance{{Scenario: script, Axes: plainest}},
				verdicts: said(saying{script.ID, attach, bundle.Fail, bundle.SymptomTime}),
			}
			if err := tester.confirm(t.Context(), tr); err != nil {
				t.Fatal(err)
			}
			if tr.res.Unattached != c.unattached || len(tr.res.Once) != c.once || len(tr.res.Causes) != c.unattached {
				t.Errorf("got %+v", tr.res)
			}
		})
	}
}

// A rule of the whole run is tried again with all instances.
func TestWhatSpansTheRunIsTriedAgainWithAllOfIt(t *testing.T) {
	one, two := scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.one"}, Axes: plainest}, scenarios.Instance{Scenario: &scenarios.Scenario{ID: "a.two"}, Axes: plainest}
	tr := &trial{ran: []scenarios.Instance{one, two}}
	if got := tr.behind(map[key]bool{{scenario: "a.two", axes: plainest, rule: attach}: true}); !slices.Equal(got, []scenarios.Instance{two}) {
		t.Errorf("got %v, want a.two alone", names(got))
	}
	if got := tr.behind(map[key]bool{{rule: "run.target-alive"}: true}); len(got) != 2 {
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

// A fault runs against its whole sample, whatever the cost, and against every other light scenario.
func TestAFaultIsPutToItsSampleAndToAPartOfEverything(t *testing.T) {
	tester, err := newTester(Options{})
	if err != nil {
		t.Fatal(err)
	}
	tester.all = slices.DeleteFunc(tester.all, func(i scenarios.Instance) bool { return kindOf(i.Scenario.ID) != "" })
	slow := tester.all[0].Scenario // runs in turn 0, and next in turn 8
	tester.baseline = &baseline{took: map[scenarios.Instance]time.Duration{}}
	var sample []scenarios.Instance
	for _, i := range tester.all {
		if i.Scenario == slow {
			tester.baseline.took[i] = 2 * costly
			sample = append(sample, i)
		}
	}
	for turn := range faultShare {
		for _, with := range [][]scenarios.Instance{nil, sample} {
			part := tester.part("", with, turn)
			of := map[string]bool{}
			for _, i := range part {
				of[i.Scenario.ID] = true
			}
			if !slices.Equal(part[:len(with)], with) || of[slow.ID] != (len(with) > 0 || turn == 0) || len(unique(part)) != len(part) {
				t.Fatalf("turn %d, sample %v: got %v", turn, names(with), names(part))
			}
			if want := len(scenariosOf(tester.all, func(scenarios.Instance) bool { return true })); len(of) < want-1 {
				t.Errorf("turn %d: %d of %d scenarios", turn, len(of), want)
			}
		}
	}
}
