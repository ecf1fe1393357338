// Package page writes a page of HTML in one file: the document around it with a strict
// Content-Security-Policy, its style for screens of any width, both colour schemes and
// print, the script for filters, copying and links into folded parts, and charts. It
// knows nothing of runs and verdicts; package reports has the views.
//
// Markup has its own type, HTML. Text makes it from text of any origin, and escapes it;
// El puts it into an element. Attributes are escaped by El, too. No other function takes
// a string for markup, so nothing that a target sends becomes markup.
//
// A view is a function from a value to a Document:
//
//	body := page.Banner(page.Verdict{Tone: page.Good, Symbol: "✓", Word: "Conformant", Sentence: "…"})
//	body += page.Contents(sections...)
//	body += page.Main(sections...)
//	err := page.Write(w, page.Document{Title: "…", Body: body, Data: map[string]any{"points": points}})
//
// Data is JSON for scripts: document.getElementById("points").textContent. A page that
// needs a script of its own gives it in Scripts; it may not have an attribute style or
// on…, which the policy forbids, and it needs nothing from the network unless Connect is
// set. A page must be complete without any script: what needs one begins hidden.
//
// uplot holds the chart library uPlot 1.6.32 with its licence, unchanged.
package page
