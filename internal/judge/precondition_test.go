package judge

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// scripted builds an iteration step by step; each exchange follows the previous one.
type scripted struct {
	t  *testing.T
	it bundle.Iteration
	n  int64
}

func (s *scripted) stamp() bundle.Stamp {
	s.n++
	return bundle.Stamp{T: s.n * 1e6, N: s.n}
}

// add appends an exchange and shifts its stamps to the end of the iteration.
func (s *scripted) add(x *bundle.Exchange, name, op, step string) *bundle.Exchange {
	x.ID, x.Conn, x.Name, x.Op, x.Step = len(s.it.Exchanges), len(s.it.Exchanges), name, op, step
	x.Invoked = s.stamp()
	for i := range x.Events {
		x.Events[i].At = s.stamp()
	}
	if x.Returned != nil {
		x.Returned = new(s.stamp())
	}
	s.it.Exchanges = append(s.it.Exchanges, *x)
	s.it.Conns = append(s.it.Conns, bundle.Conn{ID: x.Conn, Name: name})
	return &s.it.Exchanges[len(s.it.Exchanges)-1]
}

// ended adds a process p that ended with an exit code.
func (s *scripted) ended(step string, code int32) {
	x := streamExchange("p")
	x.Events[2].Exit = &bundle.Exit{Code: code, Exited: true}
	x = s.add(x, "p", "start", step)
	s.it.Processes = append(s.it.Processes, bundle.Process{Name: "p", PID: 42, Started: x.Events[0].At, Ended: new(x.Events[2].At)})
}

// running adds a process p whose stream had not ended when Assay gave it up.
func (s *scripted) running(step string, outcome bundle.Outcome) {
	x := streamExchange("p")
	x.Events, x.EndStream, x.Outcome = x.Events[:2], nil, outcome
	x = s.add(x, "p", "start", step)
	s.it.Processes = append(s.it.Processes, bundle.Process{Name: "p", PID: 42, Started: x.Events[0].At})
}

// refusedStart adds a Start with an error response.
func (s *scripted) refusedStart(step string) {
	x := streamExchange("p")
	x.Events, x.Outputs, x.Error = nil, nil, &bundle.RPCError{Code: "internal"}
	s.add(x, "p", "start", step)
}

func (s *scripted) unansweredStart(step string) {
	x := streamExchange("p")
	x.Events, x.Outputs, x.Response, x.Outcome = nil, nil, nil, bundle.OutcomeStalled
	s.add(x, "p", "start", step)
}

func (s *scripted) call(name, op, step, code string) {
	x := unaryExchange(name)
	if code != "" {
		withError(x, 404, code, "")
	}
	s.add(x, name, op, step)
}

func (s *scripted) observation() *bundle.Observation {
	o := observation()
	o.Iterations = []bundle.Iteration{s.it}
	return o
}

// waitOf returns a wait by its text.
func waitOf(text string) (w bundle.Wait) {
	_ = w.UnmarshalText([]byte(text)) // never fails
	return w
}

// vain adds an unmet wait, which ends the steps.
func (s *scripted) vain(step, on, what string) {
	began, ended := s.stamp(), s.stamp()
	s.it.Awaits = append(s.it.Awaits, bundle.Await{Step: step, On: on, What: waitOf(what), Began: began, Ended: ended, Deadline: 1e6})
	for i := range s.it.Exchanges {
		if x := &s.it.Exchanges[i]; x.Outcome == bundle.OutcomeAborted || x.Outcome == bundle.OutcomeStalled {
			x.Returned = new(s.stamp()) // given up after the wait
		}
	}
}

