package reports

import (
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// look is how a verdict is shown.
type look struct {
	tone   page.Tone
	symbol string
}

// looks are how verdicts of rules and scenarios are shown.
var looks = map[bundle.Conclusion]look{
	bundle.Pass: {page.Good, "✓"}, bundle.Fail: {page.Bad, "✗"}, bundle.UnexpectedPass: {page.Bad, "‼"}, bundle.Error: {page.Bad, "⚠"},
	bundle.Flaky: {page.Bad, "≠"}, bundle.Inconclusive: {page.Warn, "?"}, bundle.Advisory: {page.Warn, "!"}, bundle.Deviation: {page.Info, "≈"},
	bundle.KnownFailure: {page.Info, "◆"}, bundle.Unsupported: {page.Mute, "–"}, bundle.NotRun: {page.Mute, "○"},
}

// lookOf returns how a verdict is shown; one of a later version is neutral.
func lookOf(c bundle.Conclusion) look {
	if l, ok := looks[c]; ok {
		return l
	}
	return neutral
}

// verdictWord returns a verdict in words.
func verdictWord(c bundle.Conclusion) string { return strings.ReplaceAll(line(string(c)), "-", " ") }

// runLook returns how the verdict of a run is shown.
func runLook(exit int) look {
	switch exit {
	case 0:
		return success
	case 1:
		return failure
	case 4:
		return looks[bundle.Error]
	default:
		return warning
	}
}

// The looks of results that are not verdicts of rules.
var (
	success = look{page.Good, "✓"}
	failure = look{page.Bad, "✗"}
	warning = look{page.Warn, "?"}
	neutral = look{page.Mute, "•"}
)

// loadLook is the look of the verdict of a load run, of a soak, or of one of its windows.
func loadLook(v bundle.LoadVerdict) look {
	switch v {
	case bundle.LoadPass:
		return success
	case bundle.LoadFail:
		return failure
	default:
		return warning
	}
}
