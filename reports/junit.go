package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// The elements of JUnit XML as CI systems read them, and no others: Jenkins' xUnit plugin
// rejects a file that its schema does not describe. Both levels have counts, which equal the
// number of elements below; the schema has none of skipped cases at the top.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"` // seconds
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		junitCounts
		Timestamp  string           `xml:"timestamp,attr,omitempty"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Out     *junitOutput  `xml:"system-out"`
	}
	junitOutput struct {
		Text string `xml:",innerxml"` // escaped by xmlText
		raw  string // Text before that
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",innerxml"` // escaped by xmlText
		raw     string // Text before that
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
)

// JUnit writes JUnit XML: a testsuite per area, a testcase per scenario and
// axes, and a testsuite "run" for the rules that belong to no scenario. fail and
// unexpected-pass are failures; error and inconclusive are errors; unsupported,
// known-failure and not-run are skipped; advisory and deviation pass with a
// property, which is a line [[PROPERTY|NAME=VALUE]] of the case's output. The scenario
// that shows a cause comes first, and a failure that follows from a cause names it. Times
// are seconds, timestamps UTC. Characters that XML does not allow are escaped.
func JUnit(w io.Writer, r *bundle.Report) error {
	return writeJUnit(w, junitAreas(r), r.Started, r.DurationMS)
}