func TestPreconditions(t *testing.T) {
	const ready = `
steps:
  - start: {as: p, sh: echo ready; read x; exit 5, stdin: true%s}
  - await: {on: p, output: "ready\n"%s}
  - input: {to: p, data: "\n"}
expect:
  - rule: a.wait.comes
    p: {stdout: "ready\n"}
  - rule: a.exit.code
    p: {end: {code: 5}}
`
	const kill = `
steps:
  - start: {as: p, sh: read x, stdin: true%s}
  - signal: {as: first, to: p, name: SIGKILL}
  - await: {on: p, done: true%s}
  - signal: {as: second, to: p, name: SIGKILL}
expect:
  - rule: a.wait.comes
    first: ok
  - rule: a.exit.code
    p: {end: {code: [-1, 137]}}
    second: not_found
`
	cases := []struct {
		name   string
		script string
		marks  [2]string // options of start and await
		run    func(*scripted)
		want   map[string]bundle.Conclusion
		says   string
	}{
		{"a process that ended without its marker", ready, [2]string{}, func(s *scripted) {
			s.ended("steps[0]", 0)
			s.vain("steps[1]", "p", `output "ready\n"`)
		}, bothOf(bundle.Inconclusive), `p ended (exit 0) without printing "ready\n"`},
		{"a process that ended without its marker does not break a rule about the wait", ready, [2]string{"", ", proves: a.wait.comes"}, func(s *scripted) {
			s.ended("steps[0]", 0)
			s.vain("steps[1]", "p", `output "ready\n"`)
		}, bothOf(bundle.Inconclusive), `p ended (exit 0) without printing "ready\n"`},
		{"a marker that is held back breaks the rule that it proves, and no other", ready, [2]string{"", ", proves: a.wait.comes"}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeStalled)
			s.vain("steps[1]", "p", `output "ready\n"`)
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Fail, "a.exit.code": bundle.Inconclusive}, `the output "ready\n" did not come on p within 1ms`},
		{"a marker whose wait was cut short", ready, [2]string{"", ", proves: a.wait.comes"}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeStalled)
			s.vain("steps[1]", "p", `output "ready\n"`)
			s.it.Awaits[0].Short = true
		}, bothOf(bundle.Inconclusive), `the output "ready\n" did not come on p within 1ms`},
		{"a marker that is held back breaks no rule if the wait proves none", ready, [2]string{}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeStalled)
			s.vain("steps[1]", "p", `output "ready\n"`)
		}, bothOf(bundle.Inconclusive), `the output "ready\n" did not come on p within 1ms`},
		{"a process that did not start", kill, [2]string{}, func(s *scripted) {
			s.refusedStart("steps[0]")
			s.vain("steps[1]", "p", "pid")
		}, bothOf(bundle.Inconclusive), "p did not start: HTTP 200, error internal"},
		{"a start that proves a rule", kill, [2]string{", proves: a.wait.comes", ""}, func(s *scripted) {
			s.refusedStart("steps[0]")
			s.vain("steps[1]", "p", "pid")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Fail, "a.exit.code": bundle.Inconclusive}, "p did not start"},
		{"a start that proves a rule and gets no response", kill, [2]string{", proves: a.wait.comes", ""}, func(s *scripted) {
			s.unansweredStart("steps[0]")
			s.vain("steps[0]", "p", "start")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Fail, "a.exit.code": bundle.Inconclusive}, "start did not come on p"},
		{"a process that had ended before it was killed", kill, [2]string{}, func(s *scripted) {
			s.ended("steps[0]", 1)
			s.call("first", "signal", "steps[1]", "not_found")
			s.call("second", "signal", "steps[3]", "not_found")
		}, bothOf(bundle.Inconclusive), "p ended (exit 1) before signal first was sent"},
		{"a process that had ended, whose start proves that it runs on", kill, [2]string{", proves: a.wait.comes", ""}, func(s *scripted) {
			s.ended("steps[0]", 1)
			s.call("first", "signal", "steps[1]", "not_found")
			s.call("second", "signal", "steps[3]", "not_found")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Fail, "a.exit.code": bundle.Inconclusive}, "p ended (exit 1) before signal first was sent"},
		{"a refused input that no clause judges", ready, [2]string{}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeAborted)
			s.call("input", "input", "steps[2]", "internal")
		}, bothOf(bundle.Inconclusive), "the input was answered with HTTP 404, error internal"},
		{"a refused kill that a clause judges", kill, [2]string{}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeAborted)
			s.call("first", "signal", "steps[1]", "internal")
			s.vain("steps[2]", "p", "done")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Fail, "a.exit.code": bundle.Inconclusive}, "p did not end within 1ms"},
		{"an optional wait", kill, [2]string{"", ", optional: true"}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeStalled)
			s.call("first", "signal", "steps[1]", "")
			s.vain("steps[2]", "p", "done")
			s.call("second", "signal", "steps[3]", "")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Pass, "a.exit.code": bundle.Fail}, "second: want error not_found, saw HTTP 200"},
		{"an optional wait at which the steps ran out of time", kill, [2]string{"", ", optional: true"}, func(s *scripted) {
			s.running("steps[0]", bundle.OutcomeAborted)
			s.call("first", "signal", "steps[1]", "")
			s.vain("steps[2]", "p", "done")
			s.vain("steps[2]", "the iteration", "time enough for the step")
		}, map[string]bundle.Conclusion{"a.wait.comes": bundle.Pass, "a.exit.code": bundle.Inconclusive}, "not judged: p did not end within 1ms"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := "id: area.one\ntitle: One\nrules: [a.wait.comes, a.exit.code]" + strings.Replace(strings.Replace(c.script, "%s", c.marks[0], 1), "%s", c.marks[1], 1)
			script := parsed(t, text)
			s := &scripted{t: t, it: bundle.Iteration{Vars: map[string]string{"p.pid": "42"}}}
			c.run(s)
			o := s.observation()
			var said strings.Builder
			for _, v := range (&Judge{}).Scenario(script, testRun(), o) {
				if v.Conclusion != c.want[v.Rule] {
					t.Errorf("%s: %s: %s, want %s", v.Rule, v.Conclusion, v.Message, c.want[v.Rule])
				}
				said.WriteString(v.Message + "\n")
			}
			if !strings.Contains(said.String(), c.says) {
				t.Errorf("messages %q, want %q in them", said.String(), c.says)
			}
		})
	}
}

