package bundle

// Conclusion is the result of judging a rule; see Verdict.
type Conclusion string

// The conclusions, in the order of Rank, the worst last.
const (
	Pass           Conclusion = "pass"
	Deviation      Conclusion = "deviation"
	KnownFailure   Conclusion = "known-failure"
	Unsupported    Conclusion = "unsupported"
	NotRun         Conclusion = "not-run"
	Advisory       Conclusion = "advisory"
	Inconclusive   Conclusion = "inconclusive"
	UnexpectedPass Conclusion = "unexpected-pass"
	// Flaky is a rule that held in some repeats of a run (--repeat) and was broken in others.
	Flaky Conclusion = "flaky"
	Fail  Conclusion = "fail"
	Error Conclusion = "error"
)

// conclusions lists all conclusions in the order of Rank, best first.
var conclusions = []Conclusion{
	Pass, Deviation, KnownFailure, Unsupported, NotRun, Advisory, Inconclusive, UnexpectedPass, Flaky, Fail, Error,
}

// Conclusions returns every conclusion, best first.
func Conclusions() []Conclusion { return append([]Conclusion(nil), conclusions...) }

// Rank orders conclusions: the worst has the highest rank.
func (c Conclusion) Rank() int {
	for i, o := range conclusions {
		if o == c {
			return i
		}
	}
	return len(conclusions)
}

// FailsRun reports whether a verdict makes the target nonconformant.
func (c Conclusion) FailsRun() bool { return c == Fail || c == Flaky || c == UnexpectedPass }

// Worst returns the conclusion with the higher rank.
func Worst(a, b Conclusion) Conclusion {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

// Verdict is the result of a rule for one scenario on one set of axes. Scenario is "" and
// Axes zero for the whole run (features of the profile, leaks).
type Verdict struct {
	Scenario   string     `json:"scenario,omitempty"`
	Axes       Axes       `json:"axes,omitzero"`
	Rule       string     `json:"rule"`
	Level      string     `json:"level"` // must, should, may
	Conclusion Conclusion `json:"verdict"`
	// Message is one or more sentences: the legal set, the observation, its location.
	Message string `json:"message,omitempty"`
	// Symptom classifies a breach, or why the rule could not be judged; "" if the rule holds.
	Symptom Symptom `json:"symptom,omitempty"`
	// Awaited is set if what broke the rule did not come in time. Without a confirmation that is only a suspicion.
	Awaited bool `json:"awaited,omitempty"`
	// Untried is set if it was not confirmed by itself: another scenario showed the same alone.
	Untried bool `json:"untried,omitempty"`
	// Varied is set if the rule held in other iterations of the script, which were all alike: the defect shows by chance.
	Varied bool `json:"varied,omitempty"`
	// Seen is the observed legal response, if the rule allows several.
	Seen string `json:"seen,omitempty"`
	// Counts are the orders of a race and how often each occurred.
	Counts map[string]int `json:"counts,omitempty"`
	// Repeats is set for a flaky rule.
	Repeats  *Repeats  `json:"repeats,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Repeats counts the repeats of a run in which a rule was judged.
type Repeats struct {
	Failed int `json:"failed"`
	Of     int `json:"of"`
}

// Evidence is the location in the observation that a verdict refers to.
type Evidence struct {
	Iteration int   `json:"iteration"`
	Exchange  int   `json:"exchange"` // -1 when none
	Conn      int   `json:"conn"`     // -1 when none
	Off       int64 `json:"off"`      // byte offset in the body, -1 when none
	// Fields are the names of the header fields that decide, in lower case and sorted: those that the script sets in the
	// request, and those that a clause of the rule names.
	Fields []string `json:"fields,omitempty"`
}
