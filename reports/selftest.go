package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// Selftest draws the result of a self-test as text: survivors and failed variants first,
// then one line per fault with the scenarios that killed it, with Full the other rules
// that each fault breaks, and the score. Verbose adds the source of every fault and the
// message that killed it.
func Selftest(w io.Writer, r *bundle.SelftestReport, s Style) error {
	c := newCanvas(w, s)
	for _, good := range []bool{false, true} {
		for _, f := range r.Faults {
			if f.Killed == good {
				c.fault(f)
			}
		}
		for _, v := range r.Variants {
			if v.Clean == good {
				c.variant(v)
			}
		}
	}
	if len(r.IdleScenarios) > 0 {
		c.block(painted{"idle      ", yellow}, "killed no fault: "+line(strings.Join(r.IdleScenarios, ", ")), plain)
	}
	c.blame(r.Faults)
	c.selftestSummary(r)
	return c.err
}

// selftestColumns is the width of the word on the left.
const selftestColumns = 10

func (c *canvas) fault(f bundle.FaultResult) {
	word, colour := "killed", green
	by := "by " + strings.Join(f.By, ", ")
	if !f.Killed {
		word, colour = "SURVIVED", red
		by = "no scenario detected it; it breaks " + strings.Join(f.Breaks, ", ")
	}
	name := line(f.ID)
	if f.Title != "" && f.Title != f.ID {
		name += ": " + line(f.Title)
	}
	in := strings.Repeat(" ", selftestColumns)
	c.block(painted{pad(word, selftestColumns), colour}, name, plain)
	c.block(painted{in, plain}, line(by), dim)
	if f.Saw != "" && (c.style.Verbose || !f.Killed) {
		c.block(painted{in + "saw  ", dim}, line(f.Saw), dim)
	}
	if f.Source != "" && c.style.Verbose {
		c.block(painted{in + "from  ", dim}, line(f.Source), dim)
	}
}

func (c *canvas) variant(v bundle.VariantResult) {
	if v.Clean {
		c.block(painted{pad("clean", selftestColumns), green}, line(v.ID), plain)
		for _, by := range v.Once {
			c.block(painted{strings.Repeat(" ", selftestColumns) + "failed once, passed when run alone  ", yellow}, line(by), dim)
		}
		return
	}
	c.block(painted{pad("BLAMED", selftestColumns), red}, line(v.ID)+", which is legal", plain)
	for _, by := range v.Failing {
		c.block(painted{strings.Repeat(" ", selftestColumns) + "by  ", dim}, line(by), dim)
	}
}

func (c *canvas) selftestSummary(r *bundle.SelftestReport) {
	killed, clean := selftestScore(r)
	c.row(c.paint(dim, strings.Repeat("─", c.n)))
	score := []string{
		fmt.Sprintf("%d of %s killed (%.0f %%)", killed, plural(len(r.Faults), "fault"), r.Score*100),
		fmt.Sprintf("%d of %s clean", clean, plural(len(r.Variants), "variant")),
	}
	if r.Shard != "" {
		score = append(score, "part "+line(r.Shard)+" of them")
	}
	c.flow(painted{}, score, orderSep)
	word, sentence := selftestVerdict(r)
	colour := map[string]tint{"TRUSTED": green, "NOT TRUSTED": red}[word]
	if colour == plain {
		colour = yellow
	}
	c.block(painted{word + "  ", colour}, fmt.Sprintf("%s (exit %d)", sentence, r.Exit), plain)
}

// selftestScore counts the killed faults and the clean variants.
func selftestScore(r *bundle.SelftestReport) (killed, clean int) {
	for _, f := range r.Faults {
		if f.Killed {
			killed++
		}
	}
	for _, v := range r.Variants {
		if v.Clean {
			clean++
		}
	}
	return killed, clean
}

// selftestVerdict returns the verdict in a word, and why.
func selftestVerdict(r *bundle.SelftestReport) (word, sentence string) {
	killed, clean := selftestScore(r)
	misblamed := slices.ContainsFunc(r.Faults, func(f bundle.FaultResult) bool { return f.Misblamed() })
	switch {
	case r.Exit == 130:
		return "INTERRUPTED", "not every fault was tested"
	case r.Exit == 0 && r.Shard != "":
		return "TRUSTED", "every fault of this part was detected and no legal variant of it failed"
	case r.Exit == 0:
		return "TRUSTED", "every fault was detected and no legal variant failed"
	case killed < len(r.Faults):
		return "NOT TRUSTED", "a fault survived: a scenario is missing or too lenient"
	case clean < len(r.Variants):
		return "NOT TRUSTED", "a legal variant failed: a scenario or a rule is too strict"
	case misblamed:
		return "NOT TRUSTED", "a fault breaks an unrelated rule: a scenario has an unproven assumption, or a foundation is missing"
	}
	return "INCONCLUSIVE", "the self-test could not finish"
}

// SelftestJSON writes the result as one JSON value of schema assay.selftest/v1
// and a newline. idle_scenarios, causes and blame are null when they are nil; other lists are never null.
func SelftestJSON(w io.Writer, r *bundle.SelftestReport) error {
	full := *r
	full.Schema = bundle.SelftestSchema
	full.Survivors = list(r.Survivors)
	full.Faults = make([]bundle.FaultResult, len(r.Faults))
	for i, f := range r.Faults {
		f.Breaks, f.By = list(f.Breaks), list(f.By)
		f.Blame = slices.Clone(f.Blame)
		for n := range f.Blame {
			f.Blame[n].Scenarios = list(f.Blame[n].Scenarios)
		}
		full.Faults[i] = f
	}
	full.Variants = make([]bundle.VariantResult, len(r.Variants))
	for i, v := range r.Variants {
		v.Failing = list(v.Failing)
		full.Variants[i] = v
	}
	return writeJSON(w, full)
}
