package load

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/record/bundle"
)

func TestTheBackOffDoublesUpToItsLimit(t *testing.T) {
	for _, tt := range []struct {
		streams, fails int
		whole          time.Duration
	}{
		{1, 1, 200 * time.Millisecond},
		{1, 2, 400 * time.Millisecond},
		{5000, 5, 3200 * time.Millisecond},
		{5000, 6, 5 * time.Second},
		{5000, 255, 5 * time.Second},
		{50_000, 1, 200 * time.Millisecond},
		{50_000, 8, 25600 * time.Millisecond},
		{50_000, 9, 50 * time.Second},
		{1_000_000, 255, 1000 * time.Second},
	} {
		p, fails, whole := &Plan{Schedule: Schedule{Seed: 9, Streams: tt.streams}}, tt.fails, tt.whole
		least, most := time.Hour, time.Duration(0)
		for n := range int64(1000) {
			d := p.Backoff(n, fails)
			least, most = min(least, d), max(most, d)
			if d != p.Backoff(n, fails) {
				t.Fatalf("stream %d waits for %v, and the next time for another time", n, d)
			}
		}
		if least < whole/2 || least > whole*6/10 || most > whole || most < whole*9/10 {
			t.Errorf("%d streams, failure %d: from %v to %v, want from %v to %v", tt.streams, fails, least, most, whole/2, whole)
		}
	}
}

func TestTheDefaultRamp(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		want time.Duration
	}{
		"a stream per millisecond":      {Options{Schedule: Schedule{Streams: 5000, Duration: 20 * time.Second}}, 5 * time.Second},
		"the default number of streams": {Options{}, 100 * time.Millisecond},
		"at most half a minute":         {Options{Schedule: Schedule{Streams: 50_000, Duration: time.Hour}}, 30 * time.Second},
		"at most half of the duration":  {Options{Schedule: Schedule{Streams: 5000, Duration: 2 * time.Second}}, time.Second},
		"a count below the streams":     {Options{Schedule: Schedule{Streams: 5000, Count: 10}}, 10 * time.Millisecond},
		"another one":                   {Options{Schedule: Schedule{Streams: 5000, Duration: 20 * time.Second, Ramp: time.Second}}, time.Second},
		"none":                          {Options{Schedule: Schedule{Streams: 5000, Duration: 20 * time.Second, Ramp: AtOnce}}, 0},
		"a rate":                        {Options{Schedule: Schedule{Rate: 5000}}, 0},
		"a rate that rises at once":     {Options{Schedule: Schedule{Rate: 5000, Ramp: AtOnce}}, 0},
	} {
		r, err := tt.o.resolved()
		if err != nil || r.Ramp != tt.want {
			t.Errorf("%s: %v, %v, want %v", name, r.Ramp, err, tt.want)
		}
	}
	plan := func(ramp string) Options {
		file := filepath.Join(t.TempDir(), "plan.yaml")
		if err := os.WriteFile(file, []byte("streams: 2000\nduration: 20s\nclasses: [{name: a}]\n"+ramp), 0o600); err != nil {
			t.Fatal(err)
		}
		return Options{Plan: file}
	}
	for ramp, want := range map[string]time.Duration{"": 2 * time.Second, "ramp: 0s\n": 0, "ramp: 3s\n": 3 * time.Second} {
		o := plan(ramp)
		r, err := o.resolved()
		if err != nil || r.Ramp != want {
			t.Errorf("a plan with %q: %v, %v, want %v", ramp, r.Ramp, err, want)
		}
	}
}

func TestARunInWhichNothingOpensGivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		at              time.Duration
		failed, started int
		aborted         string
		want            bool
	}{
		"nothing has opened":         {10 * time.Second, 3, 0, "", true},
		"a stream may still open":    {9 * time.Second, 3, 0, "", false},
		"nothing has ended":          {time.Minute, 0, 0, "", false},
		"a stream has opened":        {time.Minute, 3, 1, "", false},
		"the run is ended otherwise": {time.Minute, 3, 0, "a threshold", false},
	} {
		s := &session{plan: &Plan{Limits: DefaultLimits(1)}, sink: newCollector(1, oneClass())}
		for range tt.failed {
			s.sink.Ended(Result{Outcome: bundle.StreamReset})
		}
		for range tt.started {
			s.sink.Started()
		}
		r := &bundle.LoadReport{Aborted: tt.aborted}
		if got := s.hopeless(r, tt.at); got != tt.want || got != (r.Aborted != tt.aborted) {
			t.Errorf("%s: %v, %q", name, got, r.Aborted)
		}
	}
}

func TestRatesAreOfTheScheduleAndOfTheRun(t *testing.T) {
	r := &bundle.LoadReport{DurationMS: 2500, Plan: bundle.LoadPlan{DurationMS: 2000}}
	r.Streams.Begun, r.Streams.Completed, r.Output.Events = 400, 300, 5
	if got, want := ratesOf(r), (bundle.LoadRates{Begun: 200, Completed: 120, Events: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r.Plan.DurationMS = 0
	if got := ratesOf(r).Begun; got != 160 {
		t.Errorf("%g streams per second without a duration, want 160", got)
	}
	if got := ratesOf(&bundle.LoadReport{}); got != (bundle.LoadRates{}) {
		t.Errorf("no time has the rates %+v", got)
	}
}
