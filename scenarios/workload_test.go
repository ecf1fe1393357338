package scenarios

import (
	"strings"
	"testing"
	"time"
)

const wholeWorkload = `title: A mix
seed: 7
http: h2c
stages:
  - {duration: 10s, from: 0, to: 100}
  - {duration: 1m, rate: 100}
arrivals: poisson
warmup: 5s
count: 1000
thresholds:
  - first_event.p99 < duration("250ms")
  - {expr: outcomes.reset == 0, abort: true, delay: 2s}
classes:
  - name: held
    share: 3
    hold: 5s
  - name: short
    protocol: grpc-web
    codec: json
    command: cat
    expect: none
    interval: 100ms
    silence: 2s
    kill_share: 0.1
    disconnect_share: 0.2
    within: 50ms
    stdin: "hello\n"
`

func TestAPlanOfLoadIsRead(t *testing.T) {
	w, err := ParseWorkload("plan.yaml", []byte(wholeWorkload))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Stages) != 2 || w.Stages[0].To != 100 || *w.Stages[1].Rate != 100 || w.Warmup != 5*time.Second {
		t.Errorf("%+v", w)
	}
	if want := (WorkloadThreshold{Expr: "outcomes.reset == 0", Abort: true, Delay: 2 * time.Second}); w.Thresholds[1] != want || w.Thresholds[0].Expr != `first_event.p99 < duration("250ms")` {
		t.Errorf("%+v", w.Thresholds)
	}
	c := w.Classes[1]
	if w.Classes[0].Share != 3 || c.Share != 1 || c.KillShare != 0.1 || *c.Stdin != "hello\n" || c.Within != 50*time.Millisecond {
		t.Errorf("%+v", w.Classes)
	}
}

func TestAPlanOfLoadIsCheckedWithPlaces(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"no classes":                     {"streams: 3\n", []string{"plan.yaml:1:1", "classes"}},
		"an unknown field":               {"classes:\n  - name: a\n    shar: 2\n", []string{"plan.yaml:3:5", "shar", "share"}},
		"a span without a unit":          {"duration: 30\nclasses: [{name: a}]\n", []string{"plan.yaml:1:11", "for example 250ms"}},
		"two models":                     {"streams: 3\nrate: 2\nclasses: [{name: a}]\n", []string{"plan.yaml:2:1", "choose one"}},
		"stages and a duration":          {"duration: 3s\nstages: [{duration: 1s, rate: 3}]\nclasses: [{name: a}]\n", []string{"plan.yaml:1:1", "last stage"}},
		"stages and a ramp":              {"ramp: 3s\nstages: [{duration: 1s, rate: 3}]\nclasses: [{name: a}]\n", []string{"plan.yaml:1:1", "as a stage"}},
		"a stage with two rates":         {"stages: [{duration: 1s, rate: 3, to: 4}]\nclasses: [{name: a}]\n", []string{"plan.yaml:1:25", "from and to"}},
		"a stage of no length":           {"stages: [{duration: 0s, rate: 3}]\nclasses: [{name: a}]\n", []string{"plan.yaml:1:11", "no duration"}},
		"stages that never end":          {"stages: [{duration: 2562047h, rate: 3}, {duration: 1h, rate: 3}]\nclasses: [{name: a}]\n", []string{"plan.yaml:1:42", "longer than"}},
		"random starts of a fixed crowd": {"streams: 3\narrivals: poisson\nclasses: [{name: a}]\n", []string{"plan.yaml:2:1", "rate"}},
		"a ramp beyond the end":          {"ramp: 3s\nduration: 1s\nclasses: [{name: a}]\n", []string{"plan.yaml:1:1", "longer"}},
		"nothing but warm-up":            {"warmup: 3s\nduration: 3s\nclasses: [{name: a}]\n", []string{"plan.yaml:1:1", "leaves nothing"}},
		"a name twice":                   {"classes:\n  - name: a\n  - name: a\n", []string{"plan.yaml:3:5", `"a"`}},
		"a share of nothing":             {"classes:\n  - {name: a, share: 0}\n", []string{"plan.yaml:2:22"}},
		"shares above one":               {"classes:\n  - {name: a, kill_share: 0.6, disconnect_share: 0.5}\n", []string{"plan.yaml:2:32", "more than 1"}},
		"a span for nothing":             {"classes:\n  - {name: a, within: 1s}\n", []string{"plan.yaml:2:15", "kill_share"}},
		"input over the alias":           {"classes:\n  - {name: a, protocol: ndjson, stdin: x}\n", []string{"plan.yaml:2:33", "ndjson has no input"}},
		"messages over the alias":        {"classes:\n  - {name: a, protocol: ndjson, codec: proto}\n", []string{"plan.yaml:2:33", "no codec"}},
		"grpc over HTTP/1.1":             {"http: '1.1'\nclasses:\n  - {name: a, protocol: grpc}\n", []string{"plan.yaml:3:15", "h2c"}},
		"two commands":                   {"classes:\n  - {name: a, command: x, lines: 3}\n", []string{"plan.yaml:2:27", "do not go together"}},
		"an expectation of nothing":      {"classes:\n  - {name: a, expect: none}\n", []string{"plan.yaml:2:15", "command of your own"}},
		"an expectation that is none":    {"classes:\n  - {name: a, command: x, expect: maybe}\n", []string{"plan.yaml:2:35", "sha256"}},
		"thinking in the open model":     {"rate: 3\nclasses:\n  - {name: a, think: 1s}\n", []string{"plan.yaml:3:15", "use streams"}},
		"no YAML":                        {"classes: [", []string{"plan.yaml:1:", "not YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseWorkload("plan.yaml", []byte(tt.text))
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q in it", err, want)
				}
			}
		})
	}
	if _, err := ReadWorkload("./no/such.yaml"); err == nil || !strings.Contains(err.Error(), "no/such.yaml") {
		t.Errorf("%v", err)
	}
}
