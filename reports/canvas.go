package reports

import (
	"fmt"
	"io"
	"strings"
)

// canvas writes lines and keeps the first write error, so that drawing code need not
// check each one.
type canvas struct {
	w     io.Writer
	style Style
	n     int  // columns
	begun bool // once there is a line
	err   error
}

func newCanvas(w io.Writer, s Style) *canvas {
	return &canvas{w: w, style: s, n: s.width()}
}

// row writes one line without trailing spaces.
func (c *canvas) row(parts ...ink) {
	if c.err != nil {
		return
	}
	c.begun = true
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(string(p))
	}
	_, c.err = fmt.Fprintln(c.w, noCommand(strings.TrimRight(b.String(), " ")))
}

// noCommand escapes a line that a runner of GitHub Actions would take for a workflow command: one that
// begins with two colons, or has ##[ anywhere. What a target says may be printed there.
func noCommand(text string) string {
	text = strings.ReplaceAll(text, "##[", `#\x23[`)
	if rest := strings.TrimLeft(text, " "); strings.HasPrefix(rest, "::") {
		return text[:len(text)-len(rest)] + `\x3a` + rest[1:]
	}
	return text
}

func (c *canvas) paint(t tint, text string) ink { return c.style.paint(t, text) }

// text is text without a colour.
func (c *canvas) text(text string) ink { return c.paint(plain, text) }

// ends draws left and right at the two edges; left is truncated if both do not fit.
func (c *canvas) ends(left, right painted) {
	room := c.n - width(right.text)
	if right.text != "" {
		room -= 2
	}
	left.text = cut(left.text, room)
	gap := max(0, c.n-width(left.text)-width(right.text))
	c.row(c.paint(left.tint, left.text), c.text(strings.Repeat(" ", gap)), c.paint(right.tint, right.text))
}

// painted is text with its colour.
type painted struct {
	text string
	tint tint
}

// block draws text wrapped to the width: the first line after lead, the others
// indented by the width of lead. lead has its own colour.
func (c *canvas) block(lead painted, text string, t tint) {
	in := width(lead.text)
	if in > c.n/2 {
		for _, l := range wrap(lead.text, c.n) {
			c.row(c.paint(lead.tint, l))
		}
		lead, in = painted{text: "  "}, 2
	}
	for i, l := range wrap(clean(text), c.n-in) {
		if i == 0 {
			c.row(c.paint(lead.tint, lead.text), c.paint(t, l))
			continue
		}
		c.row(c.text(strings.Repeat(" ", in)), c.paint(t, l))
	}
}

// flow draws parts one after another behind lead, and starts a new line when a part
// does not fit; a part wider than a line is wrapped.
func (c *canvas) flow(lead painted, parts []string) {
	indent := strings.Repeat(" ", min(leadingSpaces(lead.text)+2, c.n/2))
	if width(lead.text) > c.n {
		c.block(painted{}, lead.text, lead.tint)
		lead = painted{text: indent}
	}
	start, current := c.paint(lead.tint, lead.text), ""
	room := c.n - width(lead.text)
	for i, p := range parts {
		if i < len(parts)-1 {
			p += orderSep
		}
		if width(current)+width(strings.TrimRight(p, " ")) > room && (current != "" || start != ink(indent)) {
			c.row(start, c.text(current))
			start, current, room = c.text(indent), "", c.n-len(indent)
		}
		if width(p) > room {
			c.block(painted{text: indent}, p, plain)
			continue
		}
		current += p
	}
	if current != "" || len(parts) == 0 {
		c.row(start, c.text(current))
	}
}

func leadingSpaces(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// command draws a command so that it can be copied.
func (c *canvas) command(indent int, command string) {
	lead := strings.Repeat(" ", indent) + "$ "
	for i, l := range wrapCommand(command, c.n-len(lead)) {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		c.row(c.paint(dim, lead), c.paint(cyan, l))
	}
}
