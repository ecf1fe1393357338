package suites

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/internal/testkit"
)

// fronted starts a gateway behind a handler that answers the requests for which refuse returns a status.
func fronted(t *testing.T, refuse func(r *http.Request) int) *gateway.Gateway {
	t.Helper()
	return gatewayWith(t, zoo.Options{Options: gateway.Options{Seams: gateway.Seams{Front: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			status := refuse(r)
			switch status {
			case 0:
				next.ServeHTTP(w, r)
			case http.StatusTooManyRequests:
				w.WriteHeader(status)
			default:
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
			}
		})
	}}}})
}

// once returns a function that returns a status for the first request of a scenario.
func once(scenario string, status int) func(*http.Request) int {
	var done atomic.Bool
	return func(r *http.Request) int {
		if strings.Contains(r.UserAgent(), "("+scenario+";") && !done.Swap(true) {
			return status
		}
		return 0
	}
}

// all returns a function that returns a status for every request of the scenarios, but not for those before them.
func all(status int) func(*http.Request) int {
	return func(r *http.Request) int {
		if !strings.Contains(r.UserAgent(), "(probe;") && !strings.Contains(r.UserAgent(), "(calibrate;") {
			return status
		}
		return 0
	}
}

// A gateway is not blamed for what refuses its requests before it sees them. A rate limit breaks no rule; what answers in
// its place is one cause.
func TestWhatRefusesRequestsIsNotTheGateway(t *testing.T) {
	const axis = ",axis:connect/json/1.1/identity"
	for _, c := range []struct {
		name, selection string
		refuse          func(*http.Request) int
		fails           []string
		limited         bool
		undecided       bool
	}{
		{"one request too many", "process.list.*" + axis, once("process.list.running", http.StatusTooManyRequests), nil, true, false},
		{"one request has the page of a proxy", "process.list.*" + axis, once("process.list.running", http.StatusBadGateway), []string{"run.front-answers"}, false, false},
		{"every Update is unavailable", "process.pty.size" + axis, func(r *http.Request) int {
			if r.URL.Path == "/process.Process/Update" {
				return http.StatusServiceUnavailable
			}
			return 0
		}, []string{"process.pty.resize"}, false, false},
		{"too many, always", "connect.unary.not-found" + axis, all(http.StatusTooManyRequests), nil, false, true},
		{"unavailable since the first scenario", "connect.unary.not-found" + axis, all(http.StatusServiceUnavailable), nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := Run(t.Context(), Options{Target: target.Options{URL: fronted(t, c.refuse).URL(), TimeScale: testkit.Slowdown}, Profile: "full", Select: c.selection, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			var fails []string
			for _, v := range out.Verdicts {
				if v.Conclusion.FailsRun() && v.Scenario != "" || v.Rule == "run.front-answers" {
					fails = append(fails, v.Rule)
				}
			}
			slices.Sort(fails)
			if fails = slices.Compact(fails); !slices.Equal(fails, c.fails) {
				t.Errorf("%v fail, want %v: %+v", fails, c.fails, out.Verdicts)
			}
			a := out.Run.Admission
			if a == nil || c.limited != (a.Limit.Settled > 0) {
				t.Errorf("admission %+v", a)
			}
			t.Logf("%+v", a)
			if n := out.Report.Counts[bundle.Inconclusive]; n > 0 != c.undecided || strings.Contains(strings.Join(out.Report.Notes, "\n"), "in every try") != c.undecided {
				t.Errorf("%d runs are inconclusive; want any: %v; notes %q", n, c.undecided, out.Report.Notes)
			}
		})
	}
}
