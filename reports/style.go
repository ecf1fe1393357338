package reports

import "assay/internal/record/bundle"

// Style is the style of a terminal report. The zero value has 80 columns, no colours,
// and shows only failures.
type Style struct {
	Width   int  // 60 to 200 columns, other values are clamped; 0 = 80
	Color   bool // ANSI colours
	Verbose bool // also show passes, and fold much less
	Room    int  // bytes that a github-summary may take; 0 = SummaryLimit
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

// tint is an ANSI colour from the terminal's own palette of 16, so that every theme
// stays readable.
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

// ink is text on one line as a canvas draws it: a constant, or text of any origin that paint
// escaped and coloured. Only paint makes it from a string.
type ink string

// paint escapes text and colours it.
func (s Style) paint(t tint, text string) ink {
	text = line(text)
	if !s.Color || t == plain || text == "" {
		return ink(text)
	}
	return ink("\x1b[" + string(t) + "m" + text + "\x1b[0m")
}

// tintOf is the colour of a verdict.
func tintOf(c bundle.Conclusion) tint { return lookOf(c).tint() }
