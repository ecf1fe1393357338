package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
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

// formats are the ways to write one kind of result, in the order of help texts.
type formats[T any] []struct {
	name  string
	write func(w io.Writer, result T, s Style) error
}

func (all formats[T]) names() []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.name
	}
	return names
}

// render writes a result in a format; an unknown one is an error that lists the known.
func (all formats[T]) render(w io.Writer, what, format string, result T, s Style) error {
	for _, f := range all {
		if f.name == format {
			return f.write(w, result, s)
		}
	}
	return fmt.Errorf("unknown %s format %q: the formats are %s", what, format, strings.Join(all.names(), ", "))
}

// unstyled is a format for files, which have no colours and no width.
func unstyled[T any](write func(w io.Writer, result T) error) func(io.Writer, T, Style) error {
	return func(w io.Writer, result T, _ Style) error { return write(w, result) }
}

func inJSON[T any](w io.Writer, result T, _ Style) error { return writeJSON(w, result) }

func reportFormats() formats[*bundle.Report] {
	return formats[*bundle.Report]{
		{FormatTerminal, Terminal}, {FormatJSON, unstyled(JSON)}, {FormatJUnit, unstyled(JUnit)}, {FormatMarkdown, unstyled(Markdown)},
		{FormatHTML, unstyled(HTML)}, {FormatCTRF, unstyled(CTRF)}, {FormatOpenMetrics, unstyled(OpenMetrics)},
		{FormatGitHub, unstyled(Annotations)}, {FormatSummary, Summary},
	}
}

func loadFormats() formats[*bundle.LoadReport] {
	return formats[*bundle.LoadReport]{
		{FormatTerminal, loadTerminal}, {FormatJSON, inJSON[*bundle.LoadReport]}, {FormatJUnit, unstyled(loadJUnit)}, {FormatMarkdown, unstyled(loadMarkdown)},
		{FormatHTML, unstyled(loadHTML)}, {FormatCTRF, unstyled(loadCTRF)}, {FormatOpenMetrics, unstyled(loadOpenMetrics)},
		{FormatGitHub, unstyled(loadAnnotations)}, {FormatSummary, loadSummary},
	}
}

func soakFormats() formats[*bundle.SoakReport] {
	return formats[*bundle.SoakReport]{
		{FormatTerminal, soakTerminal}, {FormatJSON, inJSON[*bundle.SoakReport]}, {FormatJUnit, unstyled(soakJUnit)}, {FormatMarkdown, unstyled(soakMarkdown)},
		{FormatHTML, unstyled(soakHTML)}, {FormatGitHub, unstyled(soakAnnotations)}, {FormatSummary, unstyled(soakMarkdown)},
	}
}

func matrixFormats() formats[*bundle.Matrix] {
	return formats[*bundle.Matrix]{
		{FormatTerminal, matrixTerminal}, {FormatJSON, inJSON[*bundle.Matrix]}, {FormatMarkdown, unstyled(matrixMarkdown)}, {FormatHTML, unstyled(matrixHTML)},
	}
}

func historyFormats() formats[*bundle.History] {
	return formats[*bundle.History]{{FormatTerminal, historyTerminal}, {FormatJSON, inJSON[*bundle.History]}, {FormatMarkdown, unstyled(historyMarkdown)}}
}

func selftestFormats() formats[*bundle.SelftestReport] {
	return formats[*bundle.SelftestReport]{
		{FormatTerminal, Selftest}, {FormatJSON, unstyled(SelftestJSON)}, {FormatHTML, unstyled(SelftestHTML)},
		{FormatJUnit, unstyled(SelftestJUnit)}, {FormatCTRF, unstyled(SelftestCTRF)},
	}
}

// Formats returns the names of the formats of a report, and of that of a load run, in the order of help texts.
func Formats() []string { return reportFormats().names() }

// SoakFormats is like Formats, for a soak.
func SoakFormats() []string { return soakFormats().names() }

// MatrixFormats is like Formats, for a matrix.
func MatrixFormats() []string { return matrixFormats().names() }

// HistoryFormats is like Formats, for a history.
func HistoryFormats() []string { return historyFormats().names() }

// SelftestFormats is like Formats, for a self-test.
func SelftestFormats() []string { return selftestFormats().names() }

// Render writes the report in the given format. The style applies only to the terminal
// format. For an unknown format it writes nothing and returns an error that lists the
// known ones.
func Render(w io.Writer, format string, r *bundle.Report, s Style) error {
	return reportFormats().render(w, "report", format, r, s)
}

// RenderLoad writes the report of a load run, as Render does.
func RenderLoad(w io.Writer, format string, r *bundle.LoadReport, s Style) error {
	return loadFormats().render(w, "report", format, r, s)
}

// RenderSoak writes the report of a soak, as Render does.
func RenderSoak(w io.Writer, format string, r *bundle.SoakReport, s Style) error {
	return soakFormats().render(w, "soak", format, r, s)
}

// RenderMatrix writes a matrix, as Render does.
func RenderMatrix(w io.Writer, format string, m *bundle.Matrix, s Style) error {
	return matrixFormats().render(w, "matrix", format, m, s)
}

// RenderHistory writes a history, as Render does.
func RenderHistory(w io.Writer, format string, h *bundle.History, s Style) error {
	return historyFormats().render(w, "history", format, h, s)
}

// RenderSelftest writes the result of a self-test, as Render does.
func RenderSelftest(w io.Writer, format string, r *bundle.SelftestReport, s Style) error {
	return selftestFormats().render(w, "self-test", format, r, s)
}