func bothOf(c bundle.Conclusion) map[string]bundle.Conclusion {
	return map[string]bundle.Conclusion{"a.wait.comes": c, "a.exit.code": c}
}

// A list without an ended process is correct.
func TestAListWithoutAProcessThatHasEndedIsNotBlamed(t *testing.T) {
	script := parsed(t, `
id: area.one
title: One
rules: [area.topic.rule]
steps:
  - start: {as: p, sh: read x, stdin: true}
  - list: {as: during}
expect:
  during: {ok: true, lists: p}
`)
	s := &scripted{t: t}
	s.ended("steps[0]", 1)
	s.call("during", "list", "steps[1]", "")
	v := judgeOne(t, script, s.observation())
	if v.Conclusion != bundle.Inconclusive || v.Symptom != bundle.SymptomEndedEarly {
		t.Errorf("%s (%s): %s", v.Conclusion, v.Symptom, v.Message)
	}
}

// A target is not blamed for silence about a feature whose probe was inconclusive.
func TestSilenceOfAFeatureThatTheProbeLeftOpenIsNoBreach(t *testing.T) {
	script := parsed(t, `
id: area.one
title: One
rules: [area.topic.rule]
axes: {http: h2c}
send: {rpc: process.Process/List, message: {}}
expect: {stream: ok}
`)
	x := unaryExchange("send")
	x.Response, x.Outcome, x.Body = nil, bundle.OutcomeNoAnswer, nil
	o := observation(x)
	o.Axes.HTTP = "h2c"
	for state, want := range map[bundle.FeatureState]bundle.Conclusion{
		bundle.FeatureUnknown: bundle.Inconclusive, bundle.FeaturePresent: bundle.Fail,
	} {
		run := testRun()
		run.Features = map[string]bundle.Feature{"http.h2c": {State: state}}
		vs := (&Judge{}).Scenario(script, run, o)
		if vs[0].Conclusion != want {
			t.Errorf("a feature that is %s: %s: %s, want %s", state, vs[0].Conclusion, vs[0].Message, want)
		}
	}
}

// A server may close a connection at any time. If it says so beforehand, rules about the reuse of
// the connection do not apply; a silent close leaves them open.
func TestAnAnnouncedCloseLeavesNothingToReuse(t *testing.T) {
	script := parsed(t, `
id: area.one
title: One
rules: [area.topic.rule]
steps:
  - send: {as: first, rpc: process.Process/List, message: {}}
  - send: {as: second, on: first, rpc: process.Process/List, message: {}}
expect: {second: ok}
`)
	for name, c := range map[string]struct {
		announce func(*bundle.Response)
		want     bundle.Conclusion
	}{
		"a header":         {func(r *bundle.Response) { r.Headers = append(r.Headers, headers("Connection", "close")...) }, bundle.Unsupported},
		"framing by close": {func(r *bundle.Response) { r.Framing = "close" }, bundle.Unsupported},
		"nothing":          {func(*bundle.Response) {}, bundle.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{t: t}
			first := s.add(unaryExchange("first"), "first", "send", "steps[0]")
			c.announce(first.Response)
			second := unaryExchange("second")
			second.Response, second.Body, second.Outcome = nil, nil, bundle.OutcomeClosed
			s.add(second, "second", "send", "steps[1]").Conn = first.Conn
			wantVerdict(t, judgeOne(t, script, s.observation()), c.want,
				"second: not judged: the server had closed the connection, which is legal, when send second was sent on it")
		})
	}
}

// Waits for several ends share one deadline: the later ones may have none of it left.
func TestAWaitWithoutTimeNamesTheTimeOfTheSteps(t *testing.T) {
	a := &bundle.Await{On: "p", What: waitOf("end of the answer"), Began: bundle.Stamp{T: 5e9}, Ended: bundle.Stamp{T: 5e9 + 11_405}}
	s := &scene{it: &bundle.Iteration{}}
	if got, want := s.waitText(a, nil), "p had not ended when the time for the steps was over"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	a.What = waitOf("event start")
	if got, want := s.waitText(a, nil), "event start had not come on p when the time for the steps was over"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	a.What = waitOf("done")
	a.Ended.T += 2e9
	if got := s.waitText(a, nil); !strings.HasPrefix(got, "p did not end within 2") {
		t.Errorf("after two seconds: %q", got)
	}
}
