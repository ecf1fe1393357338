package reports

import (
	"io"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// The elements of a report in the Common Test Report Format, CTRF.
type (
	ctrfReport struct {
		Format    string      `json:"reportFormat"`
		Version   string      `json:"specVersion"`
		Run       string      `json:"runId,omitempty"`
		Generator string      `json:"generatedBy"`
		Results   ctrfResults `json:"results"`

		suites map[string]bool
	}
	ctrfResults struct {
		Tool        ctrfTool         `json:"tool"`
		Summary     ctrfSummary      `json:"summary"`
		Tests       []ctrfTest       `json:"tests"`
		Environment *ctrfEnvironment `json:"environment,omitempty"`
	}
	ctrfTool struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	ctrfSummary struct {
		Tests    int   `json:"tests"`
		Passed   int   `json:"passed"`
		Failed   int   `json:"failed"`
		Skipped  int   `json:"skipped"`
		Pending  int   `json:"pending"`
		Other    int   `json:"other"`
		Suites   int   `json:"suites"`
		Start    int64 `json:"start"` // milliseconds since 1970, like Stop
		Stop     int64 `json:"stop"`
		Duration int64 `json:"duration"`
		Extra    any   `json:"extra,omitempty"`
	}
	ctrfTest struct {
		ID       string            `json:"testId"`
		Name     string            `json:"name"`
		Status   string            `json:"status"`
		Raw      string            `json:"rawStatus,omitempty"`
		Duration int64             `json:"duration"`
		Suite    []string          `json:"suite"`
		Message  string            `json:"message,omitempty"`
		Trace    string            `json:"trace,omitempty"`
		Labels   map[string]string `json:"labels,omitempty"`
		Stdout   []string          `json:"stdout,omitempty"`
		Extra    any               `json:"extra,omitempty"`
	}
	ctrfEnvironment struct {
		App     string `json:"appName,omitempty"`
		Profile string `json:"testEnvironment,omitempty"`
		Extra   any    `json:"extra,omitempty"`
	}
)

// The statuses of a test in CTRF.
const (
	ctrfPassed  = "passed"
	ctrfFailed  = "failed"
	ctrfSkipped = "skipped"
	ctrfOther   = "other"
)

// ctrfSpec is the version of the specification.
const ctrfSpec = "0.0.0"

// What extra has of a run of scenarios, and of one of them.
type (
	ctrfRun struct {
		Schema  string                    `json:"schema"`
		Verdict string                    `json:"verdict"`
		Exit    int                       `json:"exit"`
		Counts  map[bundle.Conclusion]int `json:"counts"`
		Causes  []ctrfCause               `json:"causes"`
		Notes   []string                  `json:"notes,omitempty"`
	}
	ctrfCause struct {
		Rule       string   `json:"rule"`
		Level      string   `json:"level"`
		Scenario   string   `json:"scenario,omitempty"`
		Message    string   `json:"message"`
		Follows    []string `json:"follows"`
		Reproducer string   `json:"reproducer,omitempty"`
	}
	ctrfScenario struct {
		Title  string     `json:"title,omitempty"`
		Rules  []ctrfRule `json:"rules"`
		Replay string     `json:"replay,omitempty"`
	}
	ctrfRule struct {
		ID          string            `json:"id"`
		Level       string            `json:"level,omitempty"`
		Verdict     bundle.Conclusion `json:"verdict"`
		Message     string            `json:"message,omitempty"`
		Seen        string            `json:"seen,omitempty"`
		FollowsFrom []string          `json:"follows_from,omitempty"`
	}
	ctrfTarget struct {
		URL      string `json:"url"`
		Embedded bool   `json:"embedded,omitempty"`
		Looks    string `json:"looks,omitempty"`
	}
)

// CTRF writes a report in the Common Test Report Format: a test for each scenario and axes,
// in a suite for its area, and for each rule that belongs to no scenario. Pass, advisory and
// deviation are passed; fail and unexpected-pass are failed; unsupported, known-failure and not-run are
// skipped; error and inconclusive are other. rawStatus has the verdict, labels the axes,
// and extra the rules and the replay command.
func CTRF(w io.Writer, r *bundle.Report) error {
	doc := newCTRF(r.Tool, r.Run, r.Started, r.DurationMS)
	by := explained(r)
	for _, s := range r.Scenarios {
		labels := map[string]string{}
		for name, value := range map[string]string{"protocol": s.Axes.Protocol, "codec": s.Axes.Codec, "http": s.Axes.HTTP, "compression": s.Axes.Compression} {
			if value != "" {
				labels[name] = clean(value)
			}
		}
		t := ctrfCase(scenarioCase(s, by))
		t.Raw, t.Duration, t.Labels = clean(string(s.Verdict)), s.DurationMS, labels
		t.Extra = ctrfScenario{Title: clean(s.Title), Rules: ctrfRules(s.Rules, by), Replay: clean(s.Replay)}
		doc.add(t)
	}
	for _, v := range r.RunRules {
		t := ctrfCase(runRuleCase(v, by))
		t.Raw, t.Extra = clean(string(v.Verdict)), ctrfScenario{Rules: ctrfRules([]bundle.RuleVerdict{v}, by)}
		doc.add(t)
	}
	extra := ctrfRun{Schema: bundle.ReportSchema, Verdict: r.Verdict, Exit: r.Exit, Counts: allCounts(r.Counts), Causes: []ctrfCause{}, Notes: r.Notes}
	for _, c := range r.Causes {
		extra.Causes = append(extra.Causes, ctrfCause{c.Rule, c.Level, c.Scenario, c.Message, list(c.Follows), c.Reproducer})
	}
	doc.Results.Summary.Extra = extra
	doc.Results.Environment = &ctrfEnvironment{
		App: clean(r.Target.URL), Profile: clean(r.Profile), Extra: ctrfTarget{r.Target.URL, r.Target.Embedded, r.Target.Looks},
	}
	return writeJSON(w, doc)
}

func ctrfRules(rules []bundle.RuleVerdict, by map[string][]string) []ctrfRule {
	all := make([]ctrfRule, len(rules))
	for i, v := range rules {
		all[i] = ctrfRule{ID: v.ID, Level: v.Level, Verdict: v.Verdict, Message: v.Message, Seen: v.Seen}
		if v.Verdict == bundle.Fail || v.Verdict == bundle.Flaky {
			all[i].FollowsFrom = by[v.ID]
		}
	}
	return all
}

// newCTRF returns a report without tests.
func newCTRF(tool bundle.Tool, run string, started time.Time, ms int64) *ctrfReport {
	doc := &ctrfReport{
		Format: "CTRF", Version: ctrfSpec, Run: clean(run), Generator: clean(tool.Name + " " + tool.Version),
		suites:  map[string]bool{},
		Results: ctrfResults{Tool: ctrfTool{Name: clean(tool.Name), Version: clean(tool.Version)}, Tests: []ctrfTest{}},
	}
	if doc.Results.Tool.Name == "" {
		doc.Results.Tool.Name = "assay" // the schema wants a name
	}
	s := &doc.Results.Summary
	if !started.IsZero() {
		s.Start = started.UnixMilli()
	}
	s.Stop, s.Duration = s.Start+ms, ms
	return doc
}

// add appends a test and counts it.
func (d *ctrfReport) add(t ctrfTest) {
	s := &d.Results.Summary
	s.Tests++
	switch t.Status {
	case ctrfPassed:
		s.Passed++
	case ctrfFailed:
		s.Failed++
	case ctrfSkipped:
		s.Skipped++
	default:
		s.Other++
	}
	d.Results.Tests = append(d.Results.Tests, t)
	d.suites[t.Suite[0]] = true
	s.Suites = len(d.suites)
}

// ctrfCase returns the test of a case of JUnit, without its duration.
func ctrfCase(c junitCase) ctrfTest {
	t := ctrfTest{ID: c.Class + "/" + c.Name, Name: c.Name, Status: ctrfPassed, Suite: []string{c.Class}}
	var problem *junitProblem
	switch {
	case c.Failure != nil:
		t.Status, problem = ctrfFailed, c.Failure
	case c.Error != nil:
		t.Status, problem = ctrfOther, c.Error
	case c.Skipped != nil:
		t.Status, problem = ctrfSkipped, c.Skipped
	}
	if problem != nil {
		t.Message, t.Trace = problem.Message, problem.raw
	}
	if c.Out != nil {
		t.Stdout = strings.Split(strings.Trim(c.Out.raw, "\n"), "\n")
	}
	return t
}
