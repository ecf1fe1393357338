package judge

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"assay/internal/judge/outcome"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// everything returns a scenario with every kind of expectation.
func everything() *scenarios.Scenario {
	text := scenarios.Bytes{Text: new("hello\n")}
	all := func() *scenarios.Match {
		return &scenarios.Match{
			Status: []int{200, 404}, Headers: map[string]*string{"content-type": new("*"), "x-none": nil},
			Start: new(true), End: &scenarios.EndMatch{Code: []int{0, 1}}, Ends: "once", Events: "start data* end",
			Never:  []scenarios.EventMatch{{Event: "stderr"}, {Event: "error"}},
			Stdout: &scenarios.OutputMatch{Bytes: text, PrefixOf: &text, SuffixOf: &text, Contains: new("ell"), Length: new(int64(6)), Matches: "h"},
			Spread: scenarios.Span{Fixed: time.Microsecond}, Within: scenarios.Span{RTT: 1000}, Gap: scenarios.Span{RTT: 100},
			Conn: "reusable", Compressed: new(false),
			Any: []scenarios.NamedMatch{{Name: "a", Match: scenarios.Match{OK: new(false)}}, {Name: "b", Match: scenarios.Match{OK: new(true)}}},
		}
	}
	body := &scenarios.Match{
		Body:  &scenarios.BodyMatch{Text: new("{}"), JSON: map[string]any{"pid": "${p.pid}"}, JSONHas: []any{1}},
		Lists: []string{"p"}, NotLists: []string{"q"}, NotBefore: scenarios.Span{Fixed: 1},
		Error: &scenarios.ErrorMatch{Code: []string{"not_found"}},
	}
	return &scenarios.Scenario{
		ID: "area.one", Rules: []string{"z.last", "a.first"}, Exclusive: true,
		Expect: []scenarios.Clause{
			{Rule: "r.one", Subjects: map[string]*scenarios.Match{"p": all(), "n": all(), "send": all()}},
			{Rule: "r.two", Subjects: map[string]*scenarios.Match{"b": body, "k": body}},
			{Orders: raceOrders()},
			{Rule: "r.three", Metrics: map[string]string{"started": "+n", "killed": "+1", "finished": "+2n"}},
			{Rule: "r.four", Parity: []string{"p", "n"}, Sequence: []string{"p.start", "b.returned", "p.end", "n.head"}},
		},
	}
}

func everyJudge() *Judge {
	cat := &scenarios.Catalogue{Rules: []*scenarios.Rule{
		{ID: "s.checks", Level: "must", Standing: []string{
			"check:http-trailers", "check:stream-status", "check:stream-content-type", "check:end-stream-once",
			"check:unary-status-by-code", "check:unary-error-content-type", "check:unary-content-type", "check:content-encoding",
			"check:reserved-headers", "check:method-allow", "check:start-first", "check:end-last",
			"check:ndjson-type-and-end", "check:conn-reusable-after-error", "check:metrics-exposition", "check:no-such",
		}},
		{ID: "s.kinds", Level: "should", Standing: []string{
			"envelope.reserved-flags", "end-stream.json", "error.code", "ndjson.json", "http.truncated", "http.extra-bytes", "event.json", "other",
		}},
		{ID: "coppice.metrics.monotone", Level: "must"},
	}}
	return &Judge{Rules: cat, Profile: &scenarios.Profile{ID: "x", Require: []string{"http.1"}, Deviations: map[string]scenarios.Deviation{"r.two": {Reason: "so it is"}}}}
}

