package reports

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// The levels of a Mistake, in the words of SARIF.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelNote    = "note"
)

// Mistake is one mistake in a file that a user wrote: a script, a profile, a list of known
// failures.
type Mistake struct {
	// Rule is a short id of the broken convention, such as lint.unknown-rule; code-scanning tools
	// group by it.
	Rule string
	// Level is LevelError, LevelWarning or LevelNote; anything else counts as LevelError.
	Level   string
	Message string
	File    string // as the user named it
	Line    int    // from 1; 0 for the whole file
	Column  int    // from 1, in characters; 0 for the whole line
}

// level returns the level in the words of SARIF.
func (m *Mistake) level() string {
	if m.Level == LevelWarning || m.Level == LevelNote {
		return m.Level
	}
	return LevelError
}

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

// SARIF writes the mistakes as a SARIF 2.1.0 log, for code-scanning tools; without
// mistakes the log says that the tool ran and found none. It is a format of files that a
// user wrote: a broken rule of a gateway has no line in the user's source, so conform
// and load do not have it.
func SARIF(w io.Writer, tool bundle.Tool, mistakes []Mistake) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: line(tool.Name), Version: line(tool.Version), Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: true}},
		ColumnKind:  "unicodeCodePoints",
		Results:     []sarifResult{},
	}
	rules := &run.Tool.Driver.Rules
	for _, m := range mistakes {
		id := line(m.Rule)
		n := slices.Index(*rules, sarifRule{id})
		if n < 0 {
			n = len(*rules)
			*rules = append(*rules, sarifRule{id})
		}
		run.Results = append(run.Results, sarifResult{
			Rule: id, Index: n, Level: m.level(), Message: sarifMessage{clean(m.Message)}, Locations: m.locations(),
		})
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func (m *Mistake) locations() []sarifLocation {
	if m.File == "" {
		return nil
	}
	at := sarifPhysical{Artifact: sarifArtifact{fileURI(m.File)}}
	if m.Line > 0 {
		at.Region = &sarifRegion{Line: m.Line, Column: max(0, m.Column)}
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
