package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/internal/bundle"
)

// mostTrends limits the figures of a text.
const mostTrends = 12

// historyTerminal draws a history: for each group what changed, the flaky rules, and the figures.
func historyTerminal(w io.Writer, h *bundle.History, s Style) error {
	c := newCanvas(w, s)
	if len(h.Groups) == 0 {
		c.row(c.text("No bundles."))
	}
	for i := range h.Groups {
		if i > 0 {
			c.row()
		}
		historyGroup(c, &h.Groups[i])
	}
	if len(h.Skipped) > 0 {
		c.row()
		c.row(c.paint(bold, "Left out"))
		for _, skip := range h.Skipped[:min(len(h.Skipped), mostRows)] {
			c.block(painted{text: "  "}, line(skip.Path)+": "+line(skip.Why), dim)
		}
	}
	return c.err
}

// groupTitle names a group and its time.
func groupTitle(g *bundle.HistoryGroup) string {
	return fmt.Sprintf("%s of %s, profile %s: %s, %s to %s", g.Kind, line(g.Target), line(g.Profile), plural(len(g.Runs), "run"),
		g.Runs[0].Started.UTC().Format(time.DateOnly), g.Runs[len(g.Runs)-1].Started.UTC().Format(time.DateOnly))
}

func historyGroup(c *canvas, g *bundle.HistoryGroup) {
	c.block(painted{}, groupTitle(g), bold)
	if len(g.Changes) == 0 {
		c.block(painted{text: "  "}, "nothing changed", green)
	}
	for _, change := range g.Changes[:min(len(g.Changes), mostRows)] {
		color := green
		if change.Kind == bundle.HistoryBroken || change.Kind == bundle.HistoryWorse {
			color = red
		}
		c.block(painted{"  " + pad(change.Kind, 8), color}, line(change.Message), plain)
	}
	if n := len(g.Changes) - mostRows; n > 0 {
		c.row(c.text(fmt.Sprintf("  and %d more; --format json has all", n)))
	}
	for _, f := range g.Flaky[:min(len(g.Flaky), mostRows)] {
		c.block(painted{"  " + pad("flaky", 8), yellow}, flakyText(&f), plain)
	}
	for _, t := range shownTrends(g) {
		c.block(painted{"  " + pad("trend", 8), dim}, trendText(&t), plain)
	}
}

// flakyText describes a flaky rule.
func flakyText(f *bundle.HistoryFlaky) string {
	verdicts := f.Verdicts
	if over := len(verdicts) - mostRows; over > 0 {
		verdicts = "…" + verdicts[over:]
	}
	return fmt.Sprintf("%s changed %s: %s", line(f.Rule), plural(f.Flips, "time"), line(verdicts))
}

// shownTrends returns the figures with enough runs.
func shownTrends(g *bundle.HistoryGroup) []bundle.HistoryTrend {
	all := slices.DeleteFunc(slices.Clone(g.Trends), func(t bundle.HistoryTrend) bool { return t.Usual == 0 && t.Recent == 0 })
	return all[:min(len(all), mostTrends)]
}

// trendText compares the last three runs with those before.
func trendText(t *bundle.HistoryTrend) string {
	show := func(v float64) string {
		if t.Unit == "us" {
			return shortSpan(int64(v))
		}
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%s: %s in the last three runs, %s before", line(t.Name), show(t.Recent), show(t.Usual))
}

// historyMarkdown renders a history for a wiki.
func historyMarkdown(w io.Writer, h *bundle.History) error {
	var b strings.Builder
	b.WriteString("# History\n\n")
	for i := range h.Groups {
		g := &h.Groups[i]
		fmt.Fprintf(&b, "## %s\n\n", escaped(groupTitle(g)))
		if len(g.Changes) == 0 {
			b.WriteString("Nothing changed.\n\n")
		} else {
			b.WriteString("| what | name | before | after | since |\n|---|---|---|---|---|\n")
			for _, c := range g.Changes[:min(len(g.Changes), mostRows)] {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | run %d of %d: %s |\n", c.Kind, escaped(line(c.Name)), escaped(c.Before), escaped(c.After), c.Since, len(g.Runs), escaped(line(c.Path)))
			}
			b.WriteString("\n")
		}
		for _, f := range g.Flaky[:min(len(g.Flaky), mostRows)] {
			fmt.Fprintf(&b, "- flaky: %s\n", escaped(flakyText(&f)))
		}
		for _, t := range shownTrends(g) {
			fmt.Fprintf(&b, "- %s\n", escaped(trendText(&t)))
		}
		b.WriteString("\n")
	}
	return writePage(w, b.String())
}
