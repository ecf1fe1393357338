package reports

import "assay/internal/bundle"

// Style is how a terminal report is drawn. The zero value is 80 columns without
// colours, failures only.
type Style struct {
	Width   int  // 60 to 200 columns, what is outside is moved to the nearest; 0 = 80
	Color   bool // ANSI colours
	Verbose bool // also what passed, and nothing folded that would fit on a few screens
}

const (
	defaultWidth = 80
	minWidth     = 60
	maxWidth     = 200
)

func (s Style) width() int {
	if s.Width == 0 {
		return defaultWidth
	}
	return min(max(s.Width, minWidth), maxWidth)
}

// tint is an ANSI colour; the 16 colours of the terminal's own palette are used,
// so that a theme stays readable.
type tint string

const (
	plain   tint = ""
	bold    tint = "1"
	dim     tint = "2"
	red     tint = "1;31"
	green   tint = "32"
	yellow  tint = "33"
	magenta tint = "1;35"
	cyan    tint = "36"
)

// paint colours text that has been escaped before.
func (s Style) paint(t tint, text string) string {
	if !s.Color || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

func tintOf(c bundle.Conclusion) tint {
	switch c {
	case bundle.Pass:
		return green
	case bundle.Fail, bundle.UnexpectedPass:
		return red
	case bundle.Error:
		return magenta
	case bundle.Inconclusive, bundle.Advisory:
		return yellow
	case bundle.Deviation, bundle.KnownFailure:
		return cyan
	default: // what was not tested
		return dim
	}
}
