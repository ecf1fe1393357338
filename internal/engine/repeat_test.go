package engine

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/scenarios"
)

func TestTheTimeForAllIterationsGrowsWithTheirNumber(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		again  int
		scale  float64
		want   time.Duration
	}{
		"once":                             {"deadline: 1s\nrepeat: {budget: 5s}", 1, 1, 17 * time.Second},
		"several times":                    {"deadline: 1s\nrepeat: {times: 3, budget: 5s}", 10, 1, 125 * time.Second},
		"the longest span most often":      {"deadline: 1000h", 10000, 1, mostWhole},
		"on the slowest target":            {"deadline: 1000h\nrepeat: {budget: 1000h}", 10000, 1000, mostWhole},
		"the default deadline most slowly": {"slow: 1000h", 10000, 1000, mostWhole},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "http://127.0.0.1:1")
			b.options.Run.Calibration.TimeScale = tc.scale
			s := parse(t, "id: test.one\n"+tc.script+"\nsteps: [{list: {as: l}}]")
			in := newInstance(newEnv(b.options), scenarios.Instance{Scenario: s})
			in.again = tc.again
			if got := newRepeater(in).whole; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// flaky is a gateway that answers some of its Starts with 500.
func flaky(t *testing.T, fails func(n int64) bool) *bench {
	t.Helper()
	gw := newMiniature(t)
	var starts atomic.Int64
	handler := gw.Config.Handler
	gw.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/Start") && fails(starts.Add(1)) {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	})
	return newBench(t, gw.URL)
}

func TestRepeatingEndsWhenIterationsAreWrongInTheSameWay(t *testing.T) {
	t.Parallel()
	const script = "repeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: {p: {end: {code: 0}}}"
	for name, tc := range map[string]struct {
		fails  func(n int64) bool
		script string
		want   int
	}{
		"all of them":       {func(int64) bool { return true }, script, maxAlike},
		"from the third on": {func(n int64) bool { return n > 2 }, script, 2 + maxAlike},
		"every second":      {func(n int64) bool { return n%2 == 0 }, script, 60},
		"never":             {func(int64) bool { return false }, script, 60},
		"an expected failure is not counted": {
			func(int64) bool { return true },
			"repeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: {p: {status: 500}}", 60,
		},
		"another rule may still be broken": {
			func(int64) bool { return true },
			"rules: [test.rule, test.other]\nrepeat: {times: 60}\nsteps: [{start: {as: p, sh: exit 0}}]\nexpect: [{rule: test.rule, p: {end: {code: 0}}}, {rule: test.other, p: {status: 500}}]", 60,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := flaky(t, tc.fails).run(tc.script)
			if len(o.Iterations) != tc.want {
				t.Errorf("%d iterations, want %d: %s", len(o.Iterations), tc.want, o.Stopped)
			}
			if cut := tc.want < 60; cut != strings.Contains(o.Stopped, "5 in succession had failed in the same way, at their first Start: complete 500") {
				t.Errorf("stopped %q", o.Stopped)
			}
		})
	}
}
