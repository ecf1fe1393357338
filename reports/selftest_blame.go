package reports

import (
	"fmt"
	"strings"

	"assay/internal/bundle"
)

// blame draws the rules that faults break besides their own: a table, each rule that no
// rule of the fault explains, and a summary line. It draws nothing without blame data.
func (c *canvas) blame(faults []bundle.FaultResult) {
	var looked []bundle.FaultResult
	for _, f := range faults {
		if f.Causes != nil {
			looked = append(looked, f)
		}
	}
	if len(looked) == 0 {
		return
	}
	c.row(c.paint(dim, strings.Repeat("─", c.n)))
	c.blameTable(looked)
	unattached, most := 0, 0
	for _, f := range looked {
		c.misblamed(f)
		unattached += f.Unattached
		most = max(most, len(f.Causes))
	}
	c.flow(painted{}, []string{fmt.Sprintf("%s: %d unattached,", plural(len(looked), "fault"), unattached), " at most " + plural(most, "cause")}, "")
}

// blameColumns formats the three numbers of a table line.
const blameColumns = "%6v  %8v  %10v"

func (c *canvas) blameTable(faults []bundle.FaultResult) {
	const head = "rules broken besides its own"
	numbers := fmt.Sprintf(blameColumns, "causes", "attached", "unattached")
	n := width(head)
	for _, f := range faults {
		n = max(n, width(line(f.ID)))
	}
	n = min(n, c.n-width(numbers)-2)
	row := func(name, numbers string, t tint) { c.row(c.paint(t, pad(cut(name, n), n)+"  "+numbers)) }
	row(head, numbers, dim)
	for _, f := range faults {
		t := plain
		if f.Misblamed() {
			t = red
		}
		row(line(f.ID), fmt.Sprintf(blameColumns, len(f.Causes), len(f.Blame)-f.Unattached, f.Unattached), t)
	}
}

// misblamed draws the causes of a fault that breaks unrelated rules, and each such rule.
func (c *canvas) misblamed(f bundle.FaultResult) {
	in := strings.Repeat(" ", selftestColumns)
	if f.Misblamed() {
		c.block(painted{pad("BLAME", selftestColumns), red}, line(f.ID)+", which breaks "+line(strings.Join(f.Breaks, ", ")), plain)
		c.block(painted{in + "causes  ", dim}, line(strings.Join(f.Causes, ", ")), dim)
	}
	for _, b := range f.Blame {
		if !b.Attached {
			c.unattached(b)
		}
	}
	for _, o := range f.Once {
		c.block(painted{pad("once", selftestColumns), yellow}, line(f.ID)+", not when run alone: "+line(o), dim)
	}
}

// unattached draws a rule that no rule of the fault explains, with the message.
func (c *canvas) unattached(b bundle.Blame) {
	in := strings.Repeat(" ", selftestColumns)
	rule := line(b.Rule)
	if b.Cause != b.Rule {
		rule += ", which follows from " + line(b.Cause)
	}
	c.block(painted{in, plain}, rule, plain)
	if len(b.Scenarios) > 0 {
		c.block(painted{in + "  in  ", dim}, line(strings.Join(b.Scenarios, ", "))+"; first on "+b.Axes.String(), dim)
	}
	c.block(painted{in + "  saw  ", dim}, line(b.Message), dim)
}
