package bundle

// Conclusion is what a rule came to on an observation; see Verdict.
type Conclusion string

// The verdicts of the design, worst last in the order of Rank.
const (
	Pass           Conclusion = "pass"
	Deviation      Conclusion = "deviation"
	KnownFailure   Conclusion = "known-failure"
	Unsupported    Conclusion = "unsupported"
	NotRun         Conclusion = "not-run"
	Advisory       Conclusion = "advisory"
	Inconclusive   Conclusion = "inconclusive"
	UnexpectedPass Conclusion = "unexpected-pass"
	Fail           Conclusion = "fail"
	Error          Conclusion = "error"
)

// conclusions are all of them in the order of Rank, best first.
var conclusions = []Conclusion{
	Pass, Deviation, KnownFailure, Unsupported, NotRun, Advisory, Inconclusive, UnexpectedPass, Fail, Error,
}

// Conclusions returns every conclusion, best first.
func Conclusions() []Conclusion { return append([]Conclusion(nil), conclusions...) }

// Rank orders conclusions: the worst verdict of a scenario is the one of the highest rank.
func (c Conclusion) Rank() int {
	for i, o := range conclusions {
		if o == c {
			return i
		}
	}
	return len(conclusions)
}

// Worst returns the conclusion of the higher rank.
func Worst(a, b Conclusion) Conclusion {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

// Verdict is what a rule says of one scenario on one set of axes. Scenario is
// "" and Axes zero for what spans the run (features of the profile, leaks).
type Verdict struct {
	Scenario   string     `json:"scenario,omitempty"`
	Axes       Axes       `json:"axes,omitzero"`
	Rule       string     `json:"rule"`
	Level      string     `json:"level"` // must, should, may
	Conclusion Conclusion `json:"verdict"`
	// Message is one or more sentences for people: the legal set, what was seen, where.
	Message string `json:"message,omitempty"`
	// Symptom is what a breach looks like, or why the rule could not be judged; "" when it holds.
	Symptom Symptom `json:"symptom,omitempty"`
	// Seen is the legal answer that was seen, where the rule leaves several.
	Seen string `json:"seen,omitempty"`
	// Counts are the interleavings of a race: order -> how often.
	Counts   map[string]int `json:"counts,omitempty"`
	Evidence *Evidence      `json:"evidence,omitempty"`
}

// Evidence is where in the observation a verdict has its reason.
type Evidence struct {
	Iteration int   `json:"iteration"`
	Exchange  int   `json:"exchange"` // -1 when none
	Conn      int   `json:"conn"`     // -1 when none
	Off       int64 `json:"off"`      // byte offset in the body, -1 when none
}
