package reports

import (
	"io"

	"assay/internal/record/bundle"
)

// LintJSON writes the result of a check of files as one JSON value of schema assay.lint/v1.
func LintJSON(w io.Writer, r *bundle.LintReport) error {
	full := *r
	full.Files, full.Findings = list(r.Files), list(r.Findings)
	return writeJSON(w, full)
}

// LintGitHub writes the findings as annotations of GitHub Actions, which are shown beside the lines: errors first.
func LintGitHub(w io.Writer, r *bundle.LintReport) error {
	a := annotations{more: "%d more are not shown here: run assay lint"}
	for _, level := range []string{bundle.LintError, bundle.LintWarning} {
		for _, f := range r.Findings {
			if lintLevel(f) == level {
				n := annotation{kind: level, title: line(f.Rule), message: lintSentence(f), file: line(f.File), line: f.Line}
				if f.Line > 0 {
					n.column = max(1, f.Column)
				}
				a.put(n)
			}
		}
	}
	return a.writeTo(w)
}

// lintLevel is the level of a finding; one of a later version is an error.
func lintLevel(f bundle.LintFinding) string {
	if f.Level == bundle.LintWarning {
		return bundle.LintWarning
	}
	return bundle.LintError
}

// lintSentence returns the message of a finding with its hint.
func lintSentence(f bundle.LintFinding) string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + " (" + f.Hint + ")"
}
