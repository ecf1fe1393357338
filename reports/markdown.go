package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// Markdown renders for a pull request or a wiki: the verdict and the counts, each cause
// with its best evidence, a section for each broken rule without a cause, undecided
// rules by reason, the advisories, and two folded tables: rules that follow from the
// causes, and all scenarios. Text from a target cannot become markup.
func Markdown(w io.Writer, r *bundle.Report) error {
	m := markdown{r: r}
	m.header()
	m.causes()
	m.section("Broken", unexplained(r, findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass)))
	m.section("Defects in Assay", findingsOf(r, bundle.Error))
	m.open()
	m.briefly("Advisories", bundle.Advisory)
	m.briefly("Known failures", bundle.KnownFailure)
	m.races()
	m.following()
	m.scenarios()
	return writePage(w, m.b.String())
}

// writePage writes a page of Markdown; all of its text is printable.
func writePage(w io.Writer, text string) error {
	_, err := io.WriteString(w, clean(text))
	return err
}

type markdown struct {
	b strings.Builder
	r *bundle.Report
}

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(&m.b, format, args...) }

func (m *markdown) header() {
	word, sentence := verdictText(m.r)
	m.printf("# %s\n\n", word)
	if died := diedText(m.r); died != "" {
		m.printf("**%s**\n\n", escaped(died))
	}
	target := escaped(m.r.Target.URL)
	if m.r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	m.printf("%s, %s\n\n", target, escaped(sentence))
	m.printf("| verdict | scenarios |\n|---|---:|\n")
	all := bundle.Conclusions()
	slices.Reverse(all)
	for _, c := range all {
		if n := m.r.Counts[c]; n > 0 {
			m.printf("| %s | %d |\n", c, n)
		}
	}
	m.printf("\n%s %s, run `%s`, %s.\n", escaped(m.r.Tool.Name), escaped(m.r.Tool.Version), strings.ReplaceAll(line(m.r.Run), "`", "'"), took(m.r.DurationMS))
	m.scope()
	for _, n := range m.r.Notes {
		m.printf("\nNote: %s.\n", escaped(n))
	}
	if text := suggestion(m.r); text != "" {
		m.printf("\nNote: %s.\n", escaped(text))
	}
}

// scope writes what was not tested, a row for each feature and for each other reason, and the allowed deviations.
func (m *markdown) scope() {
	rows := untestedRows(m.r)
	if len(rows) > 0 {
		m.printf("\n| not tested | runs |\n|---|---:|\n")
	}
	for _, u := range rows[:min(len(rows), mostFindings)] {
		m.printf("| %s | %d |\n", escaped(u.why+" "+u.feature), u.runs)
	}
	if more := len(rows) - mostFindings; more > 0 {
		m.printf("\nand %s.\n", plural(more, "other reason"))
	}
	if text := allowed(m.r, 1000); text != "" {
		m.printf("\nAllowed: %s.\n", escaped(text))
	}
}

func (m *markdown) section(title string, findings []finding) {
	if len(findings) == 0 {
		return
	}
	m.printf("\n## %s\n", title)
	for _, f := range findings {
		m.ruleHead(f.rule)
		for _, p := range f.places {
			m.place(p)
		}
	}
}

// ruleHead writes the heading of a rule and its text.
func (m *markdown) ruleHead(v bundle.RuleVerdict) {
	m.printf("\n### %s (%s)\n\n", escaped(v.ID), escaped(v.Level))
	if v.Text == "" {
		return
	}
	m.printf("%s", escaped(v.Text))
	if v.Source != "" {
		m.printf(" *%s*", escaped(v.Source))
	}
	m.printf("\n\n")
}

// place writes one item: location, message, and the command that reproduces it.
func (m *markdown) place(p place) {
	where := "the run as a whole"
	if p.scenario != "" {
		where = "**" + escaped(p.scenario) + "** " + escaped(axesText(p.axes))
	}
	m.printf("- %s: %s\n", where, escaped(p.verdict.Message))
	if len(p.verdict.Counts) > 0 {
		m.printf("  (orders: %s)\n", escaped(ordersText(p.verdict.Counts)))
	}
	if len(p.again) == 0 && p.replay != "" {
		m.fenced("sh", line(p.replay))
	}
	for _, r := range p.again {
		m.fenced("sh", strings.TrimRight(clean(r.Text), "\n"))
		if said := triedText(r); said != "" {
			m.printf("\n  %s\n", escaped(said))
		}
	}
	if p.excerpt != "" {
		m.printf("\n  <details><summary>Bytes on the wire</summary>\n")
		m.fenced("text", clean(p.excerpt))
		m.printf("\n  </details>\n")
	}
}

// fenced writes text as a code block inside an item; no run of backticks in it ends
// the block.
func (m *markdown) fenced(kind, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.printf("\n  %s%s\n  %s\n  %s\n", fence, kind, strings.ReplaceAll(text, "\n", "\n  "), fence)
}

// briefly lists the rules with a verdict, each with its first message.
func (m *markdown) briefly(heading string, verdict bundle.Conclusion) {
	findings := findingsOf(m.r, verdict)
	if len(findings) == 0 {
		return
	}
	m.printf("\n## %s\n\n", heading)
	for _, f := range findings {
		m.printf("- **%s** (%s, %s): %s\n", escaped(f.rule.ID), escaped(f.rule.Level),
			plural(len(f.scenarios()), "scenario"), escaped(f.places[0].verdict.Message))
	}
}

func (m *markdown) races() {
	races := racesOf(m.r)
	if len(races) == 0 {
		return
	}
	m.printf("\n## Races\n\n")
	for _, n := range races {
		m.printf("- %s: %s\n", escaped(n.scenario), escaped(n.orders))
	}
}

func (m *markdown) scenarios() {
	m.printf("\n<details><summary>All scenarios</summary>\n\n| verdict | scenario | axes | ms |\n|---|---|---|---:|\n")
	for _, s := range m.r.Scenarios {
		m.printf("| %s | %s | %s | %d |\n", escaped(string(s.Verdict)), escaped(s.ID), escaped(s.Axes.String()), s.DurationMS)
	}
	m.printf("\n</details>\n")
}

// markup escapes the special characters of Markdown and of HTML inside it.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`, "#", `\#`, "~", `\~`, "!", `\!`,
)

// escaped returns text on one line, without control characters and markup.
func escaped(text string) string {
	return markup.Replace(line(strings.Join(strings.Fields(text), " ")))
}
