package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"assay/internal/record/bundle"
)

// element is an element of a parsed page, with its attributes and its text.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// parsedPage parses a page, in the order of the document.
func parsedPage(t *testing.T, text []byte) []element {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []element
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		e := element{name: n.Data, attrs: map[string]string{}}
		for _, a := range n.Attr {
			e.attrs[a.Key] = a.Val
		}
		var b strings.Builder
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				b.WriteString(d.Data)
			}
		}
		e.text = b.String()
		all = append(all, e)
	}
	return all
}

// inert checks what a browser would run or load: nothing but the scripts of package page.
func inert(t *testing.T, page []element) {
	t.Helper()
	for _, e := range page {
		for name, value := range e.attrs {
			switch {
			case name == "style" || strings.HasPrefix(name, "on") || name == "src" || name == "action":
				t.Errorf("<%s> has %s=%.60q", e.name, name, value)
			case name == "href" && !strings.HasPrefix(value, "#"):
				t.Errorf("<%s> links to %.60q", e.name, value)
			}
		}
		switch e.name {
		case "iframe", "object", "embed", "img", "link", "base", "form", "b":
			t.Errorf("the page has <%s>", e.name)
		case "script":
			if e.attrs["type"] == "" && !strings.Contains(e.text, "use strict") && !strings.Contains(e.text, "uPlot=function") {
				t.Errorf("a script that is not ours: %.60q", e.text)
			}
		default:
		}
	}
}

// wellMade checks what every page must have for those who cannot see it, and for links.
func wellMade(t *testing.T, page []element) {
	t.Helper()
	ids := map[string]int{}
	var headings []int
	for _, e := range page {
		if id := e.attrs["id"]; id != "" {
			ids[id]++
		}
		if len(e.name) == 2 && e.name[0] == 'h' && '1' <= e.name[1] && e.name[1] <= '6' {
			headings = append(headings, int(e.name[1]-'0'))
		}
		if e.name == "th" && e.attrs["scope"] == "" {
			t.Errorf("the heading %.40q has no scope", e.text)
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d elements have the id %s", n, id)
		}
	}
	for _, e := range page {
		for _, name := range []string{"href", "for", "aria-labelledby", "data-filter"} {
			if id := strings.TrimPrefix(e.attrs[name], "#"); id != "" && ids[id] == 0 {
				t.Errorf("%s of <%s> is %q, which is nowhere", name, e.name, id)
			}
		}
	}
	for i, level := range headings {
		if i == 0 && level != 1 || i > 0 && (level == 1 || level > headings[i-1]+1) {
			t.Errorf("heading %d is of level %d: %v", i, level, headings)
		}
	}
	for _, name := range []string{"main", "header", "nav"} {
		if n := len(named(page, name)); n != 1 {
			t.Errorf("%d elements <%s>, want 1", n, name)
		}
	}
}

func named(page []element, name string) []element {
	var out []element
	for _, e := range page {
		if e.name == name {
			out = append(out, e)
		}
	}
	return out
}

func byID(t *testing.T, page []element, id string) element {
	t.Helper()
	for _, e := range page {
		if e.attrs["id"] == id {
			return e
		}
	}
	t.Errorf("no element has the id %s", id)
	return element{}
}

func TestThePageBeginsWithTheVerdictAndTheCauses(t *testing.T) {
	page := parsedPage(t, rendered(t, FormatHTML, caused()))
	if got := named(page, "h1")[0].text; !strings.Contains(got, "Not conformant") {
		t.Errorf("the heading is %q", got)
	}
	header := named(page, "header")[0].text
	for _, part := range []string{"2 causes", "http://gateway.example:8081", "THE TARGET DIED while process.keepalive.zero ran", "--profile envd"} {
		if !strings.Contains(header, part) {
			t.Errorf("%q is not in the header %q", part, header)
		}
	}
	var titles []string
	for _, e := range named(page, "h2") {
		titles = append(titles, strings.TrimRight(e.text, " 0123456789"))
	}
	want := []string{
		"Causes", "Other broken rules", "Undecided", "Advisories", "Rules", "Scenarios", "Races", "Not tested", "Where this report comes from",
	}
	if !slices.Equal(titles, want) {
		t.Errorf("the sections are %q, want %q", titles, want)
	}
}

func TestACauseHasItsEvidence(t *testing.T) {
	page := parsedPage(t, rendered(t, FormatHTML, caused()))
	cause := byID(t, page, "cause-process.output.complete").text
	for _, part := range []string{
		"fail", "must", "Every byte that a process wrote arrives", "envd, Output (E12)", "stdout ends at byte 65536, 200000 were written",
		"stdout differs from the expected output at byte 65536", "assay replay process.output.large http://gateway.example:8081 --axis connect/json/1.1/identity --seed 7",
		"2 rules follow from it: connect.stream.flushed, process.pty.echo", "Not judged because of it: process.input.late", "2 scenarios show it",
	} {
		if !strings.Contains(cause, part) {
			t.Errorf("%q is not in\n%s", part, cause)
		}
	}
}

