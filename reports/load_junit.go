package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/record/bundle"
)

// loadJUnit writes JUnit XML: one testsuite with a testcase for the streams (for each
// class of a plan), for the gateway's counters, for each threshold, and for the run.
// What the gateway did wrong is a failure; what could not be decided is an error;
// counters that the gateway does not have are skipped. The case of the run has the text
// report, and is red only where no other case gives the reason.
func loadJUnit(w io.Writer, r *bundle.LoadReport) error {
	s, err := loadSuite(r)
	if err != nil {
		return err
	}
	return writeJUnit(w, []junitSuite{s}, r.Started, r.DurationMS)
}

// loadSuite returns the cases of a load run, as loadJUnit describes them.
func loadSuite(r *bundle.LoadReport) (junitSuite, error) {
	s := junitSuite{Name: "assay.load", Properties: loadProperties(r)}
	s.Cases = append(s.Cases, sandboxesCase(r.Sandboxes)...)
	s.Cases = append(s.Cases, streamCases(r)...)
	s.Cases = append(s.Cases, countersCase(r))
	for _, th := range r.Thresholds {
		s.Cases = append(s.Cases, thresholdCase(th))
	}
	err := s.end("run", loadDocument(r), r.Verdict, r.Interrupted || r.Aborted != "", r.DurationMS)
	return s, err
}

// end counts the cases, and appends the one of the run as a whole. It has the text report, and is red only where no
// other case gives the reason.
func (s *junitSuite) end(name string, d *document, v bundle.LoadVerdict, cutShort bool, ms int64) error {
	for i := range s.Cases {
		s.add(s.Cases[i].counts())
	}
	c := junitCase{Name: name, Class: s.Name, Time: seconds(ms)}
	problem := loadProblem(name, strings.Join(d.verdict.reasons, "; "), d.verdict.reasons)
	switch {
	case v == bundle.LoadFail && s.Failures == 0:
		c.Failure = problem
	case cutShort, v == bundle.LoadInconclusive && s.Errors == 0:
		c.Error = problem
	}
	var text strings.Builder
	err := writeText(&text, d, Style{Width: 100})
	c.output(text.String())
	s.put(c)
	s.Time = seconds(ms)
	return err
}

func loadProperties(r *bundle.LoadReport) *junitProperties {
	list := []junitProperty{
		{"target", line(r.Target.URL)},
		{"protocol", line(fmt.Sprintf("%s, codec %s, HTTP %s", r.Target.Protocol, r.Target.Codec, r.Target.HTTP))},
		{"model", line(loadModel(&r.Plan))},
		{"streams", line(streamsText(&r.Streams))},
	}
	if text := ratesText(r); text != "" {
		list = append(list, junitProperty{"per second", text})
	}
	return &junitProperties{List: append(list, junitProperty{"tool", line(r.Tool.Name + " " + r.Tool.Version)})}
}

func loadCase(name string) junitCase {
	return junitCase{Name: line(name), Class: "assay.load", Time: seconds(0)}
}

func loadProblem(kind, message string, detail []string) *junitProblem {
	var text strings.Builder
	for _, d := range detail {
		fmt.Fprintf(&text, "%s\n", line(d))
	}
	return &junitProblem{Message: line(message), Type: kind, Text: xmlText(text.String()), raw: text.String()}
}

// sandboxesCase returns the case of the sandboxes of a run that has some.
func sandboxesCase(s *bundle.LoadSandboxes) []junitCase {
	if s == nil {
		return nil
	}
	c := loadCase("sandboxes")
	if s.Failed > 0 || len(s.Left) > 0 {
		c.Failure = loadProblem("sandboxes", sandboxesText(s), s.Messages)
	}
	return []junitCase{c}
}

// streamCases returns a case for each class, or one for all streams.
func streamCases(r *bundle.LoadReport) []junitCase {
	one := func(name string, all bundle.StreamOutcomes) junitCase {
		c := loadCase(name)
		if n := all.Failed(); n > 0 {
			detail := []string{outcomesInWords(all)}
			for _, e := range r.Examples {
				detail = append(detail, e.Outcome+": "+exampleText(e))
			}
			c.Failure = loadProblem("streams", fmt.Sprintf("%d of %d streams failed", n, all.Total()), detail)
		}
		return c
	}
	if len(r.Classes) == 0 {
		return []junitCase{one("streams", r.Streams.Outcomes)}
	}
	cases := make([]junitCase, len(r.Classes))
	for i, class := range r.Classes {
		cases[i] = one("streams of "+class.Name, class.Outcomes)
	}
	return cases
}

func countersCase(r *bundle.LoadReport) junitCase {
	c, m := loadCase("counters"), &r.Metrics
	switch {
	case uncompared(m) != "":
		c.Skipped = loadProblem("counters", m.Note, nil)
	case len(m.Violations) > 0 && m.Note == "":
		c.Failure = loadProblem("counters", plural(len(m.Violations), "violation"), m.Violations)
	case len(m.Violations) > 0:
		c.Error = loadProblem("counters", m.Note, m.Violations)
	}
	return c
}

func thresholdCase(th bundle.LoadThreshold) junitCase {
	c := loadCase("threshold " + th.Expr)
	word, detail := thresholdText(th)
	switch word {
	case "missed":
		c.Failure = loadProblem("threshold", word+": "+detail, nil)
	case "undecided":
		c.Error = loadProblem("threshold", word+": "+detail, nil)
	}
	return c
}
