package bundle

// MatrixSchema names the version of the matrix's JSON form.
const MatrixSchema = "assay.matrix/v1"

// NotJudged is the word for a rule that a run did not judge.
const NotJudged = "not-judged"

// Ending is how responses ended.
type Ending string

// The endings, in the order of Endings.
const (
	EndedClean   Ending = "clean"   // complete, with the last message that its protocol requires
	EndedStopped Ending = "stopped" // Assay ended it, as its script says
	EndedCut     Ending = "cut"     // it ended without its last message, or before its announced length
	EndedReset   Ending = "reset"   // the gateway reset the connection or the HTTP/2 stream
	EndedTimeout Ending = "timeout" // it did not begin, or did not end, before the deadline
	EndedGarbage Ending = "garbage" // not HTTP
	EndedRefused Ending = "refused" // no connection
)

// Endings returns every ending, best first.
func Endings() []Ending {
	return []Ending{EndedClean, EndedStopped, EndedCut, EndedReset, EndedTimeout, EndedGarbage, EndedRefused}
}

// MatrixKind says how the cells of a row differ.
type MatrixKind string

// The kinds.
const (
	MatrixDiffers  MatrixKind = "differs"  // the verdicts differ, and not all are pass or untested
	MatrixCoverage MatrixKind = "coverage" // the rule holds wherever it was tested, but was not tested everywhere
	MatrixSame     MatrixKind = "same"     // all gateways have the same verdict
)

// Matrix compares the runs of several gateways rule by rule, the model of
// `report --matrix --format json`.
type Matrix struct {
	Schema string `json:"schema"`
	// Gateways are the columns, in the given order.
	Gateways []MatrixGateway `json:"gateways"`
	// Context lists differences in setup that may cause differences in verdicts.
	Context []MatrixContext `json:"context"`
	// Rules are the rows: must before should before may; within a level MatrixDiffers,
	// MatrixCoverage, MatrixSame; then by id.
	Rules []MatrixRule `json:"rules"`
	// Areas counts the rules of kind MatrixSame.
	Areas []MatrixArea `json:"areas"`
	// Words and EndingWords define the words that occur in the cells.
	Words       []MatrixWord `json:"words"`
	EndingWords []MatrixWord `json:"ending_words"`
}

// MatrixGateway is one column: a gateway and its run.
type MatrixGateway struct {
	// Name is unique in the matrix.
	Name string `json:"name"`
	// Path is the given directory or file.
	Path    string `json:"path"`
	Run     string `json:"run"`
	Tool    Tool   `json:"tool"`
	Target  Target `json:"target"`
	Profile string `json:"profile"`
	Verdict string `json:"verdict"`
	// Exit is the exit code of the run.
	Exit int `json:"exit"`
	// Unfinished is set if the run ended before its report was complete, and its evidence was judged now.
	Unfinished bool `json:"unfinished,omitempty"`
	// Partial describes the missing parts of the bundle.
	Partial []string `json:"partial,omitempty"`
	// Levels counts the rules by verdict, for each level.
	Levels []MatrixLevel `json:"levels"`
	// Endings counts the responses of the gateway by how they ended; absent for a report without
	// a bundle, which has no observations.
	Endings map[Ending]int `json:"endings,omitempty"`
}

// MatrixLevel counts the rules of a level by verdict.
type MatrixLevel struct {
	Level    string             `json:"level"`
	Verdicts map[Conclusion]int `json:"verdicts"`
}

// MatrixContext is one difference in setup.
type MatrixContext struct {
	What string `json:"what"`
	// Values has one value for each gateway.
	Values []string `json:"values"`
}

// MatrixRule is one row: a rule with one cell for each gateway.
type MatrixRule struct {
	ID string `json:"id"`
	// Level is the highest of the levels in the runs: a profile can raise it.
	Level string `json:"level"`
	// Area is the part of the id before the first dot.
	Area string     `json:"area"`
	Text string     `json:"text,omitempty"` // the rule's sentence
	Kind MatrixKind `json:"kind"`
	// OtherEndings is set if responses ended differently; clean and stopped count as equal.
	OtherEndings bool         `json:"other_endings,omitempty"`
	Cells        []MatrixCell `json:"cells"`
}

// MatrixCell is the result of a rule on one gateway.
type MatrixCell struct {
	// Verdict is the worst over all scenarios; absent if the run did not judge the rule.
	Verdict Conclusion `json:"verdict,omitempty"`
	// Level is the level in this run, if it is not that of the row.
	Level string `json:"level,omitempty"`
	// Ended is the worst ending over the scenarios of the rule; absent without responses.
	Ended Ending `json:"ended,omitempty"`
	// Scenario and Message are the first evidence of a verdict other than pass.
	Scenario string `json:"scenario,omitempty"`
	Message  string `json:"message,omitempty"`
}

// MatrixArea counts the rules of an area that have the same verdict on all gateways.
type MatrixArea struct {
	Level   string     `json:"level"`
	Area    string     `json:"area"`
	Verdict Conclusion `json:"verdict"`
	Rules   int        `json:"rules"`
}

// MatrixWord defines a word of the cells.
type MatrixWord struct {
	Word string `json:"word"`
	Text string `json:"text"`
}
