package reports

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// SummaryLimit is the size of the summary of a step of GitHub Actions, in bytes. When there is
// more, the runner drops all of it.
const SummaryLimit = 1 << 20

// leftOutRoom is the room for the line that counts what is left out.
const leftOutRoom = 200

// writeMarkdown draws a document for a pull request or a wiki. Text of any origin cannot become markup.
func writeMarkdown(w io.Writer, d *document) error {
	return (&markdown{room: math.MaxInt, view: inMarkdown}).write(w, d)
}

// writeSummary draws a document as the summary of a step of GitHub Actions: cards are folded, and what does not fit
// into s.Room bytes is counted. It is a part of a page, for other commands of the step append theirs.
func writeSummary(w io.Writer, d *document, s Style) error {
	if s.Room == 0 {
		s.Room = SummaryLimit
	}
	return (&markdown{room: s.Room - leftOutRoom, view: inSummary}).write(w, d)
}

// markdown draws parts that fit, one after another, and counts the others.
type markdown struct {
	page, part strings.Builder
	view       views
	room, left int
}

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(&m.part, format, args...) }

// end puts the part that was drawn on the page, if it fits.
func (m *markdown) end() {
	part := clean(m.part.String())
	m.part.Reset()
	switch {
	case part == "":
	case m.left > 0 || m.page.Len()+len(part) > m.room:
		m.left++
	default:
		m.page.WriteString(part)
	}
}

func (m *markdown) write(w io.Writer, d *document) error {
	m.head(d)
	m.end()
	for _, s := range d.sections {
		if !s.shows(m.view) {
			continue
		}
		if _, folded := s.body[0].(foldable); !folded {
			m.printf("\n## %s\n", escaped(s.title))
		}
		for i, b := range s.body {
			if i > 0 && m.view == inSummary {
				m.end()
			}
			m.block(b)
		}
		m.end()
	}
	if strings.TrimSpace(d.footer) != "" {
		m.printf("\n%s.\n", escaped(d.footer))
	}
	if m.view == inSummary {
		m.printf("\n")
	}
	m.end()
	if m.page.Len() == 0 {
		return nil
	}
	if m.left > 0 {
		fmt.Fprintf(&m.page, "\n**%s left out**, because the summary of a step has at most 1 MiB; other reports have all.\n", plural(m.left, "part"))
	}
	_, err := io.WriteString(w, m.page.String())
	return err
}

func (m *markdown) head(d *document) {
	m.printf("# %s\n", escaped(d.heading+d.verdict.word))
	if d.alarm != "" {
		m.printf("\n**%s**\n", escaped(d.alarm))
	}
	if d.verdict.sentence != "" {
		m.printf("\n%s.\n", escaped(capital(d.verdict.sentence)))
	}
	if len(d.verdict.reasons) > 0 {
		m.block(items{all: says(d.verdict.reasons)})
	}
	var parts []text
	for _, f := range d.facts {
		parts = append(parts, f.value)
	}
	if len(parts) > 0 {
		m.block(joined(parts, orderSep))
	}
	if len(d.tally) > 0 {
		var counts []string
		for _, s := range d.tally {
			counts = append(counts, m.text(text{s}))
		}
		m.printf("\n%s%s\n", escapedSpaces(d.counts), strings.Join(counts, orderSep))
	}
	for _, n := range d.notes {
		m.printf("\nNote: %s.\n", escaped(n))
	}
}

func (m *markdown) block(b block) {
	switch b := b.(type) {
	case text:
		m.printf("\n%s\n", m.text(b))
	case facts:
		m.printf("\n")
		for _, f := range b {
			m.printf("- **%s**: %s\n", escaped(f.name), m.text(f.value))
		}
	case items:
		m.printf("\n")
		for _, t := range b.all {
			if len(t) > 0 && t[0].as == asBadge {
				t = append(text{strongly(t[0].text), {text: " "}}, t[1:]...)
			}
			m.printf("- %s\n", m.text(t))
		}
	case table:
		m.table(b)
	case command:
		m.printf("\n")
		m.fenced("", "sh", string(b))
	case filtered:
		for _, b := range b.body {
			m.block(b)
		}
	case foldable:
		m.printf("\n<details><summary>%s</summary>\n", html.EscapeString(flat(b.title)))
		for _, b := range b.body {
			m.block(b)
		}
		m.printf("\n</details>\n")
	case cards:
		for _, c := range b.all {
			m.card(c)
		}
	}
}