// writeJUnit writes the suites of a run that began at a time, if that is known, and took ms milliseconds.
func writeJUnit(w io.Writer, suites []junitSuite, started time.Time, ms int64) error {
	doc := junitSuites{Name: "assay", Suites: suites, Time: seconds(ms)}
	for i := range doc.Suites {
		s := &doc.Suites[i]
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
		if !started.IsZero() {
			s.Timestamp = started.UTC().Format("2006-01-02T15:04:05")
		}
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("report as JUnit: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// junitAreas groups the results into suites, in the order of the first result of an area.
func junitAreas(r *bundle.Report) []junitSuite {
	var suites []junitSuite
	index := map[string]int{}
	millis := map[string]int64{}
	put := func(area string, c junitCase, ms int64) {
		i, ok := index[area]
		if !ok {
			i = len(suites)
			index[area] = i
			suites = append(suites, junitSuite{Name: "assay." + area, Properties: junitRun(r)})
		}
		millis[area] += ms
		suites[i].Cases = append(suites[i].Cases, c)
		suites[i].add(c.counts())
	}
	by := explained(r)
	shows := func(scenario string, axes bundle.Axes, rule string) bool {
		return slices.ContainsFunc(r.Causes, func(c bundle.Cause) bool {
			return c.Scenario == scenario && c.Axes == axes && (scenario != "" || c.Rule == rule)
		})
	}
	for _, first := range []bool{true, false} {
		for _, s := range r.Scenarios {
			if shows(s.ID, s.Axes, "") == first {
				put(area(s.ID), scenarioCase(s, by), s.DurationMS)
			}
		}
		for _, v := range r.RunRules {
			if shows("", bundle.Axes{}, v.ID) == first {
				put("run", runRuleCase(v, by), 0)
			}
		}
	}
	for area, i := range index {
		suites[i].Time = seconds(millis[area])
	}
	return suites
}

func junitRun(r *bundle.Report) *junitProperties {
	return &junitProperties{List: []junitProperty{
		{"target", line(r.Target.URL)},
		{"profile", line(r.Profile)},
		{"run", line(r.Run)},
		{"tool", line(r.Tool.Name + " " + r.Tool.Version)},
	}}
}

func scenarioCase(s bundle.ScenarioResult, by map[string][]string) junitCase {
	c := junitCase{
		Name:  line(s.ID + " [" + s.Axes.String() + "]"),
		Class: "assay." + area(s.ID),
		Time:  seconds(s.DurationMS),
	}
	c.conclude(s, by)
	c.output(propertyLines(s) + shownText(s))
	return c
}

func runRuleCase(v bundle.RuleVerdict, by map[string][]string) junitCase {
	c := junitCase{Name: line(v.ID), Class: "assay.run", Time: seconds(0)}
	s := bundle.ScenarioResult{Verdict: v.Verdict, Rules: []bundle.RuleVerdict{v}}
	c.conclude(s, by)
	c.output(propertyLines(s))
	return c
}

// output sets the output of the case, if there is some.
func (c *junitCase) output(text string) {
	if text != "" {
		c.Out = &junitOutput{Text: xmlText(text), raw: text}
	}
}

// propertyLines returns the advisories, the deviations and the observed legal responses, each as a property.
func propertyLines(s bundle.ScenarioResult) string {
	var b strings.Builder
	put := func(name, value string) { fmt.Fprintf(&b, "[[PROPERTY|%s=%s]]\n", name, line(value)) }
	for _, v := range s.Rules {
		switch {
		case v.Verdict == bundle.Advisory || v.Verdict == bundle.Deviation:
			put(string(v.Verdict), v.ID+": "+v.Message)
		case v.Seen != "":
			put("seen", v.ID+": "+v.Seen)
		}
	}
	return b.String()
}

// conclude sets the element of the case. by maps rules to the causes that they follow from.
func (c *junitCase) conclude(s bundle.ScenarioResult, by map[string][]string) {
	problem := junitProblemOf(s, by)
	switch s.Verdict {
	case bundle.Fail, bundle.Flaky, bundle.UnexpectedPass:
		c.Failure = problem
	case bundle.Unsupported, bundle.KnownFailure, bundle.NotRun:
		c.Skipped = problem
	case bundle.Pass, bundle.Advisory, bundle.Deviation:
	default: // error, inconclusive and unknown verdicts
		c.Error = problem
	}
}

// junitProblemOf names the first rule with the worst verdict, causes first and rules that
// follow from a cause last, and describes every rule that has this verdict or another
// bad one.
func junitProblemOf(s bundle.ScenarioResult, by map[string][]string) *junitProblem {
	p := &junitProblem{Type: line(string(s.Verdict))}
	var text strings.Builder
	if s.Title != "" {
		fmt.Fprintf(&text, "%s\n", line(s.Title))
	}
	for _, v := range causesFirst(s.Rules, by) {
		if v.Verdict != s.Verdict && !troubles(v.Verdict) {
			continue
		}
		follows := ""
		if from := by[v.ID]; len(from) > 0 && (v.Verdict == bundle.Fail || v.Verdict == bundle.Flaky) {
			follows = "follows from " + line(strings.Join(from, ", "))
		}
		if p.Message == "" && v.Verdict == s.Verdict {
			p.Type = line(v.ID)
			p.Message = line(v.ID + ": " + v.Message)
			if follows != "" {
				p.Message = follows + ": " + p.Message
			}
		}
		fmt.Fprintf(&text, "\n%s  %s (%s)\n", line(string(v.Verdict)), line(v.ID), line(v.Level))
		if follows != "" {
			fmt.Fprintf(&text, "  %s\n", follows)
		}
		for _, part := range []string{v.Text, v.Message} {
			if part != "" {
				fmt.Fprintf(&text, "  %s\n", strings.ReplaceAll(clean(part), "\n", "\n  "))
			}
		}
		if v.Seen != "" {
			fmt.Fprintf(&text, "  seen: %s\n", line(v.Seen))
		}
		if len(v.Counts) > 0 {
			fmt.Fprintf(&text, "  orders: %s\n", ordersText(v.Counts))
		}
	}
	if p.Message == "" {
		p.Message = line(string(s.Verdict))
	}
	if s.Replay != "" {
		fmt.Fprintf(&text, "\nreplay: %s\n", line(s.Replay))
	}
	p.Text, p.raw = xmlText(text.String()), text.String()
	return p
}

// causesFirst orders the rules of a scenario: causes, other rules, then rules that
// follow from a cause.
func causesFirst(rules []bundle.RuleVerdict, by map[string][]string) []bundle.RuleVerdict {
	rank := func(v bundle.RuleVerdict) int {
		from, told := by[v.ID]
		switch {
		case !told:
			return 1
		case len(from) == 0:
			return 0
		}
		return 2
	}
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b bundle.RuleVerdict) int { return rank(a) - rank(b) })
	return sorted
}

// xmlText escapes clean text as the content of an element. encoding/xml would also
// escape newlines and quotes, which is unreadable in a CI log.
func xmlText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// troubles reports whether a verdict needs attention.
func troubles(c bundle.Conclusion) bool {
	switch c {
	case bundle.Fail, bundle.Flaky, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive:
		return true
	default:
		return false
	}
}

func (c *junitCase) counts() junitCounts {
	n := junitCounts{Tests: 1}
	switch {
	case c.Failure != nil:
		n.Failures = 1
	case c.Error != nil:
		n.Errors = 1
	case c.Skipped != nil:
		n.Skipped = 1
	}
	return n
}

func (n *junitCounts) add(o junitCounts) {
	n.Tests += o.Tests
	n.Failures += o.Failures
	n.Errors += o.Errors
	n.Skipped += o.Skipped
}

// area returns the first word of an id.
func area(id string) string {
	a, _, _ := strings.Cut(line(id), ".")
	return a
}

func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
