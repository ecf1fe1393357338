package bundle

// VerificationSchema names the version of the JSON form of a verification.
const VerificationSchema = "assay.verification/v1"

// ProblemKind is the kind of a Problem.
type ProblemKind string

// The kinds.
const (
	ProblemUnfinished ProblemKind = "unfinished" // no manifest
	ProblemMissing    ProblemKind = "missing"    // a listed file is missing
	ProblemEdited     ProblemKind = "edited"     // a file was changed after sealing
	ProblemStranger   ProblemKind = "stranger"   // an unlisted file
	ProblemManifest   ProblemKind = "manifest"   // the manifest lists foreign files, or belongs to another run
	ProblemSchema     ProblemKind = "schema"     // a file violates its schema or has impossible values
	ProblemUnreadable ProblemKind = "unreadable" // the bundle cannot be opened or judged
	ProblemVerdicts   ProblemKind = "verdicts"   // the evidence does not yield the stored verdicts
	ProblemResult     ProblemKind = "result"     // the verdicts do not yield the stored result
	ProblemSignature  ProblemKind = "signature"  // the signature of a certificate is missing, or not of this certificate
	ProblemCatalogue  ProblemKind = "catalogue"  // another catalogue or profile than that of this program
	ProblemRequired   ProblemKind = "required"   // a requirement of a certificate is not met
	ProblemPlace      ProblemKind = "place"      // a submission is in the wrong folder
)

// Problem is one defect of a bundle.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	File string      `json:"file,omitempty"`
	// Message says what was found and what was expected.
	Message string `json:"message"`
}

// Verification is the result of `assay verify`.
type Verification struct {
	Schema string `json:"schema"`
	Bundle string `json:"bundle"` // its directory
	Kind   Kind   `json:"kind,omitempty"`
	// Tool wrote the bundle, By verified it.
	Tool Tool   `json:"tool"`
	By   Tool   `json:"by"`
	Run  string `json:"run,omitempty"`
	// OK is set without problems; Exit is 0 then, else 1.
	OK   bool `json:"ok"`
	Exit int  `json:"exit"`
	// Files and Bytes are the digested files, including the manifest.
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"`
	// Verdicts counts those derived again with the same result, Underivable those whose
	// evidence was not kept. Changed lists those with another result.
	Verdicts    int      `json:"verdicts"`
	Underivable int      `json:"underivable,omitempty"`
	Changed     []Change `json:"changed,omitempty"`
	// Certificate is what a certificate says; absent for a bundle.
	Certificate *CertificateCheck `json:"certificate,omitempty"`
}

// Change is one verdict that differs between two judgements of the same evidence.
type Change struct {
	Scenario string `json:"scenario,omitempty"` // "" for the whole run
	Axes     Axes   `json:"axes,omitzero"`
	Rule     string `json:"rule"`
	// Before and After are the two verdicts; "" for none.
	Before Conclusion `json:"before,omitempty"`
	After  Conclusion `json:"after,omitempty"`
	// Message is the message of the verdict after or, without one, of the verdict before.
	Message string `json:"message,omitempty"`
}
