package load

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"assay/internal/target"
	"assay/scenarios"
)

// exprPlace is the place of an error in a threshold.
var exprPlace = regexp.MustCompile(`\n  (\d+):(\d+): `)

// bearable is longer than any parse or decision of a limited input takes on a machine that stands still for seconds.
const bearable = 30 * time.Second

func FuzzThreshold(f *testing.F) {
	for _, text := range []string{
		`first_event.p99 < duration("250ms")`, `double(outcomes.ok) / double(streams.completed) > 0.97`, `classes.held_open.failed == 1 || gap.count == 0`,
		`[first_event.p99, gap.max].all(x, x < duration("1s"))`, `streams.completed / outcomes.killed > 1`, `first_event.p99`, `streams.failed == 0 &&` + "\n outcomes.x>0",
		nested, `"a".matches("(a*)*b") || streams.failed == 0`,
		`google.protobuf.Duration{seconds: 1} == google.protobuf.Duration{}`, `type(1) == google.protobuf.Timestamp`, `has(streams.ok)`, `duration("") < gap.max`, "\x00", "((((((",
	} {
		f.Add(text)
	}
	report := measured()
	names := namesOf(Names{Classes: []string{"held-open", "short"}})
	f.Fuzz(func(t *testing.T, text string) {
		begun := time.Now()
		all, err := CompileThresholds([]Condition{{Expr: text}}, Names{Classes: []string{"held-open", "short"}})
		if (all == nil) == (err == nil) {
			t.Fatalf("%v, %v", all, err)
		}
		if err != nil {
			if message := err.Error(); !strings.Contains(message, "threshold") || len(message) > (2*maxExprError+5)*maxExpr {
				t.Fatalf("an error of %d bytes: %.1000s", len(message), message)
			} else if strings.Contains(message, "cannot be used") && !exprPlace.MatchString(message) {
				t.Fatalf("an error without a place: %s", message)
			}
			return
		}
		got := all.Judge(report)
		if took := time.Since(begun); took > bearable {
			t.Fatalf("it took %v", took)
		}
		if len(got) != 1 || got[0].Expr != text || got[0].Observed == "" || (got[0].OK == nil) == (got[0].Why == "") {
			t.Fatalf("%+v", got)
		}
		for _, name := range all.list[0].uses {
			if _, known := names[name]; !known || !strings.Contains(got[0].Observed, name+" = ") {
				t.Fatalf("%q, which is not a figure, or not shown: %+v", name, got)
			}
		}
		if again := all.Judge(report); !reflect.DeepEqual(again, got) {
			t.Fatalf("first %+v, then %+v", got, again)
		}
	})
}

func FuzzPlan(f *testing.F) {
	for _, text := range []string{
		"classes: [{name: a}]", "streams: 1000\nramp: 10s\nclasses: [{name: a, lines: 3}, {name: b, share: 1e-300, hold: 1s}]",
		"stages: [{duration: 10s, from: 0, to: 100}, {duration: 1s, rate: 0}, {duration: 1m, rate: 1000000}]\narrivals: poisson\nclasses: [{name: a, kill_share: 0.5, disconnect_share: 0.5}]",
		"rate: 1e-300\ncount: 1000000000000\nclasses: [{name: a, protocol: grpc, stdin: x}]", "rate: 1000000\nduration: 2562047h\narrivals: poisson\nclasses: [{name: a}]",
		"http: h2c\nthresholds: [{expr: classes.a.failed == 0, abort: true, delay: 1s}]\nclasses: [{name: a, command: x, expect: none, silence: 2562047h}, {name: a-b, protocol: ndjson}]",
		"http: h2-tls\nclasses: [{name: a}]", "classes: [{name: a, command: x, interval: 2562047h}]", "duration: 1\nclasses: [{name: a}]",
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	file := filepath.Join(f.TempDir(), "plan.yaml")
	tg, err := target.New(target.Options{URL: "http://127.0.0.1:1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, part bool) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		o := Options{Plan: file, Target: target.Options{URL: "http://127.0.0.1:1", TimeScale: 1}}
		if part {
			o.Target.TimeScale = 1000
		}
		r, err := o.resolved()
		var script *scenarios.ScriptError
		if err != nil {
			w, refused := scenarios.ReadWorkload(file)
			if refused != nil && (!errors.As(err, &script) || !strings.HasPrefix(err.Error(), file+":")) {
				t.Fatalf("an error without a place: %v", err)
			}
			if refused == nil && w.HTTP != H2TLS {
				t.Fatalf("the file is right, but the plan is not: %v", err)
			}
			return
		}
		p, err := r.plan(Dialect{Target: tg, Run: "r"})
		if err != nil {
			t.Fatal(err)
		}
		if part {
			p.Part, p.Parts = 1, 3
		}
		canBeDriven(t, p)
		if took := time.Since(begun); took > bearable {
			t.Fatalf("it took %v", took)
		}
	})
}

// canBeDriven checks what an engine relies on: numbers and times that are not negative, and starts that follow one another.
func canBeDriven(t *testing.T, p *Plan) {
	t.Helper()
	wanted := p.Wanted()
	if wanted < 0 || p.Duration < 0 || p.Duration == 0 && p.Count == 0 || p.Limits.KillAll <= 0 || p.Limits.KillAll > time.Hour {
		t.Fatalf("%d streams within %v, %+v", wanted, p.Duration, p.Limits)
	}
	pacer := p.Pacer()
	last := time.Duration(0)
	for n := range 50 {
		at, ok := pacer.At(n)
		if !ok {
			break
		}
		if at < last || (p.Parts < 2 && at < p.Duration && n >= wanted && p.Count == 0 && p.Open()) {
			t.Fatalf("stream %d of %d begins at %v, after %v", n, wanted, at, last)
		}
		last = at
		part := p.Stream(int64(n))
		c := p.Classes[part.Class]
		if part.After < 0 || part.Kill && part.Disconnect || part.Kill && c.KillShare+c.Hold.Seconds() == 0 || part.Disconnect && c.DisconnectShare == 0 {
			t.Fatalf("stream %d: %+v of %+v", n, part, c)
		}
	}
	for i := range p.Classes {
		if c := &p.Classes[i]; c.Silence < 0 || defaultSilence(c.Interval) < min(c.Interval, never) || c.Dialect.Command == "" || c.Name == "" {
			t.Fatalf("%+v", c)
		}
	}
}
