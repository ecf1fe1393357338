package reports

import (
	"io"

	"assay/internal/record/bundle"
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
	if err := s.end("soak", soakDocument(r), r.Verdict, r.Interrupted, r.DurationMS); err != nil {
		return err
	}
	return writeJUnit(w, []junitSuite{s}, r.Started, r.DurationMS)
}
