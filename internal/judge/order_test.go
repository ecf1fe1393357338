package judge

import (
	"maps"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

func raceOrders() []scenarios.Order {
	return []scenarios.Order{
		{Name: "killed", Min: 2, Subjects: map[string]*scenarios.Match{
			"b": {OK: new(true)}, "p": {End: &scenarios.EndMatch{Signal: []string{"SIGKILL"}}}}},
		{Name: "exit-first", Min: 1, Subjects: map[string]*scenarios.Match{
			"b": {Error: &scenarios.ErrorMatch{Code: []string{"not_found"}}}, "p": {End: &scenarios.EndMatch{Code: []int{0}}}}},
	}
}

// race is one iteration of a kill race; how is killed, exit-first, or anything else for a mixture.
func race(index int, how string) bundle.Iteration {
	p, b := streamExchange("p"), unaryExchange("b")
	if how != "exit-first" {
		p.Events[2].Exit = &bundle.Exit{Code: -1, Status: "signal: killed", Signal: "SIGKILL"}
	}
	if how != "killed" {
		withError(b, 404, "not_found", "")
	}
	it := observation(p, b).Iterations[0]
	it.Index = index
	return it
}

func races(hows ...string) *bundle.Observation {
	o := observation()
	o.Iterations = nil
	for i, how := range hows {
		o.Iterations = append(o.Iterations, race(i, how))
	}
	return o
}

func TestOrder(t *testing.T) {
	for how, want := range map[string]string{"killed": "killed", "exit-first": "exit-first", "mixture": ""} {
		it := race(0, how)
		if got := Order(raceOrders(), testRun(), &it); got != want {
			t.Errorf("%s: got order %q, want %q", how, got, want)
		}
	}
}

func TestOrdersAreCounted(t *testing.T) {
	s := scenarioOf(scenarios.Clause{Orders: raceOrders()})
	v := judgeOne(t, s, races("killed", "exit-first", "killed", "exit-first"))
	wantVerdict(t, v, bundle.Pass, "")
	if want := map[string]int{"killed": 2, "exit-first": 2}; !maps.Equal(v.Counts, want) {
		t.Errorf("counts %v, want %v", v.Counts, want)
	}

	o := races("killed", "exit-first")
	o.BudgetSpent = true
	v = judgeOne(t, s, o)
	wantVerdict(t, v, bundle.Inconclusive, "order killed: want it at least 2 times, saw it 1 time (the time budget was spent)")
	if v.Counts["killed"] != 1 {
		t.Errorf("counts %v", v.Counts)
	}

	v = judgeOne(t, s, races("killed", "mixture", "killed", "exit-first"))
	wantVerdict(t, v, bundle.Fail,
		"iteration 1: want one of the orders killed or exit-first, saw b: HTTP 404, error not_found; "+
			"p: HTTP 200, events start data end, ended by SIGKILL")
	if v.Evidence == nil || v.Evidence.Iteration != 1 {
		t.Errorf("evidence %+v", v.Evidence)
	}
}

func TestARaceThatAssayGaveUpFitsNoOrderAndIsOnlySuspected(t *testing.T) {
	it := race(0, "killed")
	it.Exchanges[0].Events = it.Exchanges[0].Events[:1]
	for _, outcome := range []bundle.Outcome{bundle.OutcomeStalled, bundle.OutcomeClosed} {
		it.Exchanges[0].Outcome = outcome
		if f := (&scene{it: &it}).noOrder(raceOrders()); f.grade != violated || f.vain != (outcome == bundle.OutcomeStalled) {
			t.Errorf("%s: grade %v, suspected %v: %s", outcome, f.grade, f.vain, f.message)
		}
	}
}
