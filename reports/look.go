package reports

import (
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// look is how a verdict is shown.
type look struct {
	tone   page.Tone
	symbol string
}

func lookOf(c bundle.Conclusion) look {
	switch c {
	case bundle.Pass:
		return look{page.Good, "✓"}
	case bundle.Fail:
		return look{page.Bad, "✗"}
	case bundle.UnexpectedPass:
		return look{page.Bad, "‼"}
	case bundle.Error:
		return look{page.Bad, "⚠"}
	case bundle.Flaky:
		return look{page.Bad, "≠"}
	case bundle.Inconclusive:
		return look{page.Warn, "?"}
	case bundle.Advisory:
		return look{page.Warn, "!"}
	case bundle.Deviation:
		return look{page.Info, "≈"}
	case bundle.KnownFailure:
		return look{page.Info, "◆"}
	case bundle.Unsupported:
		return look{page.Mute, "–"}
	case bundle.NotRun:
		return look{page.Mute, "○"}
	default: // of a later version
		return look{page.Mute, "•"}
	}
}

// verdictWord returns a verdict in words.
func verdictWord(c bundle.Conclusion) string { return strings.ReplaceAll(line(string(c)), "-", " ") }

// runLook returns how the verdict of a run is shown.
func runLook(exit int) look {
	switch exit {
	case 0:
		return look{page.Good, "✓"}
	case 1:
		return look{page.Bad, "✗"}
	case 4:
		return look{page.Bad, "⚠"}
	default:
		return look{page.Warn, "?"}
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
