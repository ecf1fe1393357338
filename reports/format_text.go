package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// mostRows limits the rows and items of a text, unless Verbose is set.
const mostRows = 40

// writeText draws a document on a terminal: what ran, the parts, and the verdict on the last lines, where a
// terminal ends.
func writeText(w io.Writer, d *document, s Style) error {
	t := &textReport{canvas: newCanvas(w, s), d: d}
	if d.alarm != "" {
		t.block(painted{}, d.alarm, red)
	}
	var parts []string
	for _, f := range d.facts {
		parts = append(parts, flat(f.value))
	}
	if len(parts) > 0 {
		t.flow(painted{}, parts)
	}
	if d.early {
		t.verdict(1)
	}
	for _, s := range d.sections {
		if !s.tail {
			t.section(s)
		}
	}
	if t.long {
		t.row(t.paint(dim, strings.Repeat("─", t.n)))
	}
	for _, s := range d.sections {
		if s.tail {
			t.section(s)
		}
	}
	for _, n := range d.notes {
		t.block(painted{"note  ", yellow}, n, plain)
	}
	if len(d.tally) > 0 || d.counts != "" {
		var parts []string
		for _, s := range d.tally {
			parts = append(parts, line(s.text))
		}
		t.flow(painted{text: d.counts}, parts)
	}
	t.blocks("", []block{d.limits})
	t.verdict(len(d.verdict.reasons))
	return t.err
}

type textReport struct {
	*canvas
	d *document
	// long is set once there is a part between the head and the end, which then have a line between them.
	long bool
}

// verdict draws the verdict with its first reasons.
func (t *textReport) verdict(most int) {
	v := t.d.verdict
	text := v.sentence
	for i, r := range v.reasons {
		if i == most {
			text += "; and " + plural(len(v.reasons)-i, "other reason")
			break
		}
		if i == 0 && text != "" {
			text += ": "
		} else if i > 0 {
			text += "; "
		}
		text += line(r)
	}
	t.block(painted{v.word + "  ", v.tint()}, text, plain)
}

func (t *textReport) section(s section) {
	view := inText
	if t.style.Verbose {
		view = inVerbose
	}
	if !s.shows(view) {
		return
	}
	if !s.tail && t.begun {
		t.row()
	}
	t.long = t.long || !s.tail
	indent := ""
	if !s.bare {
		indent = "  "
		t.block(painted{}, line(s.title), bold)
	}
	t.blocks(indent, s.body)
	if _, ok := s.body[0].(table); ok && s.tail {
		t.row()
	}
}

func (t *textReport) blocks(in string, all []block) {
	for i, b := range all {
		switch b := b.(type) {
		case text:
			t.item(in, b, 0)
		case facts:
			wide := 10
			for _, f := range b {
				wide = max(wide, min(width(line(f.name)), 20))
			}
			for _, f := range b {
				t.para(say(in, faintly(pad(line(f.name), wide)+"  ")), f.value)
			}
		case items:
			t.items(in, b)
		case table:
			t.table(in, b)
		case cards:
			t.cards(b)
		case command:
			t.command(len(in), string(b))
		case filtered:
			t.blocks(in, b.body)
		case foldable:
			switch {
			case b.always:
				t.blocks(in, b.body)
			case t.style.Verbose:
				if i > 0 {
					t.row()
				}
				t.para(say(in), b.title)
				t.blocks(in+"  ", b.body)
			}
		}
	}
}

// tints are the colours of spans.
func (s part) tint() tint {
	switch s.as {
	case asStrong:
		return bold
	case asFaint, asBelow:
		return dim
	case asBadge:
		return s.look.tint()
	default:
		return plain
	}
}

func (l look) tint() tint {
	if l.symbol == "⚠" {
		return magenta
	}
	return map[page.Tone]tint{page.Good: green, page.Bad: red, page.Warn: yellow, page.Info: cyan, page.Mute: dim}[l.tone]
}

// words returns a span as text, with as many names as fit in room columns; 0 is any number.
func (s part) words(room int) string {
	switch {
	case s.as == asQuote:
		return clean(s.text)
	case s.as != asNames:
		return line(s.text)
	}
	names := make([]string, len(s.names))
	for i, n := range s.names {
		names[i] = line(n)
	}
	if room == 0 {
		return strings.Join(names, ", ")
	}
	return some(names, room)
}

// flat returns a text on one line without what is below it.
func flat(t text) string {
	var b strings.Builder
	for _, s := range t {
		if s.as != asBelow {
			b.WriteString(line(s.words(0)))
		}
	}
	return b.String()
}

