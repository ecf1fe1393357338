package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"assay/fakes/gateway"
	"assay/internal/engine"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/target/transport"
	"assay/internal/testkit"
	"assay/scenarios"
)

// run runs scripts against the reference gateway, with calibration and probes as in a
// real run.
func run(t *testing.T, jobs int, scripts ...string) []*bundle.Observation {
	t.Helper()
	var instances []scenarios.Instance
	for _, text := range scripts {
		s, err := scenarios.Parse("test.yaml", []byte("title: A test\nrules: [test.rule]\n"+text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, axes := range s.Permutations() {
			instances = append(instances, scenarios.Instance{Scenario: s, Axes: axes})
		}
	}
	all := runInstances(t, jobs, instances)
	for _, o := range all {
		if o.Defect != "" || o.Skip != nil {
			t.Fatalf("%s: defect %q, skip %+v", o.Scenario, o.Defect, o.Skip)
		}
	}
	return all
}

func runInstances(t *testing.T, jobs int, instances []scenarios.Instance) []*bundle.Observation {
	t.Helper()
	gw, err := gateway.Start(t.Context(), gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	}()
	tgt, err := target.New(target.Options{URL: gw.URL(), Embedded: true})
	if err != nil {
		t.Fatal(err)
	}
	clock := transport.NewClock()
	cal, err := tgt.Calibrate(t.Context(), clock)
	if err != nil {
		t.Fatal(err)
	}
	features, err := tgt.Probe(t.Context(), clock, cal)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := scenarios.LoadProfile("full")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	all := engine.Start(t.Context(), engine.Options{
		Target: tgt, Clock: clock, Profile: profile,
		Run: &bundle.Run{ID: "run1", Seed: 1, Jobs: jobs, Calibration: cal, Features: features},
	}, instances).Observations()
	t.Logf("%d instances in %v (round trip %v, spawn %v)", len(instances), time.Since(began), time.Duration(cal.RTT), time.Duration(cal.Spawn))
	checkNothingLeft(t, gw.URL())
	return all
}

// checkNothingLeft waits for processes that exit a moment later; a process that is left
// behind stays for ever.
func checkNothingLeft(t *testing.T, url string) {
	t.Helper()
	testkit.Eventually(t, func() error {
		if active := get(t, url+"/metrics"); !strings.Contains(active, "coppice_commands_active 0") {
			return fmt.Errorf("processes were left behind:\n%s", active)
		}
		return nil
	})
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestTheReferenceGatewayRunsAProcessOnAllAxes(t *testing.T) {
	t.Parallel()
	all := run(t, 4, `
id: test.axes
axes: {codec: [json, proto], compression: [identity, gzip]}
steps:
  - start: {as: p, sh: 'read x; echo "got $x" >&2; seq 1 3; exit 4'}
  - list: {as: l}
  - connect: {as: q, to: p}
  - input: {to: p, data: "hi\n"}
  - await: {on: q, event: end}
expect:
  p: {end: {code: 4}, stdout: "1\n2\n3\n", stderr: "got hi\n"}
`)
	if len(all) != 4 {
		t.Fatalf("%d observations, want 4", len(all))
	}
	for _, o := range all {
		it := o.Iterations[0]
		p := it.Exchange("p")
		if p.Outcome != bundle.OutcomeComplete || len(p.Violations) != 0 || p.EndStream == nil {
			t.Errorf("%v: outcome %q, violations %v", o.Axes, p.Outcome, p.Violations)
		}
		if out := p.Outputs["stdout"]; out == nil || string(out.Data) != "1\n2\n3\n" || out.Diff != nil {
			t.Errorf("%v: stdout %+v", o.Axes, out)
		}
		if len(it.Processes) != 1 || it.Processes[0].Ended == nil {
			t.Errorf("%v: processes %+v", o.Axes, it.Processes)
		}
	}
}

const killRace = `
id: test.kill-races-exit
needs: [process.start, process.input, process.signal, metrics.prometheus]
exclusive: true
repeat: {times: 40, parallel: 8}
sweep: {d: -2rtt..+2rtt}
steps:
  - start: {as: p, sh: 'read x'}
  - race: {at: now, offset: $d, a: {input: {to: p, data: "\n"}}, b: {signal: {to: p, name: SIGKILL}}}
expect:
  orders:
    killed:     {b: ok,        p: {end: {signal: SIGKILL}}, min: 5}
    exit-first: {b: not_found, p: {end: {code: 0}},         min: 5}
  each p: {ends: once}
  metrics: {started: +n, finished: +n, active: +0}
`

func TestTheKillRaceHitsBothOrdersOfTheReferenceGateway(t *testing.T) {
	o := run(t, 4, killRace)[0]
	orders := map[string]int{}
	for _, it := range o.Iterations {
		b, p := it.Exchange("b"), it.Exchange("p")
		end := p.Events[len(p.Events)-1].Exit
		switch {
		case b.Error == nil && end.Signal == "SIGKILL":
			orders["killed"]++
		case b.Error != nil && end.Code == 0:
			orders["exit-first"]++
		default:
			t.Errorf("iteration %d: the kill was answered with %v, the end is %+v", it.Index, b.Error, end)
		}
	}
	t.Logf("%d iterations: %v", len(o.Iterations), orders)
	if orders["killed"] < 5 || orders["exit-first"] < 5 || o.BudgetSpent {
		t.Errorf("orders %v, budget spent: %v", orders, o.BudgetSpent)
	}
	if len(o.Scrapes) != 2 || o.Scrapes[0].Name != "before" || o.Scrapes[1].Name != "after" || o.Scrapes[1].Iteration != -1 {
		t.Fatalf("%d scrapes", len(o.Scrapes))
	}
	if !strings.Contains(string(o.Scrapes[1].Body), "coppice_commands_active 0") {
		t.Errorf("the last scrape: %s", o.Scrapes[1].Body)
	}
}

func TestTheWholeCatalogueRunsWithoutADefectAndStaysSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() || testkit.Slowdown > 1 && os.Getenv("ASSAY_NIGHTLY") == "" {
		t.Skip("takes seconds, and minutes under the race detector")
	}
	catalogue, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	instances, err := catalogue.Select("")
	if err != nil {
		t.Fatal(err)
	}
	const most, mean = 8 << 20, 128 << 10 // bytes per observation; two hundred listings of a directory take four million
	size := 0
	var longest time.Duration
	for _, o := range runInstances(t, 0, instances) {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
		if len(text) > most {
			t.Errorf("%s on %s takes %d bytes, want at most %d", o.Scenario, o.Axes, len(text), most)
		}
		longest = max(longest, time.Duration(o.Ended.T-o.Started.T))
		if o.Defect != "" {
			t.Errorf("%s on %s: %s", o.Scenario, o.Axes, o.Defect)
		}
	}
	t.Logf("%d bytes of observations, the longest took %v", size, longest)
	if size > mean*len(instances) {
		t.Errorf("the %d observations take %d bytes, want at most %d each", len(instances), size, mean)
	}
}
