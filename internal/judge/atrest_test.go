package judge

import (
	"fmt"
	"testing"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// A gauge that is always one too high has correct differences and a wrong value.
func TestAtRestTheGaugeIsWhatListShows(t *testing.T) {
	cat := &scenarios.Catalogue{Rules: []*scenarios.Rule{{ID: "coppice.metrics.at-rest", Level: "must", Standing: []string{"check:metrics-at-rest"}}}}
	lists := func(s *scripted, pids string) {
		x := unaryExchange("list")
		x.RPC, x.Body = "process.Process/List", new(bundle.NewBlob([]byte(`{"processes":[`+pids+`]}`), nil))
		s.add(x, "list", "list", "steps[0]")
	}
	two := `{"pid":1},{"pid":2}`
	for _, tc := range []struct {
		name          string
		before, after string
		active        int
		between       bool
		beside        []string
		want          string
	}{
		{"as many as listed", two, two, 2, false, nil, "pass"},
		{"one too many", two, two, 3, false, nil, "fail"},
		{"the list changed meanwhile", two, `{"pid":1}`, 3, false, nil, ""},
		{"another request meanwhile", two, two, 3, true, nil, ""},
		{"other scenarios meanwhile", two, two, 3, false, []string{"b.two"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &scripted{t: t}
			lists(s, tc.before)
			if tc.between {
				s.call("k", "signal", "steps[1]", "")
			}
			scrape := bundle.Scrape{Name: "rest", Sent: s.stamp(), Received: s.stamp(), Status: 200, Body: fmt.Appendf(nil, "# TYPE coppice_commands_active gauge\ncoppice_commands_active %d\n", tc.active)}
			lists(s, tc.after)
			o := observation()
			o.Iterations, o.Scrapes, o.Beside = []bundle.Iteration{s.it}, []bundle.Scrape{scrape}, tc.beside
			got := ""
			for _, v := range (&Judge{Rules: cat}).Scenario(&scenarios.Scenario{ID: "area.one"}, testRun(), o) {
				got = string(v.Conclusion)
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
