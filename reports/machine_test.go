package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/internal/record/bundle"
)

func rendered(t *testing.T, format string, r *bundle.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Conform().Render(&b, format, r, Style{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loadRendered(t *testing.T, format string, r *bundle.LoadReport) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Load().Render(&b, format, r, Style{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONIsOneValueAndANewline(t *testing.T) {
	for name, r := range map[string]*bundle.Report{"failing": failing(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			text := rendered(t, FormatJSON, r)
			d := json.NewDecoder(bytes.NewReader(text))
			var v map[string]any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(d.Buffered())
			if string(rest) != "\n" {
				t.Errorf("after the value is %q, want a newline", rest)
			}
			for _, key := range []string{"schema", "tool", "target", "profile", "verdict", "counts", "rules", "scenarios", "causes"} {
				if v[key] == nil {
					t.Errorf("%s is missing or null", key)
				}
			}
			if n := len(v["counts"].(map[string]any)); n != len(bundle.Conclusions()) {
				t.Errorf("%d counts, want one per verdict", n)
			}
			if bytes.ContainsFunc(text, func(r rune) bool { return r == 0x1b || r >= 0x7f && r < 0xa0 || r == '\u202e' }) {
				t.Error("a control character came through")
			}
		})
	}
}

func TestJSONKeepsWhatItHolds(t *testing.T) {
	r := failing()
	r.Scenarios[0].Rules[0].Message = "\u009b\u202e\U000e0001<&>"
	var back bundle.Report
	if err := json.Unmarshal(rendered(t, FormatJSON, r), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Scenarios[0].Rules[0].Message; got != r.Scenarios[0].Rules[0].Message {
		t.Errorf("got %q", got)
	}
}

// parsed is JUnit as a CI system reads it, independent of the writer's types.
type parsed struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			Time    string    `xml:"time,attr"`
			Failure []problem `xml:"failure"`
			Error   []problem `xml:"error"`
			Skipped []problem `xml:"skipped"`
			Out     string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func parse(t *testing.T, text []byte) parsed {
	t.Helper()
	var p parsed
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	if err := d.Decode(&p); err != nil {
		t.Fatalf("not well-formed: %v\n%s", err, text)
	}
	return p
}

func TestJUnitCountsEqualItsElements(t *testing.T) {
	for name, r := range map[string]*bundle.Report{"passing": passing(), "failing": failing(), "caused": caused(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, rendered(t, FormatJUnit, r))
			all := countsOfSuites(t, p)
			if want := len(r.Scenarios) + len(r.RunRules); all[0] != want {
				t.Errorf("%d testcases, want %d", all[0], want)
			}
		})
	}
}

// countsOfSuites requires that the counts on both levels equal the elements, and returns the numbers of
// cases, failures, errors and skipped cases.
func countsOfSuites(t *testing.T, p parsed) [4]int {
	t.Helper()
	var all [4]int
	for _, s := range p.Suites {
		var n [4]int
		for _, c := range s.Cases {
			n[0]++
			n[1] += len(c.Failure)
			n[2] += len(c.Error)
			n[3] += len(c.Skipped)
			if len(c.Failure)+len(c.Error)+len(c.Skipped) > 1 {
				t.Errorf("%s has more than one result", c.Name)
			}
		}
		if want := [4]int{s.Tests, s.Failures, s.Errors, s.Skipped}; n != want {
			t.Errorf("suite %s says %v and contains %v", s.Name, want, n)
		}
		for i := range all {
			all[i] += n[i]
		}
	}
	if want := [4]int{p.Tests, p.Failures, p.Errors, all[3]}; all != want {
		t.Errorf("the top says %v, the elements are %v", want, all)
	}
	return all
}

func TestJUnitMapsEveryVerdict(t *testing.T) {
	want := map[bundle.Conclusion]string{
		bundle.Pass: "pass", bundle.Advisory: "pass", bundle.Deviation: "pass",
		bundle.Fail: "failure", bundle.UnexpectedPass: "failure",
		bundle.Error: "error", bundle.Inconclusive: "error", "from the future": "error",
		bundle.Unsupported: "skipped", bundle.KnownFailure: "skipped", bundle.NotRun: "skipped",
	}
	for v, element := range want {
		r := &bundle.Report{Scenarios: []bundle.ScenarioResult{{
			ID: "a.b", Axes: axesJSON, Verdict: v, DurationMS: 1042, Replay: "assay replay a.b", Title: "A title",
			Rules: []bundle.RuleVerdict{rule("x.y", "must", "The sentence.", v, "one\n  two")},
		}}}
		c := parse(t, rendered(t, FormatJUnit, r)).Suites[0].Cases[0]
		got := "pass"
		var said problem
		switch {
		case c.Failure != nil:
			got, said = "failure", c.Failure[0]
		case c.Error != nil:
			got, said = "error", c.Error[0]
		case c.Skipped != nil:
			got, said = "skipped", c.Skipped[0]
		}
		if got != element {
			t.Errorf("%s is %s, want %s", v, got, element)
		}
		if got != "pass" && (said.Message != "x.y: one two" || !strings.Contains(said.Text, "The sentence.") || !strings.Contains(said.Text, "replay: assay replay a.b")) {
			t.Errorf("%s: message %q, text %q", v, said.Message, said.Text)
		}
		property := ""
		if v == bundle.Advisory || v == bundle.Deviation {
			property = "[[PROPERTY|" + string(v) + "=x.y: one two]]\n"
		}
		if c.Out != property {
			t.Errorf("%s has the output %q, want %q", v, c.Out, property)
		}
		if c.Name != "a.b [connect/json/1.1/identity]" || c.Class != "assay.a" || c.Time != "1.042" {
			t.Errorf("name %q, class %q, time %q", c.Name, c.Class, c.Time)
		}
	}
}

func TestJUnitIsWellFormedWhateverTheTargetSays(t *testing.T) {
	for _, text := range []string{"\x00", "\xff\xfe", "]]>", "<a>&b;\"'", "\ufffe\uffff", "\x1b[2J", "\u0085\u2028", "\U0010ffff", hostileText} {
		r := &bundle.Report{
			Target: bundle.Target{URL: text}, Profile: text,
			Scenarios: []bundle.ScenarioResult{{ID: text, Title: text, Replay: text, Verdict: bundle.Fail, Rules: []bundle.RuleVerdict{
				rule(text, text, text, bundle.Fail, text), rule(text, text, text, bundle.Advisory, text),
			}}},
		}
		out := rendered(t, FormatJUnit, r)
		parse(t, out)
		if !utf8.Valid(out) || bytes.ContainsFunc(out, func(r rune) bool {
			return r != '\n' && r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff || r == utf8.RuneError
		}) {
			t.Errorf("%q gave a character that XML does not allow:\n%q", text, out)
		}
	}
}
