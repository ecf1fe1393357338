package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// matrixMarkdown writes a matrix for a page or a comment: the differences unfolded, everything
// else folded. Text from a target is escaped.
func matrixMarkdown(w io.Writer, m *bundle.Matrix) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Matrix\n\n%s.\n\n| gateway | target | setup | verdict | rules | responses ended |\n|---|---|---|---|---|---|\n", escaped(matrixSummary(m)))
	for _, g := range m.Gateways {
		parts := gatewayParts(g)
		last := len(parts) - 1
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", escaped(line(g.Name)), escaped(parts[0]), escaped(strings.Join(parts[1:last], ", ")),
			escaped(parts[last]), escaped(levelsText(g)), escaped(endingsText(g)))
	}
	for _, g := range m.Gateways {
		for _, note := range gatewayNotes(g) {
			fmt.Fprintf(&b, "\n**%s:** %s\n", escaped(line(g.Name)), escaped(note))
		}
	}
	for _, c := range m.Context {
		fmt.Fprintf(&b, "\n**Different setup:** %s\n", escaped(contextText(m, c)))
	}
	for _, level := range matrixLevels(m) {
		if rows := matrixRows(m, level, bundle.MatrixDiffers); len(rows) > 0 {
			fmt.Fprintf(&b, "\n## %s rules that differ\n\n", escaped(level))
			matrixTable(&b, m, rows)
			matrixSeen(&b, m, rows)
		}
	}
	matrixGroups(&b, "Tested on only some gateways", coverageGroups(m))
	matrixGroups(&b, "The same verdict, another end of responses", endingGroups(m))
	matrixAgreed(&b, m)
	matrixLegend(&b, m)
	return writePage(w, b.String())
}

// matrixTable writes two columns for each gateway: the verdict, and how responses ended.
func matrixTable(b *strings.Builder, m *bundle.Matrix, rows []bundle.MatrixRule) {
	b.WriteString("| rule |")
	for _, g := range m.Gateways {
		fmt.Fprintf(b, " %s | ended |", escaped(line(g.Name)))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|---|", len(m.Gateways)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", escaped(line(r.ID)))
		for _, c := range r.Cells {
			verdict := escaped(verdictCell(c))
			if c.Verdict.FailsRun() || c.Verdict == bundle.Error {
				verdict = "**" + verdict + "**"
			}
			fmt.Fprintf(b, " %s | %s |", verdict, escaped(line(string(c.Ended))))
		}
		b.WriteString("\n")
	}
}

// matrixSeen writes what was seen of each broken or undecided rule.
func matrixSeen(b *strings.Builder, m *bundle.Matrix, rows []bundle.MatrixRule) {
	var items []string
	for _, r := range rows {
		for i, c := range r.Cells {
			if c.Message != "" {
				items = append(items, fmt.Sprintf("%s, %s: %s", escaped(line(r.ID)), escaped(line(m.Gateways[i].Name)), escaped(cut(line(c.Message), 300))))
			}
		}
	}
	if len(items) > 0 {
		fmt.Fprintf(b, "\n<details><summary>What was seen (%d)</summary>\n\n- %s\n\n</details>\n", len(items), strings.Join(items, "\n- "))
	}
}

func matrixGroups(b *strings.Builder, heading string, all []ruleGroup) {
	if len(all) == 0 {
		return
	}
	n := 0
	for _, g := range all {
		n += len(g.rules)
	}
	fmt.Fprintf(b, "\n<details><summary>%s (%d)</summary>\n\n", heading, n)
	for _, g := range all {
		fmt.Fprintf(b, "- %s: %s: %s\n", plural(len(g.rules), "rule"), escaped(g.text), escaped(strings.Join(g.rules, ", ")))
	}
	b.WriteString("\n</details>\n")
}

func matrixAgreed(b *strings.Builder, m *bundle.Matrix) {
	if len(m.Areas) == 0 {
		return
	}
	b.WriteString("\n## The same on all\n\n| level | area | rules |\n|---|---|---|\n")
	for _, level := range matrixLevels(m) {
		for _, a := range areaLines(m, level) {
			fmt.Fprintf(b, "| %s | %s | %s |\n", escaped(level), escaped(line(a.name)), escaped(a.text))
		}
	}
}

func matrixLegend(b *strings.Builder, m *bundle.Matrix) {
	b.WriteString("\n## Words\n\n| verdict | meaning |\n|---|---|\n")
	for _, w := range m.Words {
		fmt.Fprintf(b, "| %s | %s |\n", escaped(line(w.Word)), escaped(line(w.Text)))
	}
	if len(m.EndingWords) == 0 {
		return
	}
	b.WriteString("\n" + matrixEndingNote + "\n\n| ended | meaning |\n|---|---|\n")
	for _, w := range m.EndingWords {
		fmt.Fprintf(b, "| %s | %s |\n", escaped(line(w.Word)), escaped(line(w.Text)))
	}
}
