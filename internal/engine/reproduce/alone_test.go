package reproduce

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// second returns a failure of a call named "x" on a connection of its own, after a call
// of an earlier step on another connection.
func second(x, earlier bundle.Exchange) Failure {
	x.Name, x.Conn, x.Step, x.Invoked = "x", 0, "steps[1]", bundle.Stamp{N: 9}
	earlier.Name, earlier.Conn, earlier.ID, earlier.Step = "p", 1, 1, "steps[0]"
	f := sending([]byte("x"), x)
	it := &f.Observation.Iterations[0]
	it.Exchanges = append(it.Exchanges, earlier)
	it.Conns = append(it.Conns, bundle.Conn{ID: 1})
	return f
}

func TestACallThatNeedsMoreThanItselfHasItsReplayAlone(t *testing.T) {
	start := bundle.Exchange{Op: "start", RPC: "process.Process/Start"}
	list := bundle.Exchange{Op: "list", RPC: "process.Process/List", Surface: "process"}
	text := "live"
	clause := func(c scenarios.Clause) func(*Failure) {
		return func(f *Failure) {
			c.Rule = "r.s"
			f.Instance.Scenario.Expect = []scenarios.Clause{{Rule: "another", Orders: []scenarios.Order{{}}}, c}
		}
	}
	steps := func(steps ...scenarios.Step) func(*Failure) {
		return func(f *Failure) { f.Instance.Scenario.Steps = steps }
	}
	same := func(*Failure) {}
	tests := []struct {
		name       string
		x, earlier bundle.Exchange
		change     func(*Failure)
		want       string // "" if it stands alone
	}{
		{"a list after a start", list, start, same, "p had started one"},
		{"a list after a start that was sent", list, bundle.Exchange{Op: "send", RPC: "process.Process/Start"}, same, "p had started one"},
		{"a list after a list", list, list, same, ""},
		{"counters after a start", bundle.Exchange{Op: "send", Surface: "metrics"}, start, same, "p had started one"},
		{"a signal to a pid, after the alias", bundle.Exchange{Op: "signal", RPC: "process.Process/SendSignal"}, bundle.Exchange{Op: "start", Surface: "commands", Shape: bundle.ShapeNDJSON}, same, "p had started one"},
		{"a command of the alias by its pid", bundle.Exchange{Op: "send", Surface: "commands", Shape: bundle.ShapeUnary}, start, same, "p had started one"},
		{"a start after a start", start, start, same, ""},
		{"a start with a tag, after a start", start, start, steps(scenarios.Step{At: "steps[1]", Start: &scenarios.Start{Tag: &text}}), "tag"},
		{"a message with a tag, after a start", start, start, steps(scenarios.Step{At: "steps[1]", Send: &scenarios.Send{Message: map[string]any{"tag": text}}}), "tag"},
		{"an unknown route after a start", bundle.Exchange{Op: "send"}, start, same, ""},
		{"a call after one that was cut off", start, bundle.Exchange{Aborted: true, Returned: &bundle.Stamp{N: 5}}, same, "p had been cut off"},
		{"a call beside one that was cut off later", start, bundle.Exchange{Aborted: true, Returned: &bundle.Stamp{N: 15}}, same, ""},
		{"a call after a connection that was reset", start, list, func(f *Failure) {
			f.Observation.Iterations[0].Conns[1].Ended = &bundle.ConnEnd{By: "us", How: "rst", At: bundle.Stamp{N: 5}}
		}, "connection had been cut off"},
		{"a call after a connection that was closed", start, list, func(f *Failure) {
			f.Observation.Iterations[0].Conns[1].Ended = &bundle.ConnEnd{By: "us", How: "fin", At: bundle.Stamp{N: 5}}
		}, ""},
		{"a call in parallel", start, start, steps(scenarios.Step{At: "steps[1]", Parallel: []scenarios.Step{{At: "steps[1].parallel[0]"}}}), ""},
		{"one of several calls in parallel", start, start, func(f *Failure) {
			steps(scenarios.Step{At: "steps[1]", Parallel: []scenarios.Step{{At: "steps[1].parallel[0]"}}})(f)
			f.Observation.Iterations[0].Exchanges[0].Step = "steps[1].parallel[0]"
		}, "at the same time"},
		{"a race's orders", start, start, clause(scenarios.Clause{Orders: []scenarios.Order{{}}}), "repetitions"},
		{"responses that must be equal", start, start, clause(scenarios.Clause{Parity: []string{"p", "x"}}), "compared with responses to other calls"},
		{"an order of instants", start, start, clause(scenarios.Clause{Sequence: []string{"p.end", "x.invoked"}}), "time"},
		{"an order of its own instants", start, start, clause(scenarios.Clause{Sequence: []string{"x.start", "x.end"}}), ""},
		{"a response that lists processes", start, start, clause(scenarios.Clause{Subjects: map[string]*scenarios.Match{"x": {Lists: []string{"p"}}}}), "name processes"},
		{"a response that contains a pid", start, start, clause(scenarios.Clause{Subjects: map[string]*scenarios.Match{"x": {Body: &scenarios.BodyMatch{JSON: map[string]any{"pid": "${p.pid}"}}}}}), "name processes"},
		{"a response of its own", start, start, clause(scenarios.Clause{Subjects: map[string]*scenarios.Match{"x": {Ends: "once"}, "p": {Ends: "once"}}}), ""},
		{"a later one of many iterations", start, start, func(f *Failure) {
			f.Instance.Scenario.Repeat.Times = 9
			f.Observation.Iterations = append([]bundle.Iteration{{}}, f.Observation.Iterations...)
			f.Observation.Iterations[1].Index, f.Verdict.Evidence.Iteration = 1, 1
		}, "iteration 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := second(tt.x, tt.earlier)
			tt.change(&f)
			_, err := sourceOf(f)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("the failure has no text: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want one of %q", err, tt.want)
			}
		})
	}
}
