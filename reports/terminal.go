package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/bundle"
)

// Terminal renders text: the causes of failures first, each once with its best evidence
// and the rules that follow from it; then broken rules without a cause, one block per
// rule with its scenarios, errors in Assay, inconclusive rules by reason, advisories in
// short, the races, and last the counts, the limits of the verdict, and the verdict with
// the meaning of the exit code. A run that passed takes a few lines. Verbose adds every
// broken rule in full, and every scenario with each of its rules.
func Terminal(w io.Writer, r *bundle.Report, s Style) error {
	t := terminal{canvas: newCanvas(w, s), r: r, causes: causesOf(r)}
	if died := diedText(r); died != "" {
		t.block(painted{}, died, red)
	}
	t.header()
	t.drawCauses()
	t.troubles()
	t.open()
	t.advisories()
	if s.Verbose {
		t.everything()
	}
	t.races()
	t.summary()
	return t.err
}

type terminal struct {
	*canvas
	r *bundle.Report
	// long is set once there is a block between the header and the summary, which then
	// have empty lines around them.
	long   bool
	causes []cause
	broken []finding // broken rules without a cause
}

// The limits of places in full per rule and of listed races, unless Verbose is set.
const (
	fullPlaces = 5
	shortRaces = 3
)

func (t *terminal) header() {
	target := line(t.r.Target.URL)
	if t.r.Target.Embedded {
		target += " (embedded reference gateway)"
	}
	tool := painted{line(t.r.Tool.Name+" "+t.r.Tool.Version) + "  ", bold}
	t.flow(tool, []string{target, "profile " + line(t.r.Profile)}, "  ")
}

// gap separates the next block from the one above.
func (t *terminal) gap() {
	t.long = true
	t.row()
}

func (t *terminal) troubles() {
	for _, verdicts := range [][]bundle.Conclusion{{bundle.Fail, bundle.Flaky, bundle.UnexpectedPass}, {bundle.Error}} {
		findings := findingsOf(t.r, verdicts...)
		t.broken = append(t.broken, unexplained(t.r, findings)...)
		if !t.style.Verbose {
			findings = unexplained(t.r, findings)
		}
		for _, f := range findings {
			t.gap()
			t.finding(f)
		}
	}
}

// label returns the verdict as the heading of a block.
func label(c bundle.Conclusion) string {
	return strings.ToUpper(strings.ReplaceAll(line(string(c)), "-", " "))
}

// ruleHead draws a rule with its verdict, text and source; indent is the indentation of
// its details.
func (t *terminal) ruleHead(v bundle.RuleVerdict) (indent string) {
	head := label(v.Verdict) + "  "
	indent = strings.Repeat(" ", width(head))
	level := painted{line(v.Level), dim}
	name := line(v.ID)
	if room := t.n - width(head) - width(level.text) - 2; width(name) > room {
		name = cut(name, room)
	}
	fill := strings.Repeat(" ", max(0, t.n-width(head)-width(name)-width(level.text)))
	t.row(t.paint(tintOf(v.Verdict), head), t.paint(bold, name), t.text(fill), t.paint(level.tint, level.text))
	if len(indent) > 7 {
		indent = "      "
	}
	if v.Text != "" {
		t.block(painted{indent, plain}, v.Text, plain)
	}
	if v.Source != "" {
		t.block(painted{indent, plain}, v.Source, dim)
	}
	return indent
}

func (t *terminal) finding(f finding) {
	indent := t.ruleHead(f.rule)
	if f.rule.Verdict == bundle.Error {
		t.block(painted{indent, plain}, "This is a defect in Assay or its environment, not in the target.", dim)
	}
	for i, p := range f.places {
		if i == fullPlaces && !t.style.Verbose && len(f.places) > fullPlaces+1 {
			t.otherPlaces(f.places[i:])
			return
		}
		t.place(p, i == 0 || t.style.Verbose)
	}
}

