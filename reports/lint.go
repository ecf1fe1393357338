package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// LintJSON writes the result of a check of files as one JSON value of schema assay.lint/v1.
func LintJSON(w io.Writer, r *bundle.LintReport) error {
	full := *r
	full.Files, full.Findings = list(r.Files), list(r.Findings)
	return writeJSON(w, full)
}

// LintSARIF writes the findings as a SARIF log, with the hints as a part of the messages.
func LintSARIF(w io.Writer, r *bundle.LintReport) error {
	mistakes := make([]Mistake, 0, len(r.Findings))
	for _, f := range r.Findings {
		mistakes = append(mistakes, Mistake{Rule: f.Rule, Level: f.Level, Message: lintSentence(f), File: f.File, Line: f.Line, Column: f.Column})
	}
	return SARIF(w, r.Tool, mistakes)
}

// mostLintLines is how many annotations of one level GitHub shows of a step, less one for the
// sentence about the others.
const mostLintLines = 9

// LintGitHub writes the findings as workflow commands, which GitHub shows beside the lines. It
// shows ten of each level for a step and drops the others without a word, so that the last one
// says how many there are.
func LintGitHub(w io.Writer, r *bundle.LintReport) error {
	var b strings.Builder
	for _, level := range []string{bundle.LintError, bundle.LintWarning} {
		n := 0
		for _, f := range r.Findings {
			if f.Level != level {
				continue
			}
			if n++; n <= mostLintLines {
				fmt.Fprintf(&b, "::%s %s::%s\n", level, lintPlace(f), lintData.Replace(clean(lintSentence(f))))
			}
		}
		if n > mostLintLines {
			fmt.Fprintf(&b, "::%s::%d more are not shown here: run assay lint\n", level, n-mostLintLines)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// The characters that end a value, or a property, of a workflow command.
var (
	lintData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	lintProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// lintPlace returns the properties of an annotation.
func lintPlace(f bundle.LintFinding) string {
	place := "file=" + lintProperty.Replace(line(f.File))
	if f.Line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", f.Line, max(1, f.Column))
	}
	return place + ",title=" + lintProperty.Replace(line(f.Rule))
}

// lintSentence returns the message of a finding with its hint.
func lintSentence(f bundle.LintFinding) string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + " (" + f.Hint + ")"
}
