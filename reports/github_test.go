package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

// ghCommand is a workflow command as the runner reads it.
type ghCommand struct {
	kind, message string
	properties    map[string]string
}

var ghLine = regexp.MustCompile(`^::([a-z]+)(?: ([a-z]+=[^,:]*(?:,[a-z]+=[^,:]*)*))?::(.*)$`)

// workflowCommands reads the workflow commands, as the runner does; each line must be one.
func workflowCommands(t *testing.T, text []byte) []ghCommand {
	t.Helper()
	var all []ghCommand
	count := map[string]int{}
	for l := range strings.Lines(string(text)) {
		m := ghLine.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			t.Fatalf("%q is no workflow command", l)
		}
		c := ghCommand{kind: m[1], message: unescape(m[3]), properties: map[string]string{}}
		for _, p := range strings.Split(m[2], ",") {
			name, value, _ := strings.Cut(p, "=")
			c.properties[name] = unescape(strings.NewReplacer("%3A", ":", "%2C", ",").Replace(value))
		}
		if c.kind != "error" && c.kind != "warning" && c.kind != "notice" {
			t.Errorf("the command %s is no annotation", c.kind)
		}
		if count[c.kind]++; count[c.kind] > 10 {
			t.Errorf("more than 10 of kind %s", c.kind)
		}
		all = append(all, c)
	}
	return all
}

func unescape(text string) string {
	return strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%").Replace(text)
}

func TestAnnotationsEscapeWhatTheRunnerReads(t *testing.T) {
	var b bytes.Buffer
	err := LintGitHub(&b, &bundle.LintReport{Findings: []bundle.LintFinding{
		{Rule: "a:b,c%", Message: "50% of\n::stop-commands::x, y:", File: "my,own:file.yaml", Line: 3, Column: 5},
		{Message: "whole"}, {Level: bundle.LintWarning, Message: "a tab\tand \r", File: "f"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "::error file=my%2Cown%3Afile.yaml,line=3,col=5,title=a%3Ab%2Cc%25::50%25 of%0A::stop-commands::x, y:\n" +
		"::error::whole\n" +
		`::warning file=f::a tab    and \x0d` + "\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

// What a target says may be wrapped so that it begins a line of the report, which the runner reads as well.
func TestNoLineOfATextReportIsAWorkflowCommand(t *testing.T) {
	r := saying(strings.Repeat("::error::owned ##[error]owned ", 20))
	for n := 60; n < 80; n++ {
		var b bytes.Buffer
		if err := Conform().Render(&b, FormatTerminal, r, Style{Width: n, Verbose: true}); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if strings.HasPrefix(strings.TrimSpace(l), "::") || strings.Contains(l, "##[") {
				t.Fatalf("with %d columns the runner obeys %q", n, l)
			}
		}
	}
}

func TestTheFirstAnnotationHasTheVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		r           *bundle.Report
		kind, title string
	}{
		"passing":   {passing(), "notice", "Assay: CONFORMANT"},
		"failing":   {failing(), "error", "Assay: NOT CONFORMANT"},
		"undecided": {&bundle.Report{Exit: 5}, "error", "Assay: INCONCLUSIVE"},
	} {
		first := workflowCommands(t, rendered(t, FormatGitHub, c.r))[0]
		if first.kind != c.kind || first.properties["title"] != c.title {
			t.Errorf("%s: %+v", name, first)
		}
	}
}

func TestWhatIsMoreThanTheRunnerShowsIsCounted(t *testing.T) {
	all := workflowCommands(t, rendered(t, FormatGitHub, many(100)))
	last := all[len(all)-1]
	// The verdict and 8 causes are shown.
	if len(all) != 10 || last.message != "92 more, see the summary" {
		t.Errorf("%d annotations, the last is %+v", len(all), last)
	}
}

// codeFence begins a block of code.
var codeFence = regexp.MustCompile("^ *```+")

// codeSpan is the one that our pages have.
var codeSpan = regexp.MustCompile("run `[^`]*`")

// summaryPage requires a summary of at most limit bytes whose folded sections are closed.
func summaryPage(t *testing.T, text []byte, limit int) {
	t.Helper()
	if len(text) > limit {
		t.Errorf("%d bytes, want at most %d", len(text), limit)
	}
	opened, fence := 0, ""
	for l := range strings.Lines(string(text)) {
		switch mark := codeFence.FindString(l); {
		case fence != "":
			if strings.TrimSpace(l) == fence {
				fence = ""
			}
			continue
		case mark != "":
			fence = strings.TrimSpace(mark)
			continue
		}
		l = codeSpan.ReplaceAllString(l, "")
		opened += strings.Count(l, "<details>") - strings.Count(l, "</details>")
		if strings.Contains(l, "<summary>") != strings.HasSuffix(l, "</summary>\n") {
			t.Errorf("a title is not on one line: %q", l)
		}
	}
	if opened != 0 || fence != "" {
		t.Errorf("%d sections and the fence %q are open at the end", opened, fence)
	}
}

func TestTheSummaryOfAStepCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	r := many(10000)
	text := rendered(t, FormatSummary, r)
	summaryPage(t, text, SummaryLimit)
	shown := bytes.Count(text, []byte("<summary><b>"))
	if shown < 1000 || len(text) < SummaryLimit*3/4 {
		t.Errorf("%d broken rules in %d bytes", shown, len(text))
	}
	// Behind them are the empty line at the end, and no advisories.
	if want := fmt.Sprintf("**%d parts left out**", 10000-shown+1); !bytes.Contains(text, []byte(want)) {
		t.Errorf("%q is not in %s", want, text[len(text)-300:])
	}
}

func TestTheSummaryOfAStepFitsInTheRoomThatIsLeft(t *testing.T) {
	for _, room := range []int{1, 200, 500, 1000, 2000, 4000, 100000} {
		var b bytes.Buffer
		if err := Conform().Render(&b, FormatSummary, caused(), Style{Room: room}); err != nil {
			t.Fatal(err)
		}
		summaryPage(t, b.Bytes(), room)
		if room <= 200 && b.Len() > 0 {
			t.Errorf("with room for %d bytes: %q", room, &b)
		}
		if room >= 2000 && !strings.HasPrefix(b.String(), "# NOT CONFORMANT\n") {
			t.Errorf("with room for %d bytes the verdict is missing: %q", room, &b)
		}
	}
}
