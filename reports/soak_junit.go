package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// soakJUnit writes JUnit XML: one testsuite with a testcase for losses, counters, each series, injected faults,
// and the soak, which has the text report.
func soakJUnit(w io.Writer, r *bundle.SoakReport) error {
	s := junitSuite{Name: "assay.soak", Properties: &junitProperties{List: []junitProperty{
		{"target", line(r.Target.URL)}, {"plan", soakHeadline(r)}, {"tool", line(r.Tool.Name + " " + r.Tool.Version)},
	}}}
	named := func(name string) junitCase { return junitCase{Name: name, Class: "assay.soak", Time: seconds(0)} }
	for _, kind := range []string{bundle.SoakLoss, bundle.SoakCounters, bundle.SoakRestart, bundle.SoakDown, bundle.SoakInjected} {
		c := named(kind)
		var messages []string
		for _, f := range r.Findings {
			if f.Kind == kind && f.Decides {
				messages = append(messages, f.Message)
			}
		}
		if len(messages) > 0 {
			c.Failure = loadProblem(kind, messages[0], messages)
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range r.Series {
		one := &r.Series[i]
		c := named("trend of " + line(one.Name))
		switch one.Verdict {
		case "leaks", "drifts":
			c.Failure = loadProblem(one.Verdict, one.Message, nil)
		case "inconclusive":
			c.Error = loadProblem(one.Verdict, one.Message, nil)
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range s.Cases {
		s.add(s.Cases[i].counts())
	}
	c := named("soak")
	c.Time = seconds(r.DurationMS)
	problem := loadProblem("soak", strings.Join(r.Reasons, "; "), r.Reasons)
	switch {
	case r.Verdict == bundle.LoadFail && s.Failures == 0:
		c.Failure = problem
	case r.Interrupted, r.Verdict == bundle.LoadInconclusive && s.Errors == 0:
		c.Error = problem
	}
	var text strings.Builder
	if err := writeText(&text, soakDocument(r), Style{Width: 100}); err != nil {
		return fmt.Errorf("the text of the soak: %w", err)
	}
	c.output(text.String())
	s.Cases = append(s.Cases, c)
	s.add(c.counts())
	s.Time = seconds(r.DurationMS)
	return writeJUnit(w, []junitSuite{s}, r.Started, r.DurationMS)
}