func samples() []*bundle.Observation {
	o := races("killed", "exit-first", "mixture")
	o.Scrapes = []bundle.Scrape{scrape("before", 1, 1, 1, 0, 0, 0), scrape("after", 9, 4, 3, 0, 1, 0)}
	long := streamExchange("p")
	long.Outputs["stdout"] = compared(string(make([]byte, 70000)), "hello\n")
	cut := streamExchange("send")
	cut.Outcome, cut.Response, cut.Returned, cut.Violations = bundle.OutcomeReset, nil, nil, []bundle.Violation{{Kind: "http.truncated"}}
	listed := unaryExchange("b")
	listed.Body = new(bundle.NewBlob([]byte(`{"pid":42,"x":[{"pid":1}]}`), nil))
	return []*bundle.Observation{
		o,
		observation(streamExchange("p"), ndjsonExchange("n"), unaryExchange("b")),
		observation(long, cut, withError(listed, 404, "not_found", "gone")),
		{Scenario: "area.one", Skip: &bundle.Skip{Reason: bundle.SkipFeature}},
		{Scenario: "area.one", Interrupted: true},
		{Scenario: "area.one"},
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func TestJudgingIsPure(t *testing.T) {
	j, s, run := everyJudge(), everything(), testRun()
	obs := samples()
	before, script := asJSON(t, obs), everything()
	for i, o := range obs {
		first := j.Scenario(s, run, o)
		if again := j.Scenario(s, run, o); !reflect.DeepEqual(first, again) {
			t.Errorf("sample %d: judged twice, two results:\n%s\n%s", i, asJSON(t, first), asJSON(t, again))
		}
		var stored bundle.Observation
		if err := json.Unmarshal([]byte(asJSON(t, o)), &stored); err != nil {
			t.Fatal(err)
		}
		if from := j.Scenario(s, run, &stored); asJSON(t, from) != asJSON(t, first) {
			t.Errorf("sample %d: from the bundle:\n%s\nlive:\n%s", i, asJSON(t, from), asJSON(t, first))
		}
		for k := 1; k < len(first); k++ {
			if first[k-1].Rule >= first[k].Rule {
				t.Errorf("sample %d: verdicts are not in the order of rules: %s, %s", i, first[k-1].Rule, first[k].Rule)
			}
		}
	}
	verdicts := j.Run(run, obs)
	if !reflect.DeepEqual(verdicts, j.Run(run, obs)) || !reflect.DeepEqual(outcome.Report(run, j.Rules, obs, verdicts), outcome.Report(run, j.Rules, obs, verdicts)) {
		t.Error("the run was judged twice, with two results")
	}
	if asJSON(t, obs) != before {
		t.Error("judging changed an observation")
	}
	if !reflect.DeepEqual(s, script) {
		t.Error("judging changed the scenario")
	}
}

// catalogue returns everything and the embedded scenarios, and adds the embedded rules to j.
func catalogue(t testing.TB, j *Judge) []*scenarios.Scenario {
	t.Helper()
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	j.Rules = &scenarios.Catalogue{Rules: append(j.Rules.Rules, cat.Rules...), Scenarios: cat.Scenarios}
	return append([]*scenarios.Scenario{everything()}, cat.Scenarios...)
}

// sound checks the invariants of the verdicts of any observation: one per rule, with a known
// conclusion and a reason.
func sound(t *testing.T, s *scenarios.Scenario, verdicts []bundle.Verdict) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range verdicts {
		if seen[v.Rule] || v.Conclusion.Rank() == len(bundle.Conclusions()) || v.Level == "" {
			t.Errorf("%s: %+v", s.ID, v)
		}
		if v.Message == "" && v.Conclusion != bundle.Pass {
			t.Errorf("%s: no reason is given: %+v", s.ID, v)
		}
		seen[v.Rule] = true
	}
	for _, id := range s.Rules {
		if !seen[id] {
			t.Errorf("%s: no verdict for %s", s.ID, id)
		}
	}
}

func TestEveryScenarioJudgesAnything(t *testing.T) {
	j := everyJudge()
	for _, s := range catalogue(t, j) {
		for _, o := range samples() {
			sound(t, s, j.Scenario(s, testRun(), o))
		}
	}
}

// FuzzScenario judges arbitrary observations by any scenario: the verdicts are sound.
func FuzzScenario(f *testing.F) {
	for _, o := range samples() {
		f.Add([]byte(asJSON(f, o)), uint8(0))
	}
	f.Add([]byte(`{"iterations":[{"exchanges":[{"name":"p","shape":"stream","outcome":"complete","frames":[{"flags":2}],"events":[{"kind":"end","frame":-9},{"kind":"data","frame":99,"stream":"stdout","off":-5,"len":-1}],"outputs":{"stdout":{"len":-3,"data":"aGk="},"stderr":null}}]}]}`), uint8(1))
	f.Add([]byte(`{"iterations":[{"exchanges":[{"name":"p","outputs":{"stdout":{"len":90000,"diff":{"off":-9,"from":7}}},"response":null}]}]}`), uint8(2))
	j, run := everyJudge(), testRun()
	all := catalogue(f, j)
	f.Fuzz(func(t *testing.T, p []byte, which uint8) {
		var o bundle.Observation
		if json.Unmarshal(p, &o) != nil {
			return
		}
		var verdicts []bundle.Verdict
		for _, s := range []*scenarios.Scenario{all[0], all[int(which)%len(all)]} {
			vs := j.Scenario(s, run, &o)
			sound(t, s, vs)
			verdicts = append(verdicts, vs...)
		}
		obs := []*bundle.Observation{&o}
		outcome.Report(run, j.Rules, obs, append(verdicts, j.Run(run, obs)...))
		for i := range o.Iterations {
			Order(raceOrders(), run, &o.Iterations[i])
		}
	})
}
