package load

import (
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// measured returns a report with figures for thresholds.
func measured() *bundle.LoadReport {
	r := &bundle.LoadReport{}
	r.Latency.FirstEvent = bundle.Latency{Count: 100, P50: 1000, P90: 2000, P99: 3000, P999: 4000, Max: 5000}
	r.Streams = bundle.LoadStreams{Wanted: 100, Opened: 100, OpenPeak: 60, Completed: 100, Offered: 1}
	r.Streams.Outcomes[bundle.StreamOK], r.Streams.Outcomes[bundle.StreamCorrupt] = 98, 2
	held := bundle.LoadClass{Name: "held-open", Completed: 40}
	held.Outcomes[bundle.StreamCorrupt] = 1
	held.Latency.FirstEvent = bundle.Latency{Count: 40, P99: 2500}
	r.Classes = []bundle.LoadClass{held, {Name: "short", Completed: 60}}
	return r
}

// nested would take days.
var nested = strings.Repeat("[1,2,3,4,5,6,7,8,9].all(x, ", 12) + "streams.failed < x + 10" + strings.Repeat(")", 12)

func TestThresholdsAreDecided(t *testing.T) {
	yes, no := true, false
	tests := map[string]struct {
		ok       *bool
		observed string
		why      string
	}{
		`first_event.p99 < duration("250ms")`:                                         {&yes, "first_event.p99 = 3ms", ""},
		`first_event.p99 < duration("2ms")`:                                           {&no, "first_event.p99 = 3ms", ""},
		`first_event.max <= duration("5ms") && first_event.p50 == duration("1000us")`: {&yes, "first_event.max = 5ms, first_event.p50 = 1ms", ""},
		`outcomes.corrupt == 0`:                                                       {&no, "outcomes.corrupt = 2", ""},
		`streams.failed <= 2 && streams.open_peak >= 50`:                              {&yes, "streams.failed = 2, streams.open_peak = 60", ""},
		`double(outcomes.ok) / double(streams.completed) > 0.97`:                      {&yes, "outcomes.ok = 98, streams.completed = 100", ""},
		`gap.p99 < duration("2s")`:                                                    {nil, "gap.p99 = 0s", "gap has no samples"},
		`classes.held_open.first_event.p99 < duration("2ms")`:                         {&no, "classes.held_open.first_event.p99 = 2.5ms", ""},
		`classes.held_open.failed == 1 && classes.short.completed == 60`:              {&yes, "classes.held_open.failed = 1, classes.short.completed = 60", ""},
		`classes.short.gap.p99 < duration("2s")`:                                      {nil, "classes.short.gap.p99 = 0s", "classes.short.gap has no samples"},
		`gap.count == 0`:                                                              {&yes, "gap.count = 0", ""},
		nested:                                                                        {nil, "streams.failed = 2", "cost limit exceeded"},
		`streams.completed / outcomes.killed > 1`:                                     {nil, "outcomes.killed = 0, streams.completed = 100", "division by zero"},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			all, err := CompileThresholds([]Condition{{Expr: text}}, Names{Classes: []string{"held-open", "short"}})
			if err != nil {
				t.Fatal(err)
			}
			got := all.Judge(measured())
			if len(got) != 1 || got[0].Expr != text || got[0].Observed != tt.observed || !strings.Contains(got[0].Why, tt.why) || (got[0].Why == "") != (tt.why == "") {
				t.Errorf("got %+v, want %+v", got, tt)
			}
			if ok := got[0].OK; (ok == nil) != (tt.ok == nil) || ok != nil && *ok != *tt.ok {
				t.Errorf("decided as %v, want %v", ok, tt.ok)
			}
		})
	}
}

func TestThresholdsAreCheckedBeforeTheRun(t *testing.T) {
	for text, want := range map[string][]string{
		`first_event.p99 <`:                        {"1:18", "^"},
		`first_event.p98 < duration("1s")`:         {"1:1", "undeclared", "first_event, from_sent"},
		`first_event.p99 < 250`:                    {"1:17", "no matching overload"},
		`first_event.p99`:                          {"not a condition", "Duration"},
		`outcomes.fine == 0`:                       {"undeclared"},
		`classes.long.gap.p99 < duration("1s")`:    {"undeclared", "classes.NAME"},
		`classes.a.start_lag.p99 < duration("1s")`: {"undeclared"},
		`true`:                                   {"names no figure"},
		`type(1) == google.protobuf.Duration`:    {"names no figure"},
		strings.Repeat(" ", maxExpr) + `true`:    {"10004 bytes long", "at most"},
		``:                                       {"cannot be used"},
		"streams.failed == 0 &&\n  outcomes.x>0": {"2:11", "^"},
	} {
		_, err := CompileThresholds([]Condition{{Expr: `outcomes.ok > 0`}, {Expr: text}}, Names{Classes: []string{"a", "b"}})
		if err == nil {
			t.Errorf("%q is accepted", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v\nwant %q in it", text, err, part)
			}
		}
	}
}
