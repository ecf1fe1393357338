package docs_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/fakes/zoo"
)

const faultsHead = `<!-- Generated from the zoo by go test ./docs -update. -->

# The zoo

The zoo is the reference gateway, broken in one way or different in one legal way. ` + "`assay selftest`" + ` runs the scenarios
against each of its gateways: every fault must be detected by a rule that it names, and no variant may fail.
` + "`assay serve --fault ID`" + ` and ` + "`--variant ID`" + ` start one of them, to test a client or to try a scenario.

- [Faults](#faults): %d gateways that break [rules](rules.md). Each comes from a real bug, or from a mistake that implementations make.
- [Variants](#variants): %d gateways that are legal, with the sentence that allows the difference, or the servers that have it.
- [Whole gateways](#whole-gateways): %d gateways with several differences, or in trouble. ` + "`assay serve --like ID`" + ` starts one of them.

`

// faultsPage is docs/faults.md: the faults by the area of the rules that they break, and the variants.
func faultsPage(c *catalogue) string {
	var b strings.Builder
	fmt.Fprintf(&b, faultsHead, len(c.faults), len(c.variants), len(zoo.Likes()))
	b.WriteString("## Faults\n")
	faults := map[string][]zoo.Fault{}
	for _, f := range c.faults {
		a := area(f.Breaks[0])
		faults[a] = append(faults[a], f)
	}
	for _, a := range slices.Sorted(maps.Keys(faults)) {
		fmt.Fprintf(&b, "\n### Faults of %s\n", a)
		for _, f := range faults[a] {
			fmt.Fprintf(&b, "\n#### %s\n\n%s.\n\n- breaks: %s\n- from: %s\n", f.ID, special.Replace(f.Title),
				links("rules.md", f.Breaks), linked(f.Source))
		}
	}
	b.WriteString("\n## Faults that need time\n\nNo scenario sees them: [`assay soak`](soak.md) does.\n")
	for _, f := range zoo.SoakFaults() {
		fmt.Fprintf(&b, "\n#### %s\n\n%s.\n\n- from: %s\n", f.ID, special.Replace(f.Title), linked(f.Source))
	}
	b.WriteString("\n## Variants\n")
	variants := map[string][]zoo.Variant{}
	for _, v := range c.variants {
		a := cmp.Or(v.Area, "any surface")
		variants[a] = append(variants[a], v)
	}
	for _, a := range slices.Sorted(maps.Keys(variants)) {
		fmt.Fprintf(&b, "\n### Variants of %s\n", a)
		for _, v := range variants[a] {
			fmt.Fprintf(&b, "\n#### %s\n\n%s.\n\n- basis: %s\n", v.ID, special.Replace(v.Title), linked(v.Source))
		}
	}
	b.WriteString("\n## Whole gateways\n\nThe rules that they break are all that a report should name as causes.\n")
	for _, l := range zoo.Likes() {
		fmt.Fprintf(&b, "\n### %s\n\nThis is %s.\n\n", l.ID, special.Replace(l.Title))
		for _, d := range l.Deviations {
			fmt.Fprintf(&b, "- %s%s.\n", special.Replace(d.Title), breaks(d.Rules))
		}
	}
	return b.String()
}

// breaks says which rules a deviation breaks. Those of the whole run are not in rules.md.
func breaks(rules []string) string {
	var out []string
	for _, id := range rules {
		if area(id) == "run" {
			out = append(out, "`"+id+"`")
		} else {
			out = append(out, links("rules.md", []string{id}))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (breaks " + strings.Join(out, ", ") + ")"
}
