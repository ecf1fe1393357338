package reports

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/internal/record/bundle"
)

// mostTrends limits the figures of a group.
const mostTrends = 12

// historyDocument tells of a history: for each group what changed, the flaky rules, and the figures.
func historyDocument(h *bundle.History) *document {
	changed := 0
	d := &document{kind: "Assay history", heading: "History: ", verdict: verdict{look: success, word: "NOTHING CHANGED"}}
	for i := range h.Groups {
		g := &h.Groups[i]
		changed += len(g.Changes)
		d.sections = append(d.sections, historyGroup("group-"+strconv.Itoa(i+1), g))
	}
	if changed > 0 {
		d.verdict = verdict{look: warning, word: "CHANGED", sentence: plural(changed, "change")}
	}
	if len(h.Groups) == 0 {
		d.verdict = verdict{look: warning, word: "NO BUNDLES"}
	}
	var left items
	for _, skip := range h.Skipped {
		left.all = append(left.all, say(skip.Path, ": ", faintly(skip.Why)))
	}
	d.sections = append(d.sections, section{id: "skipped", title: "Left out", count: len(left.all), body: blockOf(len(left.all), left)})
	return d
}

func historyGroup(id string, g *bundle.HistoryGroup) section {
	t := table{title: "Changes", columns: columns("What", "Message"), noun: "change"}
	put := func(l look, word, message string) { t.rows = append(t.rows, rowOf(badged(l, word), message)) }
	if len(g.Changes) == 0 {
		put(success, "same", "nothing changed")
	}
	for _, change := range g.Changes {
		l := success
		if change.Kind == bundle.HistoryBroken || change.Kind == bundle.HistoryWorse {
			l = failure
		}
		put(l, change.Kind, change.Message)
	}
	for _, f := range g.Flaky {
		put(warning, "flaky", flakyText(&f))
	}
	for _, one := range shownTrends(g) {
		put(neutral, "trend", trendText(&one))
	}
	title := fmt.Sprintf("%s of %s, profile %s: %s, %s to %s", g.Kind, line(g.Target), line(g.Profile), plural(len(g.Runs), "run"),
		g.Runs[0].Started.UTC().Format(time.DateOnly), g.Runs[len(g.Runs)-1].Started.UTC().Format(time.DateOnly))
	return section{id: id, title: title, body: []block{t}}
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