// place draws one scenario: location, message, and the command that reproduces it, and
// the bytes on the wire if excerpt is set.
func (t *terminal) place(p place, excerpt bool) {
	t.row()
	name, axes := "the run as a whole", axesText(p.axes)
	if p.scenario != "" {
		name = line(p.scenario)
	}
	t.placeHead(name, axes)
	const in = "    "
	if p.verdict.Message != "" {
		t.block(painted{in, plain}, p.verdict.Message, plain)
	}
	if p.verdict.Seen != "" {
		t.block(painted{in + "seen  ", dim}, line(p.verdict.Seen), plain)
	}
	if len(p.verdict.Counts) > 0 {
		t.flow(painted{in + "orders  ", dim}, orderParts(p.verdict.Counts), orderSep)
	}
	if excerpt && p.excerpt != "" {
		for _, l := range strings.Split(clean(p.excerpt), "\n") {
			t.row(t.text(in), t.paint(excerptTint(l), cut(l, t.n-len(in))))
		}
	}
	if len(p.again) == 0 && p.replay != "" {
		t.command(len(in), p.replay)
	}
	for _, r := range p.again {
		t.reproducer(in, r)
	}
}

// reproducer draws a command; a script, which is a page of bytes, is only mentioned.
func (t *terminal) reproducer(in string, r bundle.Reproducer) {
	switch r.Kind {
	case bundle.ReproduceShell:
		t.block(painted{in, dim}, "the JSON, Markdown and JUnit reports have a shell script with the exact bytes", dim)
	default:
		t.command(len(in), line(r.Text))
	}
	if said := triedText(r); said != "" {
		t.block(painted{in + "  ", dim}, said, dim)
	}
}

// excerptTint returns the colour of a line of an excerpt.
func excerptTint(l string) tint {
	if strings.Contains(l, "◀") || strings.Contains(l, "^^") {
		return red
	}
	return dim
}

func (t *terminal) placeHead(name, axes string) {
	if 2+width(name)+2+width(axes) <= t.n {
		t.ends(painted{"  " + name, cyan}, painted{axes, dim})
		return
	}
	t.block(painted{"  ", plain}, name, cyan)
	if axes != "" {
		t.block(painted{"  ", plain}, axes, dim)
	}
}

// otherPlaces lists the remaining places, one line each.
func (t *terminal) otherPlaces(places []place) {
	t.row()
	t.row("  ", t.paint(dim, fmt.Sprintf("and in %d more:", len(places))))
	for _, p := range places {
		t.placeHead(line(p.scenario), axesText(p.axes))
	}
}

// advisories draws advisories and known failures in short; if there are causes, only
// their names.
func (t *terminal) advisories() {
	all := findingsOf(t.r, bundle.Advisory, bundle.KnownFailure)
	if len(all) > 0 {
		t.gap()
	}
	if len(t.causes) > 0 && !t.style.Verbose {
		t.named(bundle.Advisory, all)
		t.named(bundle.KnownFailure, all)
		return
	}
	for _, f := range all {
		where := "the run"
		if n := len(f.scenarios()); n > 0 {
			where = plural(n, "scenario")
		}
		head := painted{label(f.rule.Verdict) + "  ", tintOf(f.rule.Verdict)}
		t.block(head, fmt.Sprintf("%s (%s) in %s", line(f.rule.ID), line(f.rule.Level), where), plain)
		said := line(f.places[0].verdict.Message)
		if said == "" {
			said = line(f.rule.Text)
		}
		if !t.style.Verbose {
			said = cut(said, t.n-width(head.text))
		}
		t.block(painted{strings.Repeat(" ", width(head.text)), plain}, said, dim)
	}
}

// everything lists each scenario with each of its rules.
func (t *terminal) everything() {
	t.gap()
	t.row(t.paint(bold, "ALL SCENARIOS"))
	for _, s := range t.r.Scenarios {
		t.listed(s.Verdict, "  ", line(s.ID), painted{s.Axes.String() + "  " + took(s.DurationMS), dim})
		for _, v := range s.Rules {
			t.listedRule(v)
		}
	}
	if len(t.r.RunRules) > 0 {
		t.row("  ", t.paint(bold, "the run as a whole"))
	}
	for _, v := range t.r.RunRules {
		t.listedRule(v)
	}
}

