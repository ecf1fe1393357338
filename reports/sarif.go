package reports

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// The elements of SARIF 2.1.0 that code-scanning tools read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	sarifResult struct {
		Rule      string          `json:"ruleId"`
		Index     int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// LintSARIF writes the findings of a check of files as a SARIF 2.1.0 log, for code-scanning tools, which group them by
// their rule; without findings the log says that the tool ran and found none. It is a format of files that a user
// wrote: a broken rule of a gateway has no line in the user's source, so conform and load do not have it.
func LintSARIF(w io.Writer, r *bundle.LintReport) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: line(r.Tool.Name), Version: line(r.Tool.Version), Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: true}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	rules := &run.Tool.Driver.Rules
	for _, f := range r.Findings {
		id := line(f.Rule)
		n := slices.Index(*rules, sarifRule{id})
		if n < 0 {
			n = len(*rules)
			*rules = append(*rules, sarifRule{id})
		}
		run.Results = append(run.Results, sarifResult{Rule: id, Index: n, Level: lintLevel(f), Message: sarifMessage{clean(lintSentence(f))}, Locations: sarifPlace(f)})
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifPlace(f bundle.LintFinding) []sarifLocation {
	if f.File == "" {
		return nil
	}
	at := sarifPhysical{Artifact: sarifArtifact{fileURI(f.File)}}
	if f.Line > 0 {
		at.Region = &sarifRegion{Line: f.Line, Column: max(0, f.Column)}
	}
	return []sarifLocation{{at}}
}

// fileURI returns a relative reference for a relative path, and a file URI for an absolute one.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(path))}
	if strings.HasPrefix(u.Path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}
