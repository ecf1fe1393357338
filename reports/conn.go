package reports

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
)

// stampColumns is the width of the time and direction on the left.
const stampColumns = 14

// conn draws one connection from dial to end.
func (t *transcript) conn(it *bundle.Iteration, c *bundle.Conn) {
	var mine []*bundle.Exchange
	for i := range it.Exchanges {
		if it.Exchanges[i].Conn == c.ID {
			mine = append(mine, &it.Exchanges[i])
		}
	}
	zero := c.Dialed
	if len(mine) > 0 {
		zero = slices.MinFunc(mine, func(a, b *bundle.Exchange) int { return int(a.Invoked.N - b.Invoked.N) }).Invoked
	}
	t.row()
	t.connHead(c, zero.T-it.Started.T)
	l := &timeline{}
	t.connMoments(l, c)
	whole := bodies(c, mine)
	for _, e := range mine {
		if t.only != nil && t.only != e {
			continue
		}
		t.exchangeMoments(l, answer{Exchange: e, conn: &c.Received, body: whole[e]}, len(mine) > 1)
		if e.Switched() {
			t.socketSent(l, c)
		}
	}
	t.frameMoments(l, c, mine)
	if len(mine) == 0 && len(c.H2) == 0 {
		t.rawMoments(l, c)
	}
	for _, m := range l.sorted() {
		t.moment(m, zero)
	}
}

func (t *transcript) connHead(c *bundle.Conn, after int64) {
	name := fmt.Sprintf("CONNECTION %d", c.ID)
	if c.Name != "" {
		name += " " + line(c.Name)
	}
	facts := "times from the first request, +" + span(after) + " into the iteration"
	if width(name)+2+width(facts) > t.n {
		facts = "first request at +" + span(after)
	}
	t.ends(painted{name, bold}, painted{facts, dim})
}

func (t *transcript) connMoments(l *timeline, c *bundle.Conn) {
	dialed := "dialed"
	if c.Remote != "" {
		dialed += " " + line(c.Remote)
	}
	l.add(moment{at: c.Dialed, way: noted, head: painted{dialed, dim}})
	if c.DialError != "" {
		l.add(moment{at: c.Dialed, way: wrong, head: painted{"not connected: " + line(c.DialError), red}})
	}
	if c.Connected != nil {
		l.add(moment{at: *c.Connected, way: noted, head: painted{"connected", dim}})
	}
	if c.Ended == nil {
		return
	}
	who := "we"
	if c.Ended.By == "peer" {
		who = "the target"
	}
	how := map[string]string{"fin": "closed (FIN)", "rst": "reset (RST)", "half": "closed its half", "silent": "fell silent"}[c.Ended.How]
	if how == "" {
		how = "ended: " + line(c.Ended.How)
	}
	text := who + " " + how
	if c.Ended.Err != "" {
		text += ": " + line(c.Ended.Err)
	}
	l.add(moment{at: c.Ended.At, way: noted, head: painted{text, dim}})
}

// rawMoments draws the bytes of a connection on which nothing was decoded.
func (t *transcript) rawMoments(l *timeline, c *bundle.Conn) {
	for _, side := range []struct {
		way    direction
		blob   *bundle.Blob
		chunks []bundle.Chunk
	}{{sent, &c.Sent, c.Writes}, {received, &c.Received, c.Reads}} {
		_, data := known(side.blob, 0)
		for i, ch := range side.chunks {
			if i == t.limit(foldFrames()) {
				l.add(moment{at: ch.At, way: side.way, head: painted{fmt.Sprintf("… and %s more in %s", size(side.blob.Len-ch.Off), plural(len(side.chunks)-i, "piece")), dim}})
				break
			}
			m := moment{at: ch.At, way: side.way, head: painted{fmt.Sprintf("@%d  %s", ch.Off, plural(ch.Len, "byte")), plain}}
			if from, to := ch.Off, ch.Off+int64(ch.Len); from >= 0 && to >= from && to <= int64(len(data)) {
				m.lines = t.bytes(from, data[from:to], nil)
			}
			l.add(m)
		}
	}
}

// bytes draws a payload as text or, if binary, as folded hexadecimal.
func (t *transcript) bytes(off int64, data []byte, marks []mark) []painted {
	n := t.n - stampColumns - 2
	if len(marks) == 0 && isText(data) {
		return t.textLines(string(data), n)
	}
	var out []painted
	for _, r := range (dump{off, data, marks}).rows(n, t.limit(foldRows())) {
		colour := dim
		if strings.Contains(r, "^^") {
			colour = red
		}
		out = append(out, painted{r, colour})
	}
	return out
}

// textLines cuts text into lines of n columns without regard to words, to show the
// bytes on the wire.
func (t *transcript) textLines(text string, n int) []painted {
	var out []painted
	rest := strings.TrimRight(strings.ReplaceAll(clean(strings.ReplaceAll(text, "\r\n", "\n")), "\n", "⏎\n"), "\n")
	limit := t.limit(foldLines())
	for rest != "" {
		if len(out) == limit {
			return append(out, painted{folded([]byte(text), min(len(rest), len(text))), dim})
		}
		l, after, _ := strings.Cut(rest, "\n")
		if width(l) > n {
			head, tail := split(l, n)
			out = append(out, painted{head, plain})
			rest = tail
			if after != "" {
				rest += "\n" + after
			}
			continue
		}
		out = append(out, painted{l, plain})
		rest = after
	}
	return out
}

// moment draws one moment: time, direction, head, and its lines below.
func (t *transcript) moment(m moment, zero bundle.Stamp) {
	since := m.at.T - zero.T
	sign := "+"
	if since < 0 {
		sign = ""
	}
	stamp := fmt.Sprintf("%11s ", sign+span(since))
	colour := map[direction]tint{sent: cyan, received: green, wrong: red}[m.way]
	lead := t.text(strings.Repeat(" ", stampColumns))
	for i, text := range wrap(m.head.text, t.n-stampColumns) {
		if i > 0 {
			t.row(lead, t.paint(m.head.tint, text))
			continue
		}
		t.row(t.paint(dim, stamp), t.paint(colour, string(m.way)), " ", t.paint(m.head.tint, text))
	}
	for _, below := range m.lines {
		t.row(lead, "  ", t.paint(below.tint, cut(below.text, t.n-stampColumns-2)))
	}
}
