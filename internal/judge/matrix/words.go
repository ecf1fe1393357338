package matrix

import "assay/internal/record/bundle"

// verdictWords define the verdicts of a cell.
var verdictWords = map[bundle.Conclusion]string{
	bundle.Pass:           "the rule held in every scenario that tested it",
	bundle.Advisory:       "a recommendation is broken: a should or may rule; the gateway still conforms",
	bundle.Fail:           "the rule is broken, and the gateway does not conform",
	bundle.Deviation:      "the rule is broken, and the profile names and allows it",
	bundle.KnownFailure:   "the rule is broken, and a list of known failures names it",
	bundle.UnexpectedPass: "a list of known failures names the rule, but it held",
	bundle.Unsupported:    "not tested: the gateway lacks an optional feature",
	bundle.NotRun:         "not tested: destructive or slow scenarios were not requested, or the run ended earlier",
	bundle.Inconclusive:   "tested, but the evidence does not decide it",
	bundle.Error:          "Assay itself failed; this says nothing about the gateway",
	bundle.Flaky:          "the rule held in some repetitions and was broken in others",
	"":                    "this run did not judge the rule: it was not selected, or that version of Assay does not have it",
}

// endingWords define the endings.
var endingWords = map[bundle.Ending]string{
	bundle.EndedClean:   "every response was complete, with the last message that its protocol requires",
	bundle.EndedStopped: "Assay ended a response itself, as the script of the scenario says",
	bundle.EndedCut:     "a response ended without its last message, or before its announced length",
	bundle.EndedReset:   "the gateway reset a connection or a stream before its response was complete",
	bundle.EndedTimeout: "a response did not begin, or did not end, before the deadline",
	bundle.EndedGarbage: "a response was not HTTP",
	bundle.EndedRefused: "the gateway accepted no connection",
}

// words defines the verdicts and endings that occur in the matrix, best first.
func words(m *bundle.Matrix) (verdicts, ends []bundle.MatrixWord) {
	conclusions, endings := used(m)
	verdicts, ends = []bundle.MatrixWord{}, []bundle.MatrixWord{}
	for _, c := range bundle.Conclusions() {
		if conclusions[c] {
			verdicts = append(verdicts, bundle.MatrixWord{Word: string(c), Text: verdictWords[c]})
		}
	}
	if conclusions[""] {
		verdicts = append(verdicts, bundle.MatrixWord{Word: bundle.NotJudged, Text: verdictWords[""]})
	}
	for _, e := range bundle.Endings() {
		if endings[e] {
			ends = append(ends, bundle.MatrixWord{Word: string(e), Text: endingWords[e]})
		}
	}
	return verdicts, ends
}
