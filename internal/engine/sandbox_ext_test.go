package engine_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"assay/fakes/controlplane"
	"assay/fakes/gateway"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/scenarios"
)

const apiKey = "e2b_0123456789abcdef0123"

// onPlane runs a script against a control plane, and judges it. It returns the verdict of its
// only rule, the observation, and how many sandboxes are left.
func onPlane(t *testing.T, text string) (bundle.Verdict, *bundle.Observation, int) {
	t.Helper()
	var o gateway.Options
	if err := controlplane.Attach(&o, controlplane.Options{APIKey: apiKey}); err != nil {
		t.Fatal(err)
	}
	gw, err := gateway.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = gw.Close() }()
	tgt, err := target.New(target.Options{URL: gw.URL(), Control: target.Control{APIKey: apiKey}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Parse("test.yaml", []byte("title: A test\nrules: [test.rule]\nid: test.sandbox\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	run := &bundle.Run{ID: "run1", Seed: 1, Features: map[string]bundle.Feature{
		"process.list": {State: bundle.FeaturePresent}, "process.signal": {State: bundle.FeaturePresent},
	}}
	i := scenarios.Instance{Scenario: s, Axes: s.Permutations()[0]}
	got := engine.Start(t.Context(), engine.Options{Target: tgt, Clock: transport.NewClock(), Run: run}, []scenarios.Instance{i}).Observations()[0]
	verdicts := (&judge.Judge{}).Scenario(s, run, got)
	if len(verdicts) != 1 || got.Defect != "" {
		t.Fatalf("defect %q, verdicts %+v", got.Defect, verdicts)
	}
	return verdicts[0], got, sandboxes(t, gw.URL())
}

// sandboxes returns the number of sandboxes of a control plane.
func sandboxes(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v2/sandboxes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", apiKey)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer func() { _ = answer.Body.Close() }()
	var list []any
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestStepsReachTheSandboxThatAnExchangeMade(t *testing.T) {
	t.Parallel()
	v, o, left := onPlane(t, `
steps:
  - send: {as: made, surface: control, method: POST, path: /v2/sandboxes, json: {templateID: base, metadata: {run: "${run}"}}}
  - start: {as: p, in: made, sh: sleep 60}
  - list: {as: inside, in: made}
  - list: {as: outside}
  - send: {as: about, surface: control, path: "/sandboxes/${made.json.sandboxID}"}
  - send: {as: env, in: made, path: /health, headers: {X-Seen: "${made.json.envdAccessToken}"}}
expect:
  made: {status: 201, header-matches: {content-type: json}}
  inside: {lists: p}
  outside: {not-lists: p}
  about: {status: 200, body: {json-has: {sandboxID: "${made.json.sandboxID}", state: running}}}
  env: {status: [200, 204]}
`)
	if v.Conclusion != bundle.Pass {
		t.Errorf("the verdict is %s: %s", v.Conclusion, v.Message)
	}
	if left != 0 {
		t.Errorf("%d sandboxes are left", left)
	}
	checkHidden(t, o)
}

// checkHidden checks that the record has neither the API key nor a token of a sandbox.
func checkHidden(t *testing.T, o *bundle.Observation) {
	t.Helper()
	it := o.Iterations[0]
	made := it.Exchange("made")
	var answer struct{ EnvdAccessToken string }
	if err := json.Unmarshal(made.Body.Data, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.EnvdAccessToken == "" || strings.Trim(answer.EnvdAccessToken, "*") != "" {
		t.Errorf("the recorded token is %q", answer.EnvdAccessToken)
	}
	for i := range it.Exchanges {
		x := &it.Exchanges[i]
		for _, h := range x.Request.Headers {
			secret := strings.EqualFold(h.Name, "X-Api-Key") || strings.EqualFold(h.Name, "X-Access-Token") || strings.EqualFold(h.Name, "X-Seen")
			if secret && strings.Trim(h.Value, "*") != "" {
				t.Errorf("%s: %s: %s is recorded", x.Name, h.Name, h.Value)
			}
			if strings.EqualFold(h.Name, "X-Api-Key") != (x.Surface == "control") && strings.EqualFold(h.Name, "X-Api-Key") {
				t.Errorf("%s has the API key", x.Name)
			}
		}
	}
	if it.Exchange("p").Sandbox != "made" {
		t.Errorf("p is recorded in the sandbox %q", it.Exchange("p").Sandbox)
	}
}

func TestSandboxesAreDeletedAlsoAfterAFailedStep(t *testing.T) {
	t.Parallel()
	v, _, left := onPlane(t, `
deadline: 500ms
steps:
  - send: {as: made, surface: control, method: POST, path: /sandboxes, json: {templateID: base}}
  - start: {as: p, in: made, sh: sleep 60}
  - await: {on: p, output: never}
expect: {p: {start: true}}
`)
	if v.Conclusion == bundle.Error || left != 0 {
		t.Errorf("%d sandboxes are left; the verdict is %s: %s", left, v.Conclusion, v.Message)
	}
}

func TestASandboxThatWasNotMadeKeepsTheRestFromBeingJudged(t *testing.T) {
	v, _, _ := onPlane(t, `
steps:
  - send: {as: made, surface: control, method: POST, path: /sandboxes, json: {templateID: no-such-template}}
  - list: {as: inside, in: made}
expect: {inside: ok}
`)
	if v.Conclusion != bundle.Inconclusive || !strings.Contains(v.Message, "404") {
		t.Errorf("the verdict is %s: %s", v.Conclusion, v.Message)
	}
}
