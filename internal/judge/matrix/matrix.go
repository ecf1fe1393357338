package matrix

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/internal/record/bundle"
)

// Run is the run of one gateway.
type Run struct {
	// Name is the name of the column; names are distinct.
	Name string
	// Path is the given directory or file.
	Path string
	// Report is the result of the run; it must not be nil.
	Report *bundle.Report
	// Info and Observations come from the bundle; without a bundle they are empty, and endings unknown.
	Info         *bundle.Run
	Observations []*bundle.Observation
	Unfinished   bool
	// Partial describes the missing parts of the bundle.
	Partial []string
}

// levels are the levels of rules, in the order of the matrix.
var levels = []string{"must", "should", "may"}

// Of compares the runs, one column each.
func Of(runs []Run) *bundle.Matrix {
	m := &bundle.Matrix{Schema: bundle.MatrixSchema, Context: context(runs), Rules: []bundle.MatrixRule{}, Areas: []bundle.MatrixArea{}}
	columns := make([]map[string]result, len(runs))
	rows := map[string]bool{}
	for i, r := range runs {
		columns[i] = results(r)
		for id := range columns[i] {
			rows[id] = true
		}
		m.Gateways = append(m.Gateways, gateway(r, columns[i]))
	}
	for id := range rows {
		m.Rules = append(m.Rules, row(id, columns))
	}
	slices.SortFunc(m.Rules, func(a, b bundle.MatrixRule) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(kindRank(a.Kind), kindRank(b.Kind)), cmp.Compare(a.ID, b.ID))
	})
	m.Areas = areas(m.Rules)
	m.Words, m.EndingWords = words(m)
	return m
}

// rank orders levels; unknown ones come last.
func rank(level string) int {
	if i := slices.Index(levels, level); i >= 0 {
		return i
	}
	return len(levels)
}

func kindRank(k bundle.MatrixKind) int {
	return slices.Index([]bundle.MatrixKind{bundle.MatrixDiffers, bundle.MatrixCoverage, bundle.MatrixSame}, k)
}

// gateway returns the head of a column.
func gateway(r Run, rules map[string]result) bundle.MatrixGateway {
	g := bundle.MatrixGateway{
		Name: r.Name, Path: r.Path, Run: r.Report.Run, Tool: r.Report.Tool, Target: r.Report.Target, Profile: r.Report.Profile,
		Verdict: r.Report.Verdict, Exit: r.Report.Exit, Unfinished: r.Unfinished, Partial: r.Partial, Levels: []bundle.MatrixLevel{},
	}
	for _, level := range levels {
		l := bundle.MatrixLevel{Level: level, Verdicts: map[bundle.Conclusion]int{}}
		for _, rule := range rules {
			if rule.level == level {
				l.Verdicts[rule.verdict]++
			}
		}
		g.Levels = append(g.Levels, l)
	}
	if r.Info != nil {
		g.Endings = map[bundle.Ending]int{}
		for _, o := range r.Observations {
			for e, n := range endings(o) {
				g.Endings[e] += n
			}
		}
	}
	return g
}

// row returns the cells of a rule.
func row(id string, columns []map[string]result) bundle.MatrixRule {
	area, _, _ := strings.Cut(id, ".")
	m := bundle.MatrixRule{ID: id, Area: area}
	for _, c := range columns {
		if r, judged := c[id]; judged {
			m.Text = cmp.Or(m.Text, r.text)
			if m.Level == "" || rank(r.level) < rank(m.Level) {
				m.Level = r.level
			}
		}
	}
	for _, c := range columns {
		r := c[id]
		cell := bundle.MatrixCell{Verdict: r.verdict, Ended: worstEnding(r.endings)}
		if r.verdict != bundle.Pass {
			cell.Scenario, cell.Message = r.scenario, r.message
		}
		if r.level != m.Level {
			cell.Level = r.level
		}
		m.Cells = append(m.Cells, cell)
	}
	m.Kind, m.OtherEndings = kind(m.Cells), otherEndings(m.Cells)
	return m
}

// untested reports whether a verdict says nothing about the gateway; "" is a rule that was not judged.
func untested(c bundle.Conclusion) bool {
	return c == "" || c == bundle.Unsupported || c == bundle.NotRun
}

func kind(cells []bundle.MatrixCell) bundle.MatrixKind {
	same, trouble := true, false
	for _, c := range cells {
		same = same && c.Verdict == cells[0].Verdict
		trouble = trouble || c.Verdict != bundle.Pass && !untested(c.Verdict)
	}
	switch {
	case same:
		return bundle.MatrixSame
	case trouble:
		return bundle.MatrixDiffers
	}
	return bundle.MatrixCoverage
}

