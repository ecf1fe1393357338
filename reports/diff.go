package reports

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/bundle"
)

// Diff draws a comparison as text: first the differences in setup, then the verdicts
// that got worse, got better or otherwise changed, latencies, and last the figures in
// one line. Verbose also lists unchanged latencies.
func Diff(w io.Writer, d *bundle.Diff, s Style) error {
	t := diffText{newCanvas(w, s), d}
	t.header()
	t.causes()
	t.verdicts("WORSE", red, d.Regressions)
	t.verdicts("BETTER", green, d.Fixes)
	t.verdicts("CHANGED", yellow, d.Changes)
	t.presence()
	t.answers()
	t.counts()
	t.latency()
	t.summary()
	return t.err
}

// DiffJSON writes exactly one JSON value, of schema assay.diff/v1, and a newline.
func DiffJSON(w io.Writer, d *bundle.Diff) error { return writeJSON(w, d) }

type diffText struct {
	*canvas
	d *bundle.Diff
}

func (t diffText) header() {
	for _, side := range []struct {
		name string
		of   bundle.DiffSide
	}{{"A", t.d.A}, {"B", t.d.B}} {
		t.flow(painted{side.name + "  ", bold}, append([]string{line(side.of.Name)}, sideParts(side.of)...), "  ")
		for _, p := range side.of.Partial {
			t.block(painted{"   ", plain}, p, yellow)
		}
	}
	for _, c := range t.d.Context {
		t.block(painted{"differs  ", yellow}, line(c.What+": "+orNone(c.A)+" → "+orNone(c.B)), plain)
	}
}

// causes come before the verdicts, most of which follow from them.
func (t diffText) causes() {
	for _, list := range []struct {
		lead painted
		ids  []string
	}{{painted{"new causes  ", red}, t.d.NewCauses}, {painted{"gone causes  ", green}, t.d.GoneCauses}} {
		if len(list.ids) > 0 {
			t.block(list.lead, line(strings.Join(list.ids, ", ")), plain)
		}
	}
}

// sideParts returns the facts about a run in the header.
func sideParts(s bundle.DiffSide) []string {
	target := line(s.Target.URL)
	if s.Target.Embedded {
		target = "embedded gateway"
	}
	parts := []string{target, "profile " + line(s.Profile), line(s.Verdict)}
	if s.Tool.Name != "" {
		parts = append([]string{line(s.Tool.Name + " " + s.Tool.Version)}, parts...)
	}
	return parts
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// shortDiff limits the listed changes of a kind unless Verbose is set.
const shortDiff = 30

func (t diffText) verdicts(word string, colour tint, all []bundle.VerdictChange) {
	for i, v := range all {
		if i == shortDiff && !t.style.Verbose {
			t.row()
			t.row(t.paint(dim, fmt.Sprintf("and %d more (-v lists them)", len(all)-i)))
			return
		}
		t.row()
		t.block(painted{word + "  ", colour}, line(v.Rule)+"  "+change(v), bold)
		if where := whereOf(v.Scenario, v.Axes); where != "" {
			t.block(painted{"  ", plain}, where, plain)
		}
		if v.Message != "" && v.Now != bundle.Pass {
			t.block(painted{"  ", plain}, v.Message, dim)
		}
		if v.Replay != "" && word == "WORSE" {
			t.command(2, v.Replay)
		}
	}
}

// change returns a change such as "pass → fail".
func change(v bundle.VerdictChange) string {
	word := func(c bundle.Conclusion) string {
		if c == "" {
			return "not judged"
		}
		return line(string(c))
	}
	return word(v.Was) + " → " + word(v.Now)
}

// whereOf returns a scenario with its axes.
func whereOf(scenario string, axes []string) string {
	if scenario == "" {
		return ""
	}
	return line(scenario + "  " + strings.Join(axes, ", "))
}

func (t diffText) presence() {
	for _, list := range []struct {
		word string
		all  []bundle.DiffScenario
	}{{"new", t.d.New}, {"gone", t.d.Vanished}} {
		if len(list.all) > 0 {
			t.row()
		}
		for _, s := range list.all {
			t.block(painted{pad(list.word, 9), cyan}, line(fmt.Sprintf("%s (%s, %s)", s.ID, s.Verdict, plural(len(s.Axes), "run"))), plain)
		}
	}
	for _, list := range []struct {
		word string
		ids  []string
	}{{"new rules  ", t.d.NewRules}, {"gone rules  ", t.d.VanishedRules}} {
		if len(list.ids) > 0 {
			t.row()
			t.block(painted{list.word, cyan}, line(strings.Join(list.ids, ", ")), plain)
		}
	}
}

func (t diffText) answers() {
	if len(t.d.Seen)+len(t.d.Features) > 0 {
		t.row()
	}
	for _, s := range t.d.Seen {
		t.block(painted{"response ", cyan}, line(fmt.Sprintf("%s: %s → %s (both legal; %s)", s.Rule, orNone(s.Was), orNone(s.Now), orRun(s.Scenario))), plain)
	}
	for _, f := range t.d.Features {
		t.block(painted{"feature  ", cyan}, line(fmt.Sprintf("%s: %s → %s", f.ID, orNone(string(f.Was)), orNone(string(f.Now)))), plain)
	}
}

func orRun(scenario string) string {
	if scenario == "" {
		return "the run"
	}
	return scenario
}

func (t diffText) counts() {
	if len(t.d.Counts) == 0 {
		return
	}
	t.row()
	t.row(t.paint(bold, "COUNTS"))
	for _, c := range t.d.Counts {
		t.row("  ", t.text(pad(line(c.Name), 30)+fmt.Sprintf("%d → %d", c.A, c.B)))
	}
}

func (t diffText) latency() {
	if len(t.d.Latency) == 0 && t.d.LatencyNote == "" {
		return
	}
	t.row()
	t.row(t.paint(bold, "LATENCY"))
	if t.d.LatencyNote != "" {
		t.block(painted{"  ", plain}, t.d.LatencyNote, dim)
	}
	told, rest := latencies(t.d, t.style.Verbose)
	for _, l := range told {
		colour := plain
		switch l.Result {
		case bundle.LatencySlower:
			colour = yellow
		case bundle.LatencyFaster:
			colour = green
		}
		if l.Regression {
			colour = red
		}
		t.block(painted{"  " + latencyName(l) + "  ", bold}, latencyText(l), colour)
	}
	for _, text := range rest {
		t.block(painted{"  ", plain}, text, dim)
	}
}

func (t diffText) summary() {
	t.row(t.paint(dim, strings.Repeat("─", t.n)))
	t.flow(painted{}, diffParts(t.d), orderSep)
	word, sentence := diffVerdict(t.d)
	colour := map[string]tint{"WORSE": red, "NO DIFFERENCES": green}[word]
	t.block(painted{word + "  ", colour}, sentence, plain)
}
