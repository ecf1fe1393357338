package load

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

// A long delay of the driver makes a missed threshold undecided; too little offered load, a
// met one.
func TestWhatAThresholdProves(t *testing.T) {
	yes, no := true, false
	tests := map[string]struct {
		expr    string
		lag     int64 // driver_lag.p99 in microseconds
		late    int64 // start_lag.p99
		offered float64
		ok      *bool
		why     string
	}{
		"missed, with little delay":                     {`first_event.p99 < duration("2ms")`, 199, 0, 1, &no, ""},
		"missed, with a delay of over a tenth":          {`first_event.p99 < duration("2ms")`, 201, 0, 1, nil, "driver_lag.p99 = 201µs"},
		"missed, the shortest bound counts":             {`first_event.p99 < duration("2ms") && first_event.max < duration("1h")`, 201, 0, 1, nil, "compared with 2ms"},
		"missed, started late by over a tenth":          {`first_event.p99 < duration("2ms")`, 150, 201, 1, nil, "start_lag.p99 = 201µs"},
		"missed at the end, started late":               {`end_of_stream.p50 < duration("1us")`, 0, 201, 1, nil, "start_lag.p99"},
		"missed, where a late start does not count":     {`gap.p99 < duration("1us")`, 0, 1e6, 1, &no, ""},
		"missed from the sending, started late":         {`from_sent.p99 < duration("1us")`, 0, 1e6, 1, &no, ""},
		"missed by a count, where delay does not count": {`outcomes.corrupt == 0`, 1e6, 0, 1, &no, ""},
		"met, with any delay":                           {`first_event.p99 < duration("4ms")`, 1e6, 0, 1, &yes, ""},
		"met, with nearly all of the load":              {`first_event.p99 < duration("4ms")`, 0, 0, 0.95, &yes, ""},
		"met, with too little of the load":              {`first_event.p99 < duration("4ms")`, 0, 0, 0.94, nil, "only 94 %"},
		"missed, with too little of it":                 {`first_event.p99 < duration("2ms")`, 0, 0, 0.1, &no, ""},
		"missed, the bound is not a literal duration":   {`first_event.p99 < first_event.p50`, 1e6, 0, 1, &no, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := CompileThresholds([]Condition{{Expr: tt.expr}}, Names{})
			if err != nil {
				t.Fatal(err)
			}
			r := measured()
			r.Latency.DriverLag = bundle.Latency{Count: 1, P99: tt.lag}
			r.Latency.StartLag = bundle.Latency{Count: 1, P99: tt.late}
			for _, m := range []Metric{Gap, EndOfStream, FromSent} {
				*latencyAt(&r.Latency, m) = r.Latency.FirstEvent
			}
			r.Streams.Offered = tt.offered
			got := all.Judge(r)[0]
			if (got.OK == nil) != (tt.ok == nil) || got.OK != nil && *got.OK != *tt.ok {
				t.Errorf("decided as %v, want %v: %s", got.OK, tt.ok, got.Why)
			}
			if !strings.Contains(got.Why, tt.why) || (got.Why == "") != (tt.why == "") {
				t.Errorf("because of %q, want %q", got.Why, tt.why)
			}
		})
	}
}

func TestAThresholdEndsARunAfterItsDelay(t *testing.T) {
	tests := map[string]struct {
		c    Condition
		lag  int64
		now  time.Duration
		ends bool
	}{
		"missed, with abort":           {Condition{Expr: `outcomes.corrupt == 0`, Abort: true}, 0, 0, true},
		"missed, without abort":        {Condition{Expr: `outcomes.corrupt == 0`}, 0, time.Hour, false},
		"met":                          {Condition{Expr: `outcomes.corrupt == 2`, Abort: true}, 0, time.Hour, false},
		"missed before the delay":      {Condition{Expr: `outcomes.corrupt == 0`, Abort: true, Delay: time.Second}, 0, 999 * time.Millisecond, false},
		"missed after the delay":       {Condition{Expr: `outcomes.corrupt == 0`, Abort: true, Delay: time.Second}, 0, time.Second, true},
		"without samples":              {Condition{Expr: `gap.p99 < duration("1s")`, Abort: true}, 0, time.Hour, false},
		"missed because of the driver": {Condition{Expr: `first_event.p99 < duration("2ms")`, Abort: true}, 5000, time.Hour, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			all, err := CompileThresholds([]Condition{{Expr: `outcomes.ok > 0`}, tt.c}, Names{})
			if err != nil {
				t.Fatal(err)
			}
			r := measured()
			r.Streams.Offered = 0 // a run in progress has not offered all of its load
			r.Latency.DriverLag = bundle.Latency{Count: 1, P99: tt.lag}
			if got := all.aborts(r, tt.now); (got != nil) != tt.ends || all.mayAbort() != tt.c.Abort {
				t.Errorf("ended by %+v, may abort: %v", got, all.mayAbort())
			}
		})
	}
}