// otherEndings reports whether responses ended differently, of those gateways that sent any.
func otherEndings(cells []bundle.MatrixCell) bool {
	seen := map[bundle.Ending]bool{}
	for _, c := range cells {
		if c.Ended != "" {
			seen[alike(c.Ended)] = true
		}
	}
	return len(seen) > 1
}

// areas counts the rules on which all gateways agree: must before should before may, the
// areas by name, the worst verdict first.
func areas(rules []bundle.MatrixRule) []bundle.MatrixArea {
	counts := map[bundle.MatrixArea]int{}
	for _, r := range rules {
		if r.Kind == bundle.MatrixSame {
			counts[bundle.MatrixArea{Level: r.Level, Area: r.Area, Verdict: r.Cells[0].Verdict}]++
		}
	}
	all := []bundle.MatrixArea{}
	for a, n := range counts {
		a.Rules = n
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b bundle.MatrixArea) int {
		return cmp.Or(cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(a.Area, b.Area), cmp.Compare(b.Verdict.Rank(), a.Verdict.Rank()))
	})
	return all
}

// context lists the differences in setup. It ignores the URLs, which always differ.
func context(runs []Run) []bundle.MatrixContext {
	all := []bundle.MatrixContext{}
	put := func(what string, of func(r *Run) string) {
		c, values := bundle.MatrixContext{What: what}, map[string]bool{}
		for i := range runs {
			v := of(&runs[i])
			c.Values = append(c.Values, v)
			values[v] = true
		}
		if len(values) > 1 {
			all = append(all, c)
		}
	}
	put("tool", func(r *Run) string { return strings.TrimSpace(r.Report.Tool.Name + " " + r.Report.Tool.Version) })
	put("profile", func(r *Run) string { return r.Report.Profile })
	put("shell", func(r *Run) string { return strings.Join(r.Report.Target.Shell, " ") })
	if !slices.ContainsFunc(runs, func(r Run) bool { return r.Info == nil }) {
		put("selection", func(r *Run) string { return cmp.Or(r.Info.Select, "all") })
		put("strict", func(r *Run) string { return strconv.FormatBool(r.Info.Strict) })
		put("known failures", func(r *Run) string { return cmp.Or(r.Info.KnownFile, "none") })
	}
	return all
}

// result is a rule in one run.
type result struct {
	verdict           bundle.Conclusion
	level, text       string
	scenario, message string
	endings           map[bundle.Ending]int
}

// results returns the rules of a run by id.
func results(r Run) map[string]result {
	observed := map[string]map[bundle.Ending]int{}
	for _, o := range r.Observations {
		if observed[o.Scenario] == nil {
			observed[o.Scenario] = map[bundle.Ending]int{}
		}
		for e, n := range endings(o) {
			observed[o.Scenario][e] += n
		}
	}
	all := map[string]result{}
	for _, rule := range r.Report.Rules {
		one := result{verdict: rule.Verdict, level: rule.Level, endings: map[bundle.Ending]int{}}
		for _, s := range rule.Scenarios {
			for e, n := range observed[s] {
				one.endings[e] += n
			}
		}
		all[rule.ID] = one
	}
	explain(all, "", r.Report.RunRules)
	for i := range r.Report.Scenarios {
		explain(all, r.Report.Scenarios[i].ID, r.Report.Scenarios[i].Rules)
	}
	return all
}

// explain adds the first message of each rule's worst verdict, and its sentence.
func explain(all map[string]result, scenario string, verdicts []bundle.RuleVerdict) {
	for _, v := range verdicts {
		r, known := all[v.ID]
		if !known {
			continue
		}
		r.text = cmp.Or(r.text, v.Text)
		if v.Verdict == r.verdict && r.message == "" {
			r.scenario, r.message = scenario, v.Message
		}
		all[v.ID] = r
	}
}

// used returns the verdicts and endings that occur in the matrix.
func used(m *bundle.Matrix) (map[bundle.Conclusion]bool, map[bundle.Ending]bool) {
	verdicts, ends := map[bundle.Conclusion]bool{}, map[bundle.Ending]bool{}
	for _, r := range m.Rules {
		for _, c := range r.Cells {
			verdicts[c.Verdict] = true
			ends[c.Ended] = true
		}
	}
	for _, g := range m.Gateways {
		for e := range g.Endings {
			ends[e] = true
		}
	}
	return verdicts, ends
}