// para draws a text behind a lead; behind one of more than half of the width it begins on the next line.
func (t *textReport) para(lead, body text) {
	if width(flat(lead)) > t.n/2 {
		t.hang(nil, lead, 0)
		lead = say(strings.Repeat(" ", min(leadingSpaces(flat(lead))+2, t.n/2)))
	}
	t.hang(lead, body, 0)
}

// hang draws a text behind a lead, the other lines indented by the width of the lead and some columns more.
func (t *textReport) hang(lead, body text, more int) {
	in, room := width(flat(lead)), 0
	if !t.style.Verbose {
		room = t.room(in)
	}
	for _, s := range body { // names take what room the others leave
		if s.as != asNames && s.as != asBelow {
			room -= width(s.words(0))
		}
	}
	var whole strings.Builder
	var drawn []painted
	var after text
	for _, s := range body {
		if s.as == asBelow {
			after = append(after, s)
			continue
		}
		words := s.words(max(room, 1))
		if t.style.Verbose {
			words = s.words(0)
		}
		drawn = append(drawn, painted{words, s.tint()})
		whole.WriteString(words)
	}
	inks := t.paintSpans(lead)
	for _, l := range wrap(whole.String(), t.n-in-more) {
		t.row(append(inks, t.repaint(l, &drawn)...)...)
		inks = []ink{t.text(strings.Repeat(" ", in+more))}
	}
	for _, s := range after {
		if t.style.Verbose {
			t.block(painted{text: strings.Repeat(" ", in)}, line(s.text), dim)
		}
	}
}

// shortNames is the maximum height of a list of names, in lines, unless Verbose is set.
const shortNames = 3

// room returns the number of columns in a few lines of wrapped text.
func (c *canvas) room(indent int) int { return shortNames*(c.n-indent) - c.n/2 }

func (t *textReport) paintSpans(all text) (inks []ink) {
	for _, s := range all {
		inks = append(inks, t.paint(s.tint(), s.words(0)))
	}
	return inks
}

// repaint colours a wrapped line as the parts that it is from, and takes it off them. Wrapping changes spaces only.
func (t *textReport) repaint(l string, from *[]painted) (inks []ink) {
	var run strings.Builder
	var colour tint
	flush := func() {
		inks = append(inks, t.paint(colour, run.String()))
		run.Reset()
	}
	for _, r := range l {
		for len(*from) > 0 && ((*from)[0].text == "" || strings.HasPrefix((*from)[0].text, " ") && r != ' ' || strings.HasPrefix((*from)[0].text, "\n")) {
			if head := &(*from)[0]; head.text != "" {
				head.text = head.text[1:]
			} else {
				*from = (*from)[1:]
			}
		}
		if len(*from) > 0 {
			head := &(*from)[0]
			if head.tint != colour {
				flush()
				colour = head.tint
			}
			head.text = strings.TrimPrefix(head.text, string(r))
		}
		run.WriteRune(r)
	}
	flush()
	return inks
}

// limited returns how many of n rows or items a text shows.
func (t *textReport) limited(n, short int) int {
	if short == 0 {
		short = mostRows
	}
	if t.style.Verbose || n <= short+1 {
		return n
	}
	return short
}

func (t *textReport) more(in string, n int, noun string) {
	if n > 0 {
		t.row(t.text(in), t.paint(dim, "and "+plural(n, "more "+noun)+"; -v and --format json have all"))
	}
}

// item draws a text behind its badge, if it begins with one, or else with further lines indented.
func (t *textReport) item(in string, one text, more int) {
	if len(one) > 0 && one[0].as == asBadge {
		t.para(say(in, badged(one[0].look, one[0].text+"  ")), one[1:])
		return
	}
	t.hang(say(in), one, more)
}

func (t *textReport) items(in string, l items) {
	shown := t.limited(len(l.all), l.short)
	for _, one := range l.all[:shown] {
		t.item(in, one, 2)
	}
	t.more(in, len(l.all)-shown, "item")
}

