package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// The formats of a report.
const (
	FormatTerminal    = "text"
	FormatJSON        = "json"
	FormatJUnit       = "junit"
	FormatMarkdown    = "markdown"
	FormatHTML        = "html"
	FormatCTRF        = "ctrf"
	FormatOpenMetrics = "openmetrics"
	FormatGitHub      = "github"
	FormatSummary     = "github-summary"
)

// drawings draw a document.
var drawings = map[string]func(io.Writer, *document, Style) error{
	FormatTerminal: writeText,
	FormatMarkdown: func(w io.Writer, d *document, _ Style) error { return writeMarkdown(w, d) },
	FormatHTML:     func(w io.Writer, d *document, _ Style) error { return writeHTML(w, d) },
	FormatSummary:  writeSummary,
}

// Artefact is a kind of result with its formats.
type Artefact[T any] struct {
	name     string
	formats  []string // in the order of help texts
	document func(T) *document
	machine  map[string]func(io.Writer, T) error // formats that are no drawings of the document
}

// Formats returns the names of the formats, in the order of help texts.
func (a Artefact[T]) Formats() []string { return a.formats }

// Render writes a result in a format. The style applies to text, and its room to a summary. For an unknown format it
// writes nothing and returns an error that lists the known ones.
func (a Artefact[T]) Render(w io.Writer, format string, result T, s Style) error {
	switch {
	case !slices.Contains(a.formats, format):
		return fmt.Errorf("unknown %s format %q: the formats are %s", a.name, format, strings.Join(a.formats, ", "))
	case a.machine[format] != nil:
		return a.machine[format](w, result)
	case format == FormatJSON:
		return writeJSON(w, result)
	}
	return drawings[format](w, a.document(result), s)
}

// Conform has the formats of the report of a run.
func Conform() Artefact[*bundle.Report] {
	return Artefact[*bundle.Report]{
		"report", []string{FormatTerminal, FormatJSON, FormatJUnit, FormatMarkdown, FormatHTML, FormatCTRF, FormatOpenMetrics, FormatGitHub, FormatSummary}, conformDocument,
		map[string]func(io.Writer, *bundle.Report) error{FormatJSON: JSON, FormatJUnit: JUnit, FormatCTRF: CTRF, FormatOpenMetrics: OpenMetrics, FormatGitHub: Annotations},
	}
}

// Load has the formats of the report of a load run.
func Load() Artefact[*bundle.LoadReport] {
	return Artefact[*bundle.LoadReport]{
		"report", Conform().formats, loadDocument,
		map[string]func(io.Writer, *bundle.LoadReport) error{FormatJUnit: loadJUnit, FormatCTRF: loadCTRF, FormatOpenMetrics: loadOpenMetrics, FormatGitHub: loadAnnotations},
	}
}

// Soak has the formats of the report of a soak.
func Soak() Artefact[*bundle.SoakReport] {
	return Artefact[*bundle.SoakReport]{
		"soak", []string{FormatTerminal, FormatJSON, FormatJUnit, FormatMarkdown, FormatHTML, FormatGitHub, FormatSummary}, soakDocument,
		map[string]func(io.Writer, *bundle.SoakReport) error{FormatJUnit: soakJUnit, FormatGitHub: soakAnnotations},
	}
}

// Matrix has the formats of a matrix.
func Matrix() Artefact[*bundle.Matrix] {
	return Artefact[*bundle.Matrix]{
		"matrix", []string{FormatTerminal, FormatJSON, FormatMarkdown, FormatHTML}, matrixDocument, nil,
	}
}

// History has the formats of a history.
func History() Artefact[*bundle.History] {
	return Artefact[*bundle.History]{
		"history", []string{FormatTerminal, FormatJSON, FormatMarkdown}, historyDocument, nil,
	}
}

// Diff has the formats of a comparison.
func Diff() Artefact[*bundle.Diff] {
	return Artefact[*bundle.Diff]{
		"comparison", []string{FormatTerminal, FormatJSON, FormatMarkdown}, diffDocument, nil,
	}
}

// Selftest has the formats of the result of a self-test.
func Selftest() Artefact[*bundle.SelftestReport] {
	return Artefact[*bundle.SelftestReport]{
		"self-test", []string{FormatTerminal, FormatJSON, FormatHTML, FormatJUnit, FormatCTRF}, selftestDocument,
		map[string]func(io.Writer, *bundle.SelftestReport) error{FormatJSON: SelftestJSON, FormatJUnit: SelftestJUnit, FormatCTRF: SelftestCTRF},
	}
}

// Ending returns the verdict of a run as a page shows it at its head.
func Ending(r *bundle.Report) page.Verdict { return conformDocument(r).verdict.page() }

// LoadEnding returns the verdict of a load run as a page shows it at its head.
func LoadEnding(r *bundle.LoadReport) page.Verdict { return loadDocument(r).verdict.page() }
