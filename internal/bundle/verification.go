package bundle

// VerificationSchema names the version of the JSON form of a verification.
const VerificationSchema = "assay.verification/v1"

// ProblemKind is what is wrong with a bundle.
type ProblemKind string

// The kinds.
const (
	ProblemUnfinished ProblemKind = "unfinished" // there is no manifest
	ProblemMissing    ProblemKind = "missing"    // a file of the manifest is not there
	ProblemEdited     ProblemKind = "edited"     // a file is not the one that was sealed
	ProblemStranger   ProblemKind = "stranger"   // a file that the manifest does not know
	ProblemManifest   ProblemKind = "manifest"   // the manifest lists what no bundle has, or is not that of the run
	ProblemSchema     ProblemKind = "schema"     // a file does not have the published form, or says what cannot be
	ProblemUnreadable ProblemKind = "unreadable" // the bundle cannot be opened, or judged
	ProblemVerdicts   ProblemKind = "verdicts"   // the evidence does not give the verdicts that are stored
	ProblemResult     ProblemKind = "result"     // the verdicts do not give the result that is stored
)

// Problem is one thing that is wrong with a bundle.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	File string      `json:"file,omitempty"`
	// Message says for people what was found and what was expected.
	Message string `json:"message"`
}

// Verification is what `assay verify` found.
type Verification struct {
	Schema string `json:"schema"`
	Bundle string `json:"bundle"` // its directory
	Kind   Kind   `json:"kind,omitempty"`
	// Tool made the bundle, and By verified it.
	Tool Tool   `json:"tool"`
	By   Tool   `json:"by"`
	Run  string `json:"run,omitempty"`
	// OK says that there are no problems; Exit is 0 then, else 1.
	OK   bool `json:"ok"`
	Exit int  `json:"exit"`
	// Files and Bytes are what was digested, with the manifest itself.
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
	// Verdicts is how many were derived again and are the same; Underivable are those
	// whose evidence was not kept. Changed are those that are not the same.
	Verdicts    int      `json:"verdicts"`
	Underivable int      `json:"underivable,omitempty"`
	Changed     []Change `json:"changed,omitempty"`
}

// Change is one verdict that two judgements of the same evidence do not share.
type Change struct {
	Scenario string `json:"scenario,omitempty"` // "" for what spans the run
	Axes     Axes   `json:"axes,omitzero"`
	Rule     string `json:"rule"`
	// Before and After are the two verdicts; "" where there was, or is, none.
	Before Conclusion `json:"before,omitempty"`
	After  Conclusion `json:"after,omitempty"`
	// Message is that of the verdict after, or, when there is none, of the one before.
	Message string `json:"message,omitempty"`
}