// table draws aligned columns where the room is enough, and else each row on lines of its own.
func (t *textReport) table(in string, b table) {
	shown := b.rows[:t.limited(len(b.rows), b.short)]
	last := len(b.columns) - 1
	g := grid{in: in, columns: b.columns, wide: make([]int, len(b.columns)), gap: "  "}
	headed := b.alike || len(b.columns) > 3
	for _, c := range b.columns {
		headed = headed || c.Number
	}
	for i, c := range b.columns {
		if headed {
			g.wide[i] = width(line(c.Title))
		}
		for _, r := range shown {
			g.wide[i] = max(g.wide[i], width(flat(r.cells[i])))
		}
	}
	if g.fixed(last+1) > t.n && b.columns[last].Number { // numbers do not wrap
		g.gap = " "
		g.wide[0] = max(min(g.wide[0], 8), g.wide[0]-max(0, g.fixed(last+1)-t.n))
	}
	whole := g.fixed(last+1) <= t.n
	below := b.lines || !whole && g.fixed(last)+24 > t.n
	if !b.lines && !whole && (b.alike || g.fixed(last) > t.n) {
		t.stacked(in, b, shown)
	} else {
		if headed {
			head := row{}
			for _, c := range b.columns {
				head.cells = append(head.cells, say(faintly(c.Title)))
			}
			if below {
				head.cells[last] = nil
			}
			t.gridRow(g, head, below)
		}
		for _, r := range shown {
			t.gridRow(g, r, below)
		}
	}
	t.more(in, len(b.rows)-len(shown), b.noun)
}

// grid has the widths of the columns of a table.
type grid struct {
	in, gap string
	columns []page.Column
	wide    []int
}

// fixed is the width of the first n columns, with a gap behind each but the last of all.
func (g grid) fixed(n int) int {
	total := width(g.in)
	for i, w := range g.wide[:n] {
		total += w
		if i < len(g.wide)-1 {
			total += len(g.gap)
		}
	}
	return total
}

// cell aligns a text in a column.
func (g grid) cell(i int, t text) (out text) {
	for _, s := range t {
		if s.as != asBelow {
			out = append(out, part{text: s.words(0), as: s.as, look: s.look})
		}
	}
	fill := g.wide[i] - width(flat(out))
	switch {
	case fill < 0:
		return say(cut(flat(out), g.wide[i]))
	case g.columns[i].Number:
		return append(say(strings.Repeat(" ", fill)), out...)
	}
	return append(out, say(strings.Repeat(" ", fill))...)
}

// gridRow draws a row; the last cell is wrapped, or if it is below, on lines of its own.
func (t *textReport) gridRow(g grid, r row, below bool) {
	lead, last := text{{text: g.in}}, len(r.cells)-1
	for i, c := range r.cells[:last] {
		if lead = append(lead, g.cell(i, c)...); !below || i < last-1 {
			lead = append(lead, say(g.gap)...)
		}
	}
	defer t.below(g.in, r.cells[:last])
	final := r.cells[last]
	if g.columns[last].Number {
		final = g.cell(last, final)
	}
	if !below {
		t.hang(lead, final, 0)
		return
	}
	if width(flat(lead)) <= t.n {
		t.row(t.paintSpans(lead)...)
	} else {
		t.hang(lead[:1], lead[1:], 4)
	}
	if flat(final) != "" {
		t.hang(say(g.in+"    "), final, 0)
	}
}

// below draws with Verbose what is below cells.
func (t *textReport) below(in string, all []text) {
	for _, s := range slices.Concat(all...) {
		if s.as == asBelow && s.text != "" && t.style.Verbose {
			t.block(painted{text: in + "    "}, line(s.text), dim)
		}
	}
}

// stacked draws each row on lines of its own. Columns of the same kind share a line where their values are equal.
func (t *textReport) stacked(in string, b table, rows []row) {
	title := 0
	for _, c := range b.columns[1:] {
		title = max(title, width(line(c.Title)))
	}
	for _, r := range rows {
		head, from := say(in, r.cells[0]), 1
		if !b.alike && width(flat(head)) < 16 {
			head, from = say(head, "  ", r.cells[1]), 2
		}
		t.hang(nil, head, width(in)+4)
		wide := 0
		for _, c := range r.cells[1:] {
			wide = max(wide, width(flat(c)))
		}
		var told []string
		for i, c := range r.cells[from:] {
			i += from
			value := flat(c)
			if value == "" || b.alike && slices.Contains(told, value) {
				continue
			}
			told = append(told, value)
			if !b.alike {
				t.para(say(in, "  ", faintly(pad(strings.ToLower(line(b.columns[i].Title)), title)+"  ")), c)
				continue
			}
			var titles []string
			for n, other := range r.cells[1:] {
				if flat(other) == value {
					titles = append(titles, line(b.columns[n+1].Title))
				}
			}
			t.para(say(in, "  ", c, strings.Repeat(" ", wide-width(value)+2)), say(strings.Join(titles, ", ")))
		}
	}
}

// fullCards limits the cards in full unless Verbose is set, if they are to be brief.
const fullCards = 6

