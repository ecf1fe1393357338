package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// The formats of a report.
const (
	FormatTerminal    = "terminal"
	FormatJSON        = "json"
	FormatJUnit       = "junit"
	FormatMarkdown    = "markdown"
	FormatHTML        = "html"
	FormatCTRF        = "ctrf"
	FormatOpenMetrics = "openmetrics"
	FormatGitHub      = "github"
	FormatSummary     = "github-summary"
)

// Formats returns the format names of Render, in the order of help texts.
func Formats() []string {
	return []string{
		FormatTerminal, FormatJSON, FormatJUnit, FormatMarkdown, FormatHTML,
		FormatCTRF, FormatOpenMetrics, FormatGitHub, FormatSummary,
	}
}

// CheckFormat returns an error for a name that Render does not know, so that a wrong
// name fails before a run and not after it.
func CheckFormat(format string) error {
	for _, f := range Formats() {
		if f == format {
			return nil
		}
	}
	return fmt.Errorf("unknown report format %q: the formats are %s", format, strings.Join(Formats(), ", "))
}

// Render writes the report in the given format. The style applies only to the terminal
// format. For an unknown format it writes nothing and returns an error that lists the
// known ones.
func Render(w io.Writer, format string, r *bundle.Report, s Style) error {
	switch format {
	case FormatTerminal:
		return Terminal(w, r, s)
	case FormatJSON:
		return JSON(w, r)
	case FormatJUnit:
		return JUnit(w, r)
	case FormatMarkdown:
		return Markdown(w, r)
	case FormatHTML:
		return HTML(w, r)
	case FormatCTRF:
		return CTRF(w, r)
	case FormatOpenMetrics:
		return OpenMetrics(w, r)
	case FormatGitHub:
		return Annotations(w, r)
	case FormatSummary:
		return Summary(w, r, s)
	}
	return CheckFormat(format)
}

// RenderLoad writes the report of a load run in the given format, as Render does.
func RenderLoad(w io.Writer, format string, r *bundle.LoadReport, s Style) error {
	switch format {
	case FormatTerminal:
		return loadTerminal(w, r, s)
	case FormatJSON:
		return writeJSON(w, r)
	case FormatJUnit:
		return loadJUnit(w, r)
	case FormatMarkdown:
		return loadMarkdown(w, r)
	case FormatHTML:
		return loadHTML(w, r)
	case FormatCTRF:
		return loadCTRF(w, r)
	case FormatOpenMetrics:
		return loadOpenMetrics(w, r)
	case FormatGitHub:
		return loadAnnotations(w, r)
	case FormatSummary:
		return loadSummary(w, r, s)
	}
	return CheckFormat(format)
}
