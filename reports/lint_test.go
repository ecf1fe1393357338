package reports

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func lintReport(n int) *bundle.LintReport {
	r := &bundle.LintReport{Schema: bundle.LintSchema, Tool: bundle.Tool{Name: "assay", Version: "1"}, Exit: 2}
	for i := range n {
		r.Findings = append(r.Findings, bundle.LintFinding{
			Rule: "lint.unknown-rule", Level: bundle.LintError, Message: fmt.Sprintf("100%% of\n%d", i), Hint: "did you mean it?",
			File: "a,b:c.yaml", Line: i + 1, Column: 3,
		})
	}
	return r
}

func TestAnAnnotationOfAMistakeCannotBeLeft(t *testing.T) {
	var b bytes.Buffer
	if err := LintGitHub(&b, lintReport(1)); err != nil {
		t.Fatal(err)
	}
	want := "::error file=a%2Cb%3Ac.yaml,line=1,col=3,title=lint.unknown-rule::100%25 of%0A0 (did you mean it?)\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", &b, want)
	}
}

func TestTheLastAnnotationSaysHowManyGitHubWouldDrop(t *testing.T) {
	r := lintReport(12)
	r.Findings = append(r.Findings, bundle.LintFinding{Rule: "lint.todo", Level: bundle.LintWarning, Message: "m", File: "f"})
	var b bytes.Buffer
	if err := LintGitHub(&b, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "::error"); n != 10 || !strings.Contains(b.String(), "::error::3 more are not shown") ||
		!strings.Contains(b.String(), "::warning file=f,title=lint.todo::m\n") {
		t.Errorf("%d errors:\n%s", n, &b)
	}
}

func TestMistakesAreInSARIFWithTheirHints(t *testing.T) {
	var b bytes.Buffer
	if err := LintSARIF(&b, lintReport(1)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"ruleId": "lint.unknown-rule"`) || !strings.Contains(b.String(), "(did you mean it?)") {
		t.Errorf("got %s", &b)
	}
}
