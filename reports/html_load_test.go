package reports

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// charted is the report of a load run with a timeline and curves.
func charted() *bundle.LoadReport {
	r := loaded()
	for i := range int64(60) {
		m := bundle.LoadMoment{FromMS: i * 1000, ToMS: (i + 1) * 1000, Warmup: i < 5, Due: 100, Begun: 100 - i%3, Open: 50 * i}
		m.FirstEvent = bundle.Latency{Count: 100, P50: 900 + i, P99: 4000, Max: 9000 + 1000*i}
		r.Timeline = append(r.Timeline, m)
	}
	r.Timeline[30].Outcomes[bundle.StreamCorrupt] = 3
	for _, metric := range []string{"first_event", "first_event/short"} {
		r.Curves = append(r.Curves, bundle.LoadCurve{Metric: metric, Points: []bundle.LoadPoint{
			{Quantile: 0.5, Value: 900}, {Quantile: 0.9, Value: 1200}, {Quantile: 0.99, Value: 4000}, {Quantile: 1, Value: 68000},
		}})
	}
	return r
}

func parsedLoad(t *testing.T, r *bundle.LoadReport) []element {
	t.Helper()
	var b bytes.Buffer
	if err := Load().Render(&b, FormatHTML, r, Style{}); err != nil {
		t.Fatal(err)
	}
	return parsedPage(t, b.Bytes())
}

func TestThePageOfALoadRunIsWellMade(t *testing.T) {
	boxes := charted()
	boxes.Sandboxes = &bundle.LoadSandboxes{ControlPlane: "http://cp", Wanted: 3, Created: 2, Failed: 1, Messages: []string{"refused"}}
	boxes.Metrics = bundle.LoadMetrics{Scraped: 2, Before: &bundle.LoadCounters{Started: 1}, After: &bundle.LoadCounters{Started: 5001}}
	for name, r := range map[string]*bundle.LoadReport{
		"with charts": charted(), "without": loaded(), "of nothing": {}, "of sandboxes": boxes,
		"interrupted": {Verdict: bundle.LoadInconclusive, Interrupted: true, Reasons: []string{"the run was interrupted"}},
	} {
		t.Run(name, func(t *testing.T) {
			page := parsedLoad(t, r)
			inert(t, page)
			wellMade(t, page)
		})
	}
}

func TestChartsAreDrawnOfWhatARunHas(t *testing.T) {
	page := parsedLoad(t, charted())
	var ids []string
	for _, f := range named(page, "figure") {
		ids = append(ids, f.attrs["data-chart"])
	}
	// No gap and no driver lag was measured.
	if got, want := strings.Join(ids, " "), "curve curve-class rate open first-event failed"; got != want {
		t.Errorf("the charts are %q, want %q", got, want)
	}
	if text := byID(t, page, "chart-curve").text; !strings.Contains(text, "99") || !strings.Contains(text, "first event") {
		t.Errorf("the curve is %q", text)
	}
	if text := byID(t, page, "chart-rate").text; !strings.Contains(text, "warm-up") || !strings.Contains(text, "due") {
		t.Errorf("the chart of rates is %q", text)
	}
	for name, r := range map[string]*bundle.LoadReport{"no charts": loaded(), "no samples": {Curves: []bundle.LoadCurve{{Metric: "gap"}}}} {
		if got := named(parsedLoad(t, r), "figure"); len(got) != 0 {
			t.Errorf("%s: %d figures", name, len(got))
		}
	}
}

func TestALongRunIsInMinutes(t *testing.T) {
	r := charted()
	for i := range r.Timeline {
		r.Timeline[i].FromMS *= 60
		r.Timeline[i].ToMS *= 60
	}
	if text := byID(t, parsedLoad(t, r), "chart-rate").text; !strings.Contains(text, "minutes since") {
		t.Errorf("the chart is %q", text)
	}
}

// tested is the result of a self-test with a survivor, a blamed variant and unrelated blame.
func tested() *bundle.SelftestReport {
	return &bundle.SelftestReport{
		Score: 0.5, Exit: 1, Survivors: []string{"tail-kept"}, IdleScenarios: []string{"process.idle"},
		Faults: []bundle.FaultResult{
			{ID: "tail-lost", Title: "The last output is lost", Breaks: []string{"process.output.complete"}, Source: "a bug", Killed: true, By: []string{"process.output.tail"},
				Saw: "stdout ends early", Causes: []string{"a", "b", "c"}, Blame: []bundle.Blame{{Rule: "x.y", Cause: "x.y", Message: "unrelated"}}, Unattached: 1},
			{ID: "tail-kept", Title: "Nothing is wrong", Breaks: []string{"process.output.exact"}, Saw: "nothing"},
		},
		Variants: []bundle.VariantResult{{ID: "odd", Failing: []string{"process.odd"}}, {ID: "even", Clean: true, Once: []string{"process.once"}}},
	}
}

func TestThePageOfASelfTest(t *testing.T) {
	var b bytes.Buffer
	if err := Selftest().Render(&b, FormatHTML, tested(), Style{}); err != nil {
		t.Fatal(err)
	}
	page := parsedPage(t, b.Bytes())
	inert(t, page)
	wellMade(t, page)
	for id, parts := range map[string][]string{
		"main":            {"process.idle", "failed once, passed when run alone: process.once"},
		"survivors":       {"tail-kept", "it breaks process.output.exact", "saw nothing"},
		"blamed":          {"tail-lost", "x.y: saw unrelated", "tail-lost301", "at most 3 causes"},
		"fault-tail-lost": {"killed", "The last output is lost", "from a bug", "process.output.tail", "stdout ends early"},
		"blamed-variants": {"odd", "BLAMED", "process.odd"},
	} {
		text := byID(t, page, id).text
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", id, part, text)
			}
		}
	}
	if got := named(page, "header")[0].text; !strings.Contains(got, "Not trusted") || !strings.Contains(got, "A fault survived") || !strings.Contains(got, "1 of 2 faults killed (50 %)") {
		t.Errorf("the header is %q", got)
	}
}
