package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// DiffMarkdown writes a comparison for a comment on a pull request: regressions
// unfolded, everything else folded. Text from a target is escaped.
func DiffMarkdown(w io.Writer, d *bundle.Diff) error {
	var b strings.Builder
	word, sentence := diffVerdict(d)
	fmt.Fprintf(&b, "# %s\n\n%s; %s.\n\n", word, escaped(strings.Join(diffParts(d), ", ")), escaped(sentence))
	b.WriteString("| | run | setup | verdict |\n|---|---|---|---|\n")
	for _, s := range []struct {
		name string
		of   bundle.DiffSide
	}{{"A", d.A}, {"B", d.B}} {
		parts := sideParts(s.of)
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.name, escaped(s.of.Name), escaped(strings.Join(parts[:len(parts)-1], ", ")), escaped(s.of.Verdict))
	}
	for _, c := range d.Context {
		fmt.Fprintf(&b, "\n**Different setup:** %s: %s → %s\n", escaped(c.What), escaped(orNone(c.A)), escaped(orNone(c.B)))
	}
	for _, list := range []struct {
		word string
		ids  []string
	}{{"New causes", d.NewCauses}, {"Gone causes", d.GoneCauses}} {
		if len(list.ids) > 0 {
			fmt.Fprintf(&b, "\n**%s of failures:** %s\n", list.word, escaped(strings.Join(list.ids, ", ")))
		}
	}
	diffTable(&b, "Worse", d.Regressions, false)
	diffTable(&b, "Better", d.Fixes, true)
	diffTable(&b, "Changed", d.Changes, true)
	diffLists(&b, d)
	diffLatency(&b, d)
	return writePage(w, b.String())
}

func diffTable(b *strings.Builder, heading string, all []bundle.VerdictChange, folded bool) {
	if len(all) == 0 {
		return
	}
	if folded {
		fmt.Fprintf(b, "\n<details><summary>%s (%d)</summary>\n\n", heading, len(all))
	} else {
		fmt.Fprintf(b, "\n## %s\n\n", heading)
	}
	b.WriteString("| rule | scenario | change | seen now |\n|---|---|---|---|\n")
	for _, v := range all {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", escaped(v.Rule), escaped(whereOf(v.Scenario, v.Axes)), escaped(change(v)), escaped(cut(line(v.Message), 300)))
	}
	if folded {
		b.WriteString("\n</details>\n")
	}
}

// diffLists lists new and gone items, and changed responses, features and counts.
func diffLists(b *strings.Builder, d *bundle.Diff) {
	var items []string
	put := func(format string, args ...any) { items = append(items, escaped(fmt.Sprintf(format, args...))) }
	for _, s := range d.New {
		put("new scenario %s (%s)", s.ID, s.Verdict)
	}
	for _, s := range d.Vanished {
		put("gone scenario %s (was %s)", s.ID, s.Verdict)
	}
	for _, id := range d.NewRules {
		put("new rule %s", id)
	}
	for _, id := range d.VanishedRules {
		put("gone rule %s", id)
	}
	for _, s := range d.Seen {
		put("response for %s in %s: %s → %s", s.Rule, orRun(s.Scenario), orNone(s.Was), orNone(s.Now))
	}
	for _, f := range d.Features {
		put("feature %s: %s → %s", f.ID, orNone(string(f.Was)), orNone(string(f.Now)))
	}
	for _, c := range d.Counts {
		put("%s: %d → %d", c.Name, c.A, c.B)
	}
	if len(items) > 0 {
		fmt.Fprintf(b, "\n<details><summary>New, gone and changed (%d)</summary>\n\n- %s\n\n</details>\n", len(items), strings.Join(items, "\n- "))
	}
}

func diffLatency(b *strings.Builder, d *bundle.Diff) {
	if len(d.Latency) == 0 && d.LatencyNote == "" {
		return
	}
	b.WriteString("\n## Latency\n\n")
	if d.LatencyNote != "" {
		fmt.Fprintf(b, "- %s\n", escaped(d.LatencyNote))
	}
	told, rest := latencies(d, false)
	for _, l := range told {
		fmt.Fprintf(b, "- **%s**: %s\n", escaped(latencyName(l)), escaped(latencyText(l)))
	}
	for _, text := range rest {
		fmt.Fprintf(b, "- %s\n", escaped(text))
	}
}