func TestEveryRuleAndScenarioHasARow(t *testing.T) {
	for name, r := range map[string]*bundle.Report{"failing": failing(), "caused": caused()} {
		t.Run(name, func(t *testing.T) {
			page := parsedPage(t, rendered(t, FormatHTML, r))
			for _, rule := range r.Rules {
				byID(t, page, "rule-"+rule.ID)
			}
			for _, s := range r.Scenarios {
				row := byID(t, page, "scenario-"+s.ID)
				if row.attrs["data-row"] != verdictWord(s.Verdict) {
					t.Errorf("%s: the row is for %q, want %q", s.ID, row.attrs["data-row"], s.Verdict)
				}
			}
		})
	}
}

// Colour is never the only sign: each verdict has its own symbol, and its word.
func TestEveryVerdictHasItsSymbolAndItsWord(t *testing.T) {
	symbols := map[string]bundle.Conclusion{}
	for _, c := range bundle.Conclusions() {
		l := lookOf(c)
		if other, taken := symbols[l.symbol]; taken || l.symbol == "•" {
			t.Errorf("%s has the symbol %s, like %s", c, l.symbol, other)
		}
		symbols[l.symbol] = c
		if !strings.Contains(string(verdictOf(c).html()), verdictWord(c)) {
			t.Errorf("the badge of %s lacks the word", c)
		}
	}
}

func TestTheOffendingByteIsMarked(t *testing.T) {
	page := parsedPage(t, []byte(excerptHTML("000010  0a 0b 0c 0d  ....\n           ^^ reserved-bits\n000020  00")))
	marks := named(page, "mark")
	if len(marks) != 1 || marks[0].text != "0b" {
		t.Errorf("the marks are %+v", marks)
	}
	for name, text := range map[string]string{
		"a mark behind the bytes": "000010  0a\n                    ^^ missing", "a mark under nothing": "^^ x", "text of other scripts above": "日本語のメッセージ\n   ^^ x",
	} {
		if got := named(parsedPage(t, []byte(excerptHTML(text))), "mark"); len(got) != 0 {
			t.Errorf("%s: the marks are %+v", name, got)
		}
	}
}

// whole returns the report of a run of a whole catalogue.
func whole(runs int, verdict func(i int) bundle.Conclusion) *bundle.Report {
	r := passing()
	r.Scenarios = nil
	for i := range runs {
		s := bundle.ScenarioResult{
			ID: fmt.Sprintf("process.area-%d.scenario-%d", i%20, i/2), Title: "A title of a scenario, as long as they are", Axes: []bundle.Axes{axesJSON, axesProto}[i%2],
			Verdict: verdict(i), DurationMS: 35, Replay: "assay replay process.area.scenario http://gateway.example:8081 --axis connect/json/1.1/identity --seed 7",
			Transcript: strings.Repeat("      +1.2 ms ← @0 flags 00  length 221  000000  0a da 01 0a\n", 24),
		}
		for n := range 25 {
			v := rule(fmt.Sprintf("connect.standing.rule-%d", n), "must", "A sentence about what a response has to be like.", bundle.Pass, "")
			if n == 0 {
				v = rule(fmt.Sprintf("process.own.rule-%d", i), "must", "A sentence about what this scenario proves.", s.Verdict, strings.Repeat("want one thing, saw another; ", 10))
			}
			s.Rules = append(s.Rules, v)
		}
		r.Scenarios = append(r.Scenarios, s)
	}
	return counted(r)
}

func TestThePageOfTheWholeCatalogueIsSmall(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(i int) bundle.Conclusion{
		"all pass": func(int) bundle.Conclusion { return bundle.Pass },
		"all fail": func(int) bundle.Conclusion { return bundle.Fail },
	} {
		t.Run(name, func(t *testing.T) {
			if n := len(rendered(t, FormatHTML, whole(786, of))); n > 2_000_000 {
				t.Errorf("%d bytes, want at most 2 MB", n)
			}
		})
	}
}

func TestAPageWithTenThousandFailuresCountsTheRest(t *testing.T) {
	t.Parallel()
	text := rendered(t, FormatHTML, whole(10_000, func(int) bundle.Conclusion { return bundle.Fail }))
	if len(text) > 4_000_000 {
		t.Errorf("%d bytes, want at most 4 MB", len(text))
	}
	for _, part := range []string{"and 9900 more broken rules in the JSON report", "and 8000 more scenarios in the JSON report"} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("the page does not say: %s", part)
		}
	}
}

func TestARunOfNothingHasAPage(t *testing.T) {
	r := &bundle.Report{Exit: 5, Verdict: bundle.RunInconclusive, Target: bundle.Target{URL: "http://x"}}
	page := parsedPage(t, rendered(t, FormatHTML, r))
	if got := named(page, "header")[0].text; !strings.Contains(got, "Inconclusive") || !strings.Contains(got, "Too little was tested") {
		t.Errorf("the header is %q", got)
	}
}
