package matrix

import (
	"assay/internal/bundle"
)

// verdictWord defines a verdict of a cell.
func verdictWord(c bundle.Conclusion) string {
	switch c {
	case bundle.Pass:
		return "the rule held in every scenario that tested it"
	case bundle.Advisory:
		return "a recommendation is broken: a should or may rule; the gateway still conforms"
	case bundle.Fail:
		return "the rule is broken, and the gateway does not conform"
	case bundle.Deviation:
		return "the rule is broken, and the profile names and allows it"
	case bundle.KnownFailure:
		return "the rule is broken, and a list of known failures names it"
	case bundle.UnexpectedPass:
		return "a list of known failures names the rule, but it held"
	case bundle.Unsupported:
		return "not tested: the gateway lacks an optional feature"
	case bundle.NotRun:
		return "not tested: destructive or slow scenarios were not requested, or the run ended earlier"
	case bundle.Inconclusive:
		return "tested, but the evidence does not decide it"
	case bundle.Error:
		return "Assay itself failed; this says nothing about the gateway"
	case bundle.Flaky:
		return "the rule held in some repetitions and was broken in others"
	case "":
		return "this run did not judge the rule: it was not selected, or that version of Assay does not have it"
	}
	return "a verdict of another version of Assay"
}

// endingWord defines an ending.
func endingWord(e bundle.Ending) string {
	switch e {
	case bundle.EndedClean:
		return "every response was complete, with the last message that its protocol requires"
	case bundle.EndedStopped:
		return "Assay ended a response itself, as the script of the scenario says"
	case bundle.EndedCut:
		return "a response ended without its last message, or before its announced length"
	case bundle.EndedReset:
		return "the gateway reset a connection or a stream before its response was complete"
	case bundle.EndedTimeout:
		return "a response did not begin, or did not end, before the deadline"
	case bundle.EndedGarbage:
		return "a response was not HTTP"
	case bundle.EndedRefused:
		return "the gateway accepted no connection"
	}
	return ""
}

// words defines the verdicts and endings that occur in the matrix, best first.
func words(m *bundle.Matrix) (verdicts, ends []bundle.MatrixWord) {
	conclusions, endings := used(m)
	verdicts, ends = []bundle.MatrixWord{}, []bundle.MatrixWord{}
	for _, c := range bundle.Conclusions() {
		if conclusions[c] {
			verdicts = append(verdicts, bundle.MatrixWord{Word: string(c), Text: verdictWord(c)})
		}
	}
	if conclusions[""] {
		verdicts = append(verdicts, bundle.MatrixWord{Word: bundle.NotJudged, Text: verdictWord("")})
	}
	for _, e := range bundle.Endings() {
		if endings[e] {
			ends = append(ends, bundle.MatrixWord{Word: string(e), Text: endingWord(e)})
		}
	}
	return verdicts, ends
}
