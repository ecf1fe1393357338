package reports

import (
	"fmt"
	"slices"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// A document is what a report tells people. Each artefact has one function from its data to a document; text,
// Markdown, HTML and the summary of a step each draw any document (format_*.go), and escape what it says.
type document struct {
	kind     string // what the report is: "Assay load report"
	about    string // the target, in the title of a page
	heading  string // before the verdict in the heading of Markdown: "Load: "
	verdict  verdict
	alarm    string // a fact that matters more than the verdict; "" for none
	facts    facts  // what ran, on one line of a text
	details  facts  // further ones, on a page
	counts   string // before the tally, if it is on a line of its own
	tally    text   // numbers of runs by verdict, as badges
	limits   facts  // what the verdict does not rest on, at the end of a text
	notes    []string
	sections []section
	footer   string
	early    bool // a text has the verdict at its beginning as well
}

// verdict is the result in a word and a sentence, without a full stop.
type verdict struct {
	look
	word, sentence string
	reasons        []string // further sentences
}

// section is a part with a heading. A section without a body is left out.
type section struct {
	id, title string
	count     int    // beside the title; 0 for none
	note      string // explains the section on a page
	body      []block
	in        views // the formats that show it; 0 is all
	bare      bool  // a text shows it without its title: its first line says what it is
	tail      bool  // a text shows it at the end, beside the verdict
}

// with returns the section with further blocks.
func (s section) with(more []block) section {
	s.body = append(s.body, more...)
	return s
}

// views are formats that show a section.
type views uint8

const (
	inText    views = 1 << iota // without Verbose
	inVerbose                   // text with Verbose
	inMarkdown
	inSummary
	inPage
)

// shows reports whether a section has something for a format.
func (s section) shows(v views) bool {
	return (s.in == 0 || s.in&v != 0) && slices.ContainsFunc(s.body, func(b block) bool {
		switch b := b.(type) {
		case figures:
			return v == inPage && len(b) > 0
		case foldable:
			return v != inText || b.always
		default:
			return true
		}
	})
}

// block is a part of a section: a text, which is a paragraph, facts, or one of the types below.
type block any

type (
	// facts are names and their values.
	facts []fact
	fact  struct {
		name  string
		value text
	}
	// items are a list. A text without Verbose has at most short ones; 0 is mostRows.
	items struct {
		all   []text
		short int
	}
	// table has rows of cells; the last column takes what room there is. A page has at most so many rows.
	table struct {
		title   string
		columns []page.Column
		rows    []row
		noun    string // what a row is, to count those left out
		most    int    // on a page; 0 is mostFindings
		short   int    // in a text without Verbose; 0 is mostRows
		lines   bool   // a text has the last cell on a line of its own
		alike   bool   // the columns behind the first have the same kind of value
	}
	row struct {
		cells  []text
		id     string    // the anchor of the row
		kind   string    // what a filter may select
		detail *foldable // below the first cell, on a page
	}
	// figures are charts, on a page.
	figures []page.Chart
	// foldable is a folded part. A text shows it with Verbose only, or always without its title.
	foldable struct {
		id     string
		title  text
		open   bool
		always bool
		body   []block
	}
	// filtered are rows that a page can narrow to those with some words, or of a kind.
	filtered struct {
		id, label string
		kinds     []string
		body      []block
	}
	// cards are broken rules in full.
	cards struct {
		all   []card
		most  int // on a page
		noun  string
		brief bool // a text without Verbose has only the first ones in full
	}
	card struct {
		rule   bundle.RuleVerdict
		places []place
		id     string // the anchor
		names  []text // below the places: what follows from it
		about  string // in a recapitulation: how much it concerns
	}
	// command can be copied into a shell.
	command string
)

// blockOf returns a block as a body, or none if there is nothing in it.
func blockOf(n int, b block) []block {
	if n == 0 {
		return nil
	}
	return []block{b}
}

// text is one line, of parts of any origin.
type text []part

// part is a piece of a text.
type part struct {
	text  string
	as    role
	look  look     // of a badge
	to    string   // the kind of anchor that a name links to: rule, scenario, …
	names []string // of a list of names
}

// role says what a span is.
type role int

const (
	asPlain role = iota
	asStrong
	asFaint
	asName   // an id
	asBadge  // a verdict or result
	asQuote  // what was seen, which may have lines
	asBelow  // a second line of a cell, which only pages and verbose texts have
	asNames  // ids with commas between them, of which a format shows as many as fit
	asSource // a command or an expression
	asLevel  // must, should or may
)

// say makes a text of strings, numbers, spans and texts.
func say(parts ...any) text {
	var t text
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			if p != "" {
				t = append(t, part{text: p})
			}
		case int:
			t = append(t, part{text: grouped(int64(p))})
		case int64:
			t = append(t, part{text: grouped(p)})
		case part:
			t = append(t, p)
		case text:
			t = append(t, p...)
		default:
			t = append(t, part{text: fmt.Sprint(p)})
		}
	}
	return t
}

// sayf formats a text.
func sayf(format string, args ...any) text { return say(fmt.Sprintf(format, args...)) }

// says returns a text for each string.
func says(all []string) (out []text) {
	for _, s := range all {
		out = append(out, say(s))
	}
	return out
}

// joined returns texts with a separator between them.
func joined(all []text, sep string) (out text) {
	for i, t := range all {
		if i > 0 {
			out = append(out, part{text: sep})
		}
		out = append(out, t...)
	}
	return out
}

func strongly(s string) part       { return part{text: s, as: asStrong} }
func faintly(s string) part        { return part{text: s, as: asFaint} }
func below(s string) part          { return part{text: s, as: asBelow} }
func quoted(s string) part         { return part{text: s, as: asQuote} }
func source(s string) part         { return part{text: s, as: asSource} }
func badged(l look, w string) part { return part{text: w, as: asBadge, look: l} }

// ref is an id that links to its row of a kind on the same page; without a kind it is only a name.
func ref(kind, id string) part { return part{text: id, as: asName, to: kind} }

// refs are ids that link as ref does.
func refs(kind string, ids []string) part { return part{as: asNames, to: kind, names: ids} }

// levelOf is the level of a rule.
func levelOf(level string) part { return part{text: level, as: asLevel} }

// verdictOf is the verdict of a rule or a scenario.
func verdictOf(c bundle.Conclusion) part { return badged(lookOf(c), verdictWord(c)) }

// rowOf returns a row of what say takes.
func rowOf(parts ...any) row {
	r := row{}
	for _, p := range parts {
		r.cells = append(r.cells, say(p))
	}
	return r
}

// columns returns columns; # before a title is one of numbers.
func columns(titles ...string) (all []page.Column) {
	for _, t := range titles {
		if t != "" && t[0] == '#' {
			all = append(all, page.Column{Title: t[1:], Number: true})
			continue
		}
		all = append(all, page.Column{Title: t})
	}
	return all
}
