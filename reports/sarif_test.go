package reports

import (
	"bytes"
	"encoding/json"
	"testing"

	"assay/internal/record/bundle"
)

var sarifTool010 = bundle.Tool{Name: "assay", Version: "0.1.0"}

func sarif(t *testing.T, findings ...bundle.LintFinding) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := LintSARIF(&b, &bundle.LintReport{Tool: sarifTool010, Findings: findings}); err != nil {
		t.Fatal(err)
	}
	conforms(t, "sarif-2.1.0.json", b.Bytes())
	return b.Bytes()
}

func TestMistakesInSARIF(t *testing.T) {
	golden(t, "mistakes.sarif", sarif(t,
		bundle.LintFinding{Rule: "lint.schema", Message: "an unknown key\n  id titel", File: "my scenarios/process/a.yaml", Line: 3, Column: 5},
		bundle.LintFinding{Rule: "lint.unknown-rule", Level: bundle.LintWarning, Message: hostileText, File: "/abs/100%.yaml", Line: 7},
		bundle.LintFinding{Rule: "lint.schema", Level: bundle.LintWarning, Message: "empty", File: "c:d.yaml"},
		bundle.LintFinding{Rule: "lint.twice", Level: "from the future", Message: "two folders have it"},
	))
}

func TestSARIFWithoutMistakesSaysThatNoneWereFound(t *testing.T) {
	var log struct {
		Runs []struct {
			Results     []any `json:"results"`
			Invocations []struct {
				ExecutionSuccessful bool `json:"executionSuccessful"`
			} `json:"invocations"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(sarif(t), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 || log.Runs[0].Results == nil || len(log.Runs[0].Results) != 0 || !log.Runs[0].Invocations[0].ExecutionSuccessful {
		t.Errorf("got %+v", log)
	}
}

func TestSARIFNamesAFileByAURI(t *testing.T) {
	for path, want := range map[string]string{
		"a.yaml": "a.yaml", "./b/c d.yaml": "b/c%20d.yaml", "/x/y.yaml": "file:///x/y.yaml", "a:b.yaml": "./a:b.yaml",
		"100%.yaml": "100%25.yaml", "日本.yaml": "%E6%97%A5%E6%9C%AC.yaml", "../a.yaml": "../a.yaml", "\xff\n.yaml": "%FF%0A.yaml",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

func TestSARIFIsValidWhateverIsInTheFiles(t *testing.T) {
	t.Parallel()
	for _, text := range hostileTexts {
		sarif(t, bundle.LintFinding{Rule: text, Level: text, Message: text, File: text, Line: 1, Column: -1}, bundle.LintFinding{Line: -1})
	}
}