func (t *terminal) listedRule(v bundle.RuleVerdict) {
	t.listed(v.Verdict, "    ", line(v.ID), painted{line(v.Level), dim})
	in := strings.Repeat(" ", 21)
	if v.Seen != "" {
		t.block(painted{in + "seen  ", dim}, line(v.Seen), dim)
	}
	// Bad verdicts have their message above.
	if v.Message != "" && !troubles(v.Verdict) && v.Verdict != bundle.Advisory {
		t.block(painted{in, plain}, v.Message, dim)
	}
}

func (t *terminal) listed(v bundle.Conclusion, indent, name string, right painted) {
	verdict := pad(line(string(v)), 17)
	right.text = line(right.text)
	room := t.n - width(indent) - width(verdict) - 2
	if room < width(name)+2+width(right.text) {
		right.text = cut(right.text, max(0, room-width(name)-2))
	}
	name = cut(name, room)
	fill := strings.Repeat(" ", max(0, room+2-width(name)-width(right.text)))
	t.row(t.text(indent), t.paint(tintOf(v), verdict), t.text(name+fill), t.paint(right.tint, right.text))
}

func (t *terminal) races() {
	all := racesOf(t.r)
	if len(all) == 0 {
		return
	}
	if t.long {
		t.row()
	}
	shown := all
	if !t.style.Verbose && len(all) > shortRaces {
		shown = all[:shortRaces-1]
	}
	for _, n := range shown {
		t.flow(painted{"race  " + line(n.scenario) + "  ", dim}, orderParts(n.counts), orderSep)
	}
	if more := len(all) - len(shown); more > 0 {
		t.row(t.paint(dim, fmt.Sprintf("      and %s more", plural(more, "race"))))
	}
}

func (t *terminal) summary() {
	if t.long {
		t.row(t.paint(dim, strings.Repeat("─", t.n)))
	}
	if len(t.causes)+len(t.broken) > 1 {
		for i, c := range t.causes {
			if i == fullCauses && len(t.causes) > fullCauses+1 {
				t.row(t.paint(dim, fmt.Sprintf("                 and %d more causes", len(t.causes)-i)))
				break
			}
			t.listed(c.place.verdict.Verdict, "", line(c.Rule), painted{followers(c), dim})
		}
		for _, f := range t.broken {
			where := "the run"
			if n := len(f.scenarios()); n > 0 {
				where = plural(n, "scenario")
			}
			t.listed(f.rule.Verdict, "", line(f.rule.ID), painted{where, dim})
		}
		t.row()
	}
	if t.r.Changed != nil {
		t.changed(t.r.Changed)
	}
	t.notes(t.r.Notes)
	t.counts()
	t.scope()
	t.verdict()
	if text := suggestion(t.r); text != "" {
		t.block(painted{}, text, cyan)
	}
}

// verdict draws the verdict of the run in one line.
func (t *terminal) verdict() {
	word, sentence := verdictText(t.r)
	t.block(painted{word + "  ", tintOf(shownAs(t.r))}, sentence, plain)
}

// counts draws the number of scenarios per verdict, worst first.
func (t *terminal) counts() {
	var ids []string
	for _, s := range t.r.Scenarios {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	scenarios := len(slices.Compact(ids))
	lead := fmt.Sprintf("%s, %s in %s", plural(scenarios, "scenario"), plural(len(t.r.Scenarios), "run"), took(t.r.DurationMS))
	var parts []string
	all := bundle.Conclusions()
	slices.Reverse(all)
	for _, c := range all {
		if n := t.r.Counts[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c))
		}
	}
	if len(parts) > 0 {
		lead += ":  "
	}
	t.flow(painted{lead, plain}, parts, orderSep)
}
