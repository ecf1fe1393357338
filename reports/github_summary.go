package reports

import (
	"fmt"
	"html"
	"io"
	"strings"

	"assay/internal/bundle"
)

// SummaryLimit is the size of the summary of a step of GitHub Actions, in bytes. When there is
// more, the runner drops all of it.
const SummaryLimit = 1 << 20

// leftOutRoom is the room for the line that counts what is left out.
const leftOutRoom = 200

// summary is a page of Markdown of a limited size. Blocks that do not fit are counted.
type summary struct {
	b    strings.Builder
	room int
	left int
}

func newSummary(s Style) *summary {
	if s.Room == 0 {
		s.Room = SummaryLimit
	}
	return &summary{room: s.Room - leftOutRoom}
}

// put appends a block that counts as n findings.
func (s *summary) put(n int, block string) {
	block = clean(block)
	if block == "" {
		return
	}
	if s.left > 0 || s.b.Len()+len(block) > s.room {
		s.left += n
		return
	}
	s.b.WriteString(block)
}

// writeTo writes the page; nothing when not even its first block fitted.
func (s *summary) writeTo(w io.Writer) error {
	if s.b.Len() == 0 {
		return nil
	}
	if s.left > 0 {
		fmt.Fprintf(&s.b, "\n**%s left out**, because the summary of a step has at most 1 MiB; other reports have all.\n", plural(s.left, "part"))
	}
	_, err := io.WriteString(w, s.b.String())
	return err
}

// Summary writes the report as the summary of a step of GitHub Actions: the verdict and the
// counts first, each cause folded, then broken rules without a cause, and what could not be judged. It
// takes at most s.Room bytes, and counts what does not fit. It is a part of a page, for other
// commands of the step append theirs.
func Summary(w io.Writer, r *bundle.Report, s Style) error {
	page := newSummary(s)
	block := func(n int, draw func(m *markdown)) {
		m := markdown{r: r}
		draw(&m)
		page.put(n, m.b.String())
	}
	block(1, (*markdown).header)
	if len(r.Causes) > 0 {
		page.put(1, "\n## Causes\n")
	}
	for _, c := range causesOf(r) {
		block(1, func(m *markdown) {
			m.folded(c.Rule, c.Message, func() {
				m.ruleHead(bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Text: c.Title, Source: c.source})
				m.place(c.place)
				m.names(followText(len(c.Follows)), c.Follows)
				m.names("Not judged because of it", c.Unjudged)
			})
		})
	}
	for _, part := range []struct {
		title string
		of    []finding
	}{
		{"Broken", unexplained(r, findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass))},
		{"Defects in Assay", findingsOf(r, bundle.Error)},
	} {
		if len(part.of) > 0 {
			page.put(1, "\n## "+part.title+"\n")
		}
		for _, f := range part.of {
			block(1, func(m *markdown) {
				m.folded(f.rule.ID, f.places[0].verdict.Message, func() {
					m.ruleHead(f.rule)
					for _, p := range f.places[:min(len(f.places), fullPlaces)] {
						m.place(p)
					}
					if n := len(f.places) - fullPlaces; n > 0 {
						m.printf("\n%s more\n", plural(n, "place"))
					}
				})
			})
		}
	}
	block(1, (*markdown).open)
	block(1, func(m *markdown) { m.briefly("Advisories", bundle.Advisory) })
	page.put(1, "\n")
	return page.writeTo(w)
}

// folded writes a section that is opened by a click on its title. The title is HTML, in which
// Markdown is not read.
func (m *markdown) folded(title, message string, body func()) {
	message = cut(line(strings.Join(strings.Fields(message), " ")), 200)
	m.printf("\n<details><summary><b>%s</b> %s</summary>\n", html.EscapeString(line(title)), html.EscapeString(message))
	body()
	m.printf("\n</details>\n")
}

// loadSummary writes the report of a load run as the summary of a step of GitHub Actions.
func loadSummary(w io.Writer, r *bundle.LoadReport, s Style) error {
	page := newSummary(s)
	for _, draw := range []func(*loadPage){(*loadPage).header, (*loadPage).thresholds, (*loadPage).outcomes, (*loadPage).latencies, (*loadPage).counters} {
		m := loadPage{r: r}
		draw(&m)
		page.put(1, m.b.String())
	}
	page.put(1, "\n")
	return page.writeTo(w)
}
