package reports

import (
	"fmt"
	"strconv"

	"assay/internal/bundle"
	"assay/reports/page"
)

// counterSection compares the gateway's counters with the ledger of the driver.
func (v htmlLoad) counterSection() page.Section {
	m, l := &v.r.Metrics, &v.r.Ledger
	badge := page.Badge(page.Mute, "○", "not compared")
	switch {
	case uncompared(m) != "":
	case len(m.Violations) > 0:
		badge = page.Badge(page.Bad, "✗", plural(len(m.Violations), "violation"))
	default:
		badge = page.Badge(page.Good, "✓", "they agree")
	}
	body := page.El("p", nil, badge, page.Text(" "+capital(cut(line(countersText(m)), mostShort))+"."))
	columns := []page.Column{{Title: "Processes"}, {Title: "Driver's ledger", Number: true}}
	counted := m.Before != nil && m.After != nil
	if counted {
		columns = append(columns, page.Column{Title: "Gateway before", Number: true}, page.Column{Title: "Gateway after", Number: true}, page.Column{Title: "Difference", Number: true})
	}
	var rows []page.Row
	for _, c := range ledgerRows(l, m) {
		cells := []page.HTML{page.Text(c.name), page.Text(grouped(c.ledger))}
		if counted {
			cells = append(cells, page.Text(figure(c.before)), page.Text(figure(c.after)), page.Text(figure(c.after-c.before)))
		}
		rows = append(rows, page.Row{Cells: cells})
	}
	body += page.Table("Ledger and counters", columns, rows) + page.El("p", page.Class("note"), page.Text(capital(ledgerText(l))+"."))
	var items []page.HTML
	for _, text := range m.Violations[:min(len(m.Violations), mostFindings)] {
		items = append(items, page.El("li", nil, page.Text(cut(line(text), mostShort))))
	}
	if len(items) > 0 {
		body += page.El("ul", nil, items...) + page.More(len(m.Violations)-mostFindings, "violation", elsewhere)
	}
	return page.Section{ID: "counters", Title: "Ledger and counters", Body: body}
}

// ledgerRow is one count of processes, by the driver and by the gateway.
type ledgerRow struct {
	name          string
	ledger        int64
	before, after float64
}

func ledgerRows(l *bundle.LoadLedger, m *bundle.LoadMetrics) []ledgerRow {
	var before, after bundle.LoadCounters
	if m.Before != nil && m.After != nil {
		before, after = *m.Before, *m.After
	}
	return []ledgerRow{
		{"Started", l.Started, before.Started, after.Started}, {"Ended with 0", l.OK, before.OK, after.OK},
		{"Ended otherwise", l.Error, before.Error, after.Error}, {"Killed", l.Killed, before.Killed, after.Killed},
		{"Open", l.Open, before.Active, after.Active},
	}
}

// figure returns a counter without needless digits.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// driverSection says what the driver took, so that a reader can trust the figures.
func (v htmlLoad) driverSection() page.Section {
	body := page.El("p", nil, page.Text(capital(cut(line(driverText(v.r)), mostShort))+"."))
	var items []page.HTML
	notes := append(workerLines(v.r), clockNotes(v.r)...)
	if text := workersText(v.r); text != "" {
		notes = append([]string{"workers: " + text}, notes...)
	}
	for _, text := range notes[:min(len(notes), mostFindings)] {
		items = append(items, page.El("li", nil, page.Text(capital(cut(line(text), mostShort))+".")))
	}
	if len(items) > 0 {
		body += page.El("ul", nil, items...)
	}
	return page.Section{ID: "driver", Title: "The driver's own cost", Body: body}
}

// originSection says where the report comes from.
func (v htmlLoad) originSection() page.Section {
	r, p := v.r, &v.r.Plan
	facts := []page.Fact{
		{Name: "Tool", Value: page.Text(line(r.Tool.Name + " " + r.Tool.Version))},
		{Name: "Target", Value: page.Text(line(r.Target.URL))},
		{Name: "Profile", Value: page.Text(line(r.Target.Profile))},
		{Name: "Command", Value: page.El("code", nil, page.Text(cut(line(p.Command), mostShort)))},
		{Name: "Check", Value: page.Text(cut(line(p.Check), mostShort))},
		{Name: "Seed", Value: page.Text(strconv.FormatUint(p.Seed, 10))},
		{Name: "Offered", Value: page.Textf("%.1f %% of the planned load", r.Streams.Offered*100)},
	}
	for _, f := range []struct {
		name string
		ms   int64
	}{{"Ramp", p.RampMS}, {"Warm-up", p.WarmupMS}, {"Planned duration", p.DurationMS}} {
		if f.ms > 0 {
			facts = append(facts, page.Fact{Name: f.name, Value: page.Text(took(f.ms))})
		}
	}
	var rows []page.Row
	for i, s := range p.Stages[:min(len(p.Stages), mostFindings)] {
		rows = append(rows, page.Row{Cells: []page.HTML{page.Text(strconv.Itoa(i + 1)), page.Text(took(s.DurationMS)), page.Text(fmt.Sprintf("%g", s.From)), page.Text(fmt.Sprintf("%g", s.To))}})
	}
	body := page.Facts(facts)
	if len(rows) > 0 {
		body += page.Table("Stages of the plan", []page.Column{{Title: "Stage"}, {Title: "Duration", Number: true}, {Title: "Streams a second, from", Number: true}, {Title: "to", Number: true}}, rows)
	}
	return page.Section{ID: "origin", Title: "Where this report comes from", Body: body}
}
