// Package reports renders the result of a run as text, JSON, JUnit XML, Markdown and HTML,
// one observation as a transcript, the catalogue of rules and scenarios, and the
// result of a self-test.
//
// Renderers are pure: they take a value of package bundle (or the catalogue) and a
// writer, decide nothing, and use no network, process or clock. The same value gives
// the same bytes. Text from a target is never trusted: control characters,
// bidirectional overrides and invalid UTF-8 are escaped, so that a hostile gateway
// controls neither a terminal nor an XML file.
package reports