// cards draws broken rules.
func (t *textReport) cards(all cards) {
	for i, c := range all.all {
		if i > 0 {
			t.row()
		}
		if all.brief && i == fullCards && len(all.all) > fullCards+1 && !t.style.Verbose {
			t.row(t.paint(bold, fmt.Sprintf("and %d more %ss (-v shows them in full)", len(all.all)-i, all.noun)))
			for _, c := range all.all[i:] {
				t.item("", say(badged(lookOf(c.rule.Verdict), pad(line(string(c.rule.Verdict)), 15)), c.rule.ID, "  ", faintly(c.about)), 0)
				t.row("    ", t.paint(dim, cut(line(c.places[0].verdict.Message), t.n-4)))
			}
			return
		}
		t.card(all, c)
	}
}

// fullPlaces limits the places of a rule in full, unless Verbose is set.
const fullPlaces = 5

func (t *textReport) card(all cards, c card) {
	indent := t.ruleHead(c.rule)
	if c.rule.Verdict == bundle.Error {
		t.block(painted{text: indent}, assayDefect, dim)
	}
	for i, p := range c.places {
		if i == fullPlaces && !t.style.Verbose && len(c.places) > fullPlaces+1 {
			t.row()
			t.row("  ", t.paint(dim, fmt.Sprintf("and in %d more:", len(c.places)-i)))
			for _, p := range c.places[i:] {
				t.placeHead(p)
			}
			break
		}
		if all.brief && !t.style.Verbose && len(p.again) > 1 {
			p.again = p.again[:1] // the machine-readable reports have the others
		}
		t.place(p, i == 0 || t.style.Verbose)
	}
	for _, n := range c.names {
		t.para(say("    "), n)
	}
}

// label returns the verdict as the heading of a card.
func label(c bundle.Conclusion) string {
	return strings.ToUpper(strings.ReplaceAll(line(string(c)), "-", " "))
}

// ruleHead draws a rule with its verdict, text and source; indent is the indentation of
// its details.
func (t *textReport) ruleHead(v bundle.RuleVerdict) (indent string) {
	head := label(v.Verdict) + "  "
	level := line(v.Level)
	name := cut(line(v.ID), max(0, t.n-width(head)-width(level)-2))
	fill := strings.Repeat(" ", max(0, t.n-width(head)-width(name)-width(level)))
	t.row(t.paint(tintOf(v.Verdict), head), t.paint(bold, name), t.text(fill), t.paint(dim, level))
	if indent = strings.Repeat(" ", width(head)); len(indent) > 7 {
		indent = "      "
	}
	if v.Text != "" {
		t.block(painted{text: indent}, v.Text, plain)
	}
	if v.Source != "" {
		t.block(painted{text: indent}, v.Source, dim)
	}
	return indent
}

// place draws one scenario: location, message, and the command that reproduces it, and
// the bytes on the wire if excerpt is set.
func (t *textReport) place(p place, excerpt bool) {
	t.row()
	t.placeHead(p)
	const in = "    "
	if p.verdict.Message != "" {
		t.block(painted{text: in}, p.verdict.Message, plain)
	}
	if p.verdict.Seen != "" {
		t.block(painted{in + "seen  ", dim}, line(p.verdict.Seen), plain)
	}
	if len(p.verdict.Counts) > 0 {
		t.flow(painted{in + "orders  ", dim}, orderParts(p.verdict.Counts))
	}
	if excerpt && p.excerpt != "" {
		for l := range strings.SplitSeq(clean(p.excerpt), "\n") {
			t.row(t.text(in), t.paint(excerptTint(l), cut(l, t.n-len(in))))
		}
	}
	if len(p.again) == 0 && p.replay != "" {
		t.command(len(in), p.replay)
	}
	for _, r := range p.again {
		if r.Kind == bundle.ReproduceShell { // a page of bytes
			t.block(painted{text: in}, "the JSON, Markdown and JUnit reports have a shell script with the exact bytes", dim)
		} else {
			t.command(len(in), line(r.Text))
		}
		if said := triedText(r); said != "" {
			t.block(painted{text: in + "  "}, said, dim)
		}
	}
}

// excerptTint returns the colour of a line of an excerpt.
func excerptTint(l string) tint {
	if strings.Contains(l, "◀") || strings.Contains(l, "^^") {
		return red
	}
	return dim
}

func (t *textReport) placeHead(p place) {
	name, axes := p.where(), axesText(p.axes)
	if 2+width(name)+2+width(axes) <= t.n {
		t.ends(painted{"  " + name, cyan}, painted{axes, dim})
		return
	}
	t.block(painted{text: "  "}, name, cyan)
	if axes != "" {
		t.block(painted{text: "  "}, axes, dim)
	}
}
