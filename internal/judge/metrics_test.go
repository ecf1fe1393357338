package judge

import (
	"fmt"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// scrape writes an exposition: started, ok, error, killed, active.
func scrape(name string, n int64, started, ok, failed, killed, active int) bundle.Scrape {
	body := fmt.Sprintf(`# TYPE coppice_commands_started_total counter
coppice_commands_started_total %d
# TYPE coppice_commands_finished_total counter
coppice_commands_finished_total{status="ok"} %d
coppice_commands_finished_total{status="error"} %d
coppice_commands_finished_total{status="killed"} %d
# TYPE coppice_commands_active gauge
coppice_commands_active %d
`, started, ok, failed, killed, active)
	return bundle.Scrape{
		Name: name, Iteration: -1, Status: 200, Body: []byte(body),
		Sent: bundle.Stamp{T: n, N: n}, Received: bundle.Stamp{T: n + 1, N: n + 1},
	}
}

func TestMetricsClause(t *testing.T) {
	s := scenarioOf(scenarios.Clause{Metrics: map[string]string{"started": "+n", "finished": "+2", "active": "+0"}})
	s.Exclusive = true
	cases := []struct {
		name    string
		after   bundle.Scrape
		change  func(*bundle.Observation)
		want    bundle.Conclusion
		message string
	}{
		{name: "all as wanted", after: scrape("after", 20, 12, 11, 0, 1, 0), want: bundle.Pass},
		{name: "a start that was refused", after: scrape("after", 20, 12, 11, 0, 2, 0), want: bundle.Inconclusive, change: func(o *bundle.Observation) {
			x := streamExchange("r")
			x.Op, x.Events, x.Error = "start", nil, &bundle.RPCError{Code: "internal"}
			o.Iterations[0].Exchanges = append(o.Iterations[0].Exchanges, *x)
		}, message: "not judged: r did not start: HTTP 200, error internal"},
		{name: "a command of the alias that was refused", after: scrape("after", 20, 12, 11, 0, 2, 0), want: bundle.Inconclusive, change: func(o *bundle.Observation) {
			o.Iterations[0].Exchanges = append(o.Iterations[0].Exchanges, bundle.Exchange{
				Name: "r", Op: "start", Shape: bundle.ShapeNDJSON, Outcome: bundle.OutcomeComplete, Response: &bundle.Response{Status: 500},
			})
		}, message: "not judged: r did not start: HTTP 500"},
		{name: "a kill counted twice", after: scrape("after", 20, 12, 11, 0, 2, 0), want: bundle.Fail,
			message: "metrics: finished: want +2, saw +3 (10 → 13); the driver started 2: ok 2, error 0, killed 0, open 0"},
		{name: "a kill counted twice that also lowers the gauge twice", after: scrape("after", 20, 12, 11, 0, 2, -1), want: bundle.Fail,
			message: "metrics: active: want +0, saw -1 (0 → -1); finished: want +2, saw +3 (10 → 13); the driver started 2: ok 2, error 0, killed 0, open 0"},
		{name: "foreign traffic", after: scrape("after", 20, 15, 15, 0, 0, 0), want: bundle.Inconclusive,
			message: "metrics: foreign traffic: started moved by 5, this driver started 2 (finished: want +2, saw +5 (10 → 15); started: want +2, saw +5 (10 → 15))"},
		{name: "foreign traffic does not excuse counters that do not add up", after: scrape("after", 20, 15, 15, 0, 1, 0), want: bundle.Fail,
			message: "metrics: finished: want +2, saw +6 (10 → 16); started: want +2, saw +5 (10 → 15); the driver started 2: ok 2, error 0, killed 0, open 0"},
		{name: "no scrape at all", after: scrape("other", 20, 0, 0, 0, 0, 0), want: bundle.Inconclusive,
			message: `metrics: there is no scrape "after"`},
		{name: "a scrape that failed", after: scrape("after", 20, 0, 0, 0, 0, 0), want: bundle.Inconclusive,
			change:  func(o *bundle.Observation) { o.Scrapes[1].Err = "connection refused" },
			message: `metrics: the scrape "after" failed: connection refused`},
		{name: "a scrape that was refused", after: scrape("after", 20, 0, 0, 0, 0, 0), want: bundle.Fail,
			change:  func(o *bundle.Observation) { o.Scrapes[1].Status = 500 },
			message: `metrics: the scrape "after" was answered with HTTP 500`},
		{name: "a series that is absent", after: scrape("after", 20, 12, 12, 0, 0, 0), want: bundle.Fail,
			change: func(o *bundle.Observation) {
				o.Scrapes[1].Body = []byte("coppice_commands_started_total 12\ncoppice_commands_finished_total{status=\"ok\"} 12\n")
			},
			message: "metrics: active: the series coppice_commands_active is absent; the driver started 2: ok 2, error 0, killed 0, open 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := observation(streamExchange("p"))
			o.Iterations = append(o.Iterations, observation(streamExchange("p")).Iterations...)
			o.Scrapes = []bundle.Scrape{scrape("before", 10, 10, 10, 0, 0, 0), c.after}
			if c.change != nil {
				c.change(o)
			}
			wantVerdict(t, judgeOne(t, s, o), c.want, c.message)
		})
	}
}

func TestMetricsThatTheScriptMisspells(t *testing.T) {
	s := scenarioOf(scenarios.Clause{Metrics: map[string]string{"begun": "+1"}})
	o := observation(streamExchange("p"))
	o.Scrapes = []bundle.Scrape{scrape("before", 10, 1, 1, 0, 0, 0), scrape("after", 20, 2, 2, 0, 0, 0)}
	wantVerdict(t, judgeOne(t, s, o), bundle.Error, `metrics: the script wants "+1" of "begun", which is not understood`)
}