// text returns a text without what is below it.
func (m *markdown) text(t text) string {
	var b strings.Builder
	for i, s := range t {
		words := escapedSpaces(s.words(0))
		switch {
		case s.as == asBelow || words == "":
			continue
		case s.as == asStrong || s.as == asBadge && s.look.tone == "bad":
			words = "**" + words + "**"
		}
		b.WriteString(words)
		if s.as == asBadge && i+1 < len(t) && !strings.HasPrefix(t[i+1].words(0), " ") {
			b.WriteString(" ")
		}
	}
	return strings.TrimSpace(b.String())
}

func (m *markdown) table(t table) {
	m.printf("\n|")
	for _, c := range t.columns {
		m.printf(" %s |", escaped(strings.ToLower(c.Title)))
	}
	m.printf("\n|")
	for _, c := range t.columns {
		if c.Number {
			m.printf("---:|")
			continue
		}
		m.printf("---|")
	}
	m.printf("\n")
	for _, r := range t.rows {
		m.printf("|")
		for _, c := range r.cells {
			m.printf(" %s |", m.text(c))
		}
		m.printf("\n")
	}
}

// card draws a broken rule; in a summary it is folded, and has not all of its places.
func (m *markdown) card(c card) {
	places, folded := c.places, m.view == inSummary
	if folded {
		m.end()
		places = places[:min(len(places), fullPlaces)]
		message := cut(line(strings.Join(strings.Fields(c.places[0].verdict.Message), " ")), 200)
		// The title is HTML, in which Markdown is not read.
		m.printf("\n<details><summary><b>%s</b> %s</summary>\n", html.EscapeString(line(c.rule.ID)), html.EscapeString(message))
	}
	m.printf("\n### %s (%s)\n\n", escaped(c.rule.ID), escaped(c.rule.Level))
	if c.rule.Text != "" {
		m.printf("%s", escaped(c.rule.Text))
		if c.rule.Source != "" {
			m.printf(" *%s*", escaped(c.rule.Source))
		}
		m.printf("\n\n")
	}
	for _, p := range places {
		m.place(p)
	}
	if n := len(c.places) - len(places); n > 0 {
		m.printf("\n%s more\n", plural(n, "place"))
	}
	for _, n := range c.names {
		m.printf("\n%s\n", capital(m.text(n)))
	}
	if folded {
		m.printf("\n</details>\n")
		m.end()
	}
}

// place draws one item: location, message, and the command that reproduces it.
func (m *markdown) place(p place) {
	where := escaped(p.where())
	if p.scenario != "" {
		where = strings.TrimSpace("**" + where + "** " + escaped(axesText(p.axes)))
	}
	m.printf("- %s: %s\n", where, escaped(p.verdict.Message))
	if len(p.verdict.Counts) > 0 {
		m.printf("  (orders: %s)\n", escaped(ordersText(p.verdict.Counts)))
	}
	if len(p.again) == 0 && p.replay != "" {
		m.fenced("  ", "sh", line(p.replay))
	}
	for _, r := range p.again {
		m.fenced("  ", "sh", strings.TrimRight(clean(r.Text), "\n"))
		if said := triedText(r); said != "" {
			m.printf("\n  %s\n", escaped(said))
		}
	}
	if p.excerpt != "" {
		m.printf("\n  <details><summary>Bytes on the wire</summary>\n")
		m.fenced("  ", "text", clean(p.excerpt))
		m.printf("\n  </details>\n")
	}
}

// fenced draws text as a code block; no run of backticks in it ends the block.
func (m *markdown) fenced(in, kind, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.printf("\n%s%s%s\n%s%s\n%s%s\n", in, fence, kind, in, strings.ReplaceAll(text, "\n", "\n"+in), in, fence)
}

// markup escapes the special characters of Markdown and of HTML inside it.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "!", `\!`,
)

// escaped returns text on one line, without control characters and markup.
func escaped(text string) string {
	return markup.Replace(line(strings.Join(strings.Fields(text), " ")))
}

// escapedSpaces is like escaped, and keeps a space at each end, beside which there is another part of a text.
func escapedSpaces(text string) string {
	head, tail := strings.HasPrefix(text, " "), strings.HasSuffix(text, " ")
	switch text = escaped(text); {
	case text == "" && head:
		return " "
	case head:
		text = " " + text
	}
	if tail {
		text += " "
	}
	return text
}
