package bundle

// LintSchema names the version of the JSON form of LintReport.
const LintSchema = "assay.lint/v1"

// LintKind is what assay lint took a file for.
type LintKind string

// The kinds.
const (
	LintScript  LintKind = "scenario"
	LintRules   LintKind = "rules"
	LintProfile LintKind = "profile"
	LintKnown   LintKind = "known-failures"
	LintPlan    LintKind = "plan"
	LintConfig  LintKind = "config"
	LintUnknown LintKind = "unknown" // not a file of Assay, or not YAML
)

// The levels of a LintFinding.
const (
	LintError   = "error"
	LintWarning = "warning"
)

// LintReport is the result of assay lint.
type LintReport struct {
	Schema string `json:"schema"`
	Tool   Tool   `json:"tool"`
	// Valid is set if there is no error; warnings do not count.
	Valid bool `json:"valid"`
	// Exit is the exit code: 2 for an error, otherwise 0.
	Exit int `json:"exit"`
	// Files are the checked files and those that are none of Assay's, sorted.
	Files    []LintedFile  `json:"files"`
	Findings []LintFinding `json:"findings"`
}

// LintedFile is one file.
type LintedFile struct {
	Name string   `json:"name"`
	Kind LintKind `json:"kind"`
}

// LintFinding is one mistake in a file.
type LintFinding struct {
	// Rule is the id of the check, such as lint.unknown-rule.
	Rule    string `json:"rule"`
	Level   string `json:"level"` // error or warning
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // how to mend it
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1; 0 for the whole file
	Column  int    `json:"column"` // from 1, in characters; 0 for the whole file
}
