// Package reports renders results: of a run, a load run, a soak, a matrix, a history, a comparison, a self-test and a
// certificate, one observation as a transcript, the catalogue of rules and scenarios, and a diagnosis.
//
// An artefact has one function to a document, which is what it tells people: a verdict, facts, and sections of tables,
// lists, broken rules and charts. Text, Markdown, HTML and the summary of a step draw any document, each in its file
// format_NAME.go. Formats for programs (JSON, JUnit, CTRF, SARIF, OpenMetrics, annotations) are written from the
// result itself. The table of all is format.go.
//
// Renderers are pure: they take a value of package bundle (or the catalogue) and a
// writer, decide nothing, and use no network, process or clock. The same value gives
// the same bytes. Text from a target is never trusted: control characters,
// bidirectional overrides and invalid UTF-8 are escaped, so that a hostile gateway
// controls neither a terminal nor an XML file.
package reports
