package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"assay/internal/record/bundle"
)

// rules adds the changes of rules, and the flaky ones, to a group.
func rules(g *bundle.HistoryGroup, runs []Run) {
	names := map[string]bool{}
	for i := range runs {
		for rule := range runs[i].Rules {
			names[rule] = true
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(names)) {
		var row strings.Builder
		for i := range runs {
			row.WriteByte(letter(runs[i].Rules[rule]))
		}
		verdicts := row.String()
		judged := strings.ReplaceAll(verdicts, "-", "")
		flips := 0
		for i := 1; i < len(judged); i++ {
			if (judged[i] == '.') != (judged[i-1] == '.') {
				flips++
			}
		}
		if flips >= leastFlips || strings.Contains(verdicts, "f") {
			g.Flaky = append(g.Flaky, bundle.HistoryFlaky{Rule: rule, Flips: flips, Verdicts: verdicts})
			continue
		}
		turned(g, runs, rule, verdicts)
	}
}

// turned adds the changes between pass and not of a rule that is not flaky.
func turned(g *bundle.HistoryGroup, runs []Run, rule, verdicts string) {
	last := -1
	for i := range verdicts {
		if verdicts[i] == '-' {
			continue
		}
		if last >= 0 && (verdicts[i] == '.') != (verdicts[last] == '.') {
			kind, word := bundle.HistoryBroken, "is broken"
			if verdicts[i] == '.' {
				kind, word = bundle.HistoryFixed, "passes"
			}
			c := change(runs, kind, rule, i)
			c.Before, c.After = runs[last].Rules[rule], runs[i].Rules[rule]
			c.Message = fmt.Sprintf("%s %s since %s", rule, word, nth(runs, i))
			if i-last > 1 {
				c.Message += fmt.Sprintf(" (it was not judged in the %d runs before)", i-last-1)
			}
			g.Changes = append(g.Changes, c)
		}
		last = i
	}
}

// change returns a change that began with a run.
func change(runs []Run, kind, name string, at int) bundle.HistoryChange {
	return bundle.HistoryChange{Kind: kind, Name: name, Since: at + 1, Run: runs[at].ID, Path: runs[at].Path}
}

// nth names a run.
func nth(runs []Run, at int) string {
	r := &runs[at]
	return fmt.Sprintf("run %d of %d (%s, %s)", at+1, len(runs), r.Path, r.Started.Format(time.DateTime))
}

// The numbers of runs of the medians in a trend.
const (
	recent = 3
	usual  = 20
)

// trends adds the figures, and their change points.
func trends(g *bundle.HistoryGroup, runs []Run) {
	names := map[string]bool{}
	for i := range runs {
		for name := range runs[i].Values {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := bundle.HistoryTrend{Name: name, Unit: unitOf(name)}
		var values []float64
		var at []int // the runs of the values
		for i := range runs {
			v, ok := runs[i].Values[name]
			if !ok {
				t.Values = append(t.Values, nil)
				continue
			}
			t.Values, values, at = append(t.Values, &v), append(values, v), append(at, i)
		}
		if n := len(values); n > recent {
			t.Recent, t.Usual = median(values[n-recent:]), median(values[max(0, n-recent-usual):n-recent])
		}
		g.Trends = append(g.Trends, t)
		for _, p := range points(values) {
			kind, word := bundle.HistoryWorse, "rose"
			if p.after < p.before {
				kind, word = bundle.HistoryBetter, "fell"
			}
			c := change(runs, kind, name, at[p.at])
			c.Before, c.After, c.P = figure(p.before, t.Unit), figure(p.after, t.Unit), p.p
			c.Message = fmt.Sprintf("%s %s from %s to %s with %s", name, word, c.Before, c.After, nth(runs, at[p.at]))
			g.Changes = append(g.Changes, c)
		}
	}
}

// figure returns a value with its unit.
func figure(v float64, unit string) string {
	if unit == "us" {
		d := time.Duration(v * float64(time.Microsecond))
		if d >= time.Second {
			return d.Round(10 * time.Millisecond).String()
		}
		return d.Round(10 * time.Microsecond).String()
	}
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
