package reports

import (
	"fmt"
	"strings"

	"assay/internal/record/bundle"
)

// diffDocument tells of a comparison: the differences in setup, then the verdicts that got worse, got better or
// otherwise changed, what is new and gone, and latencies.
func diffDocument(d *bundle.Diff) *document {
	word, sentence := diffVerdict(d)
	out := &document{kind: "Assay comparison", verdict: verdict{look: map[string]look{"WORSE": failure, "NO DIFFERENCES": success}[word], word: word, sentence: sentence}}
	if out.verdict.look == (look{}) {
		out.verdict.look = warning
	}
	out.sections = []section{
		diffSides(d), diffWorse(d.Regressions), diffVerdicts("Better", success, d.Fixes), diffVerdicts("Changed", warning, d.Changes), diffPresence(d), diffLatency(d, false), diffLatency(d, true),
	}
	for _, p := range diffParts(d) {
		out.tally = append(out.tally, part{text: p})
	}
	return out
}

// diffSides are the two runs, and what differs in their setup.
func diffSides(d *bundle.Diff) section {
	t := table{title: "Runs", columns: columns("", "Run", "Setup", "Verdict"), noun: "run"}
	var notes items
	note := func(l look, word string, parts ...any) {
		notes.all = append(notes.all, say(badged(l, word), say(parts...)))
	}
	for _, side := range []struct {
		name string
		of   bundle.DiffSide
	}{{"A", d.A}, {"B", d.B}} {
		t.rows = append(t.rows, rowOf(strongly(side.name), side.of.Name, strings.Join(sideParts(side.of), ", "), side.of.Verdict))
		for _, p := range side.of.Partial {
			note(warning, side.name, p)
		}
	}
	for _, c := range d.Context {
		note(warning, "differs", c.What, ": ", orNone(c.A), " → ", orNone(c.B))
	}
	if len(d.NewCauses) > 0 {
		note(failure, "new causes", refs("", d.NewCauses))
	}
	if len(d.GoneCauses) > 0 {
		note(success, "gone causes", refs("", d.GoneCauses))
	}
	return section{title: t.title, body: append([]block{t}, blockOf(len(notes.all), notes)...), bare: true}
}

// sideParts returns the facts about a run in the header.
func sideParts(s bundle.DiffSide) []string {
	target := line(s.Target.URL)
	if s.Target.Embedded {
		target = "embedded gateway"
	}
	parts := []string{target, "profile " + line(s.Profile)}
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

// diffWorse has the regressions in full.
func diffWorse(all []bundle.VerdictChange) section {
	c := cards{noun: "rule", brief: true}
	for _, v := range all {
		p := place{scenario: whereOf(v.Scenario, v.Axes), replay: v.Replay, verdict: bundle.RuleVerdict{Message: v.Message}}
		c.all = append(c.all, card{rule: bundle.RuleVerdict{ID: v.Rule, Level: v.Level, Verdict: v.Now, Text: change(v)}, places: []place{p}, about: change(v)})
	}
	return section{title: "Worse", count: len(all), body: blockOf(len(all), c)}
}

// diffVerdicts lists other changes of verdicts.
func diffVerdicts(title string, l look, all []bundle.VerdictChange) section {
	list := items{short: 30}
	for _, v := range all {
		item := say(badged(l, strings.ToUpper(title)), strongly(v.Rule+"  "+change(v)))
		if where := whereOf(v.Scenario, v.Axes); where != "" {
			item = append(item, say("  ", where)...)
		}
		if v.Message != "" && v.Now != bundle.Pass {
			item = append(item, say(": ", v.Message)...)
		}
		list.all = append(list.all, item)
	}
	return section{title: title, bare: true, body: blockOf(len(all), foldable{title: sayf("%s (%d)", title, len(all)), always: true, body: []block{list}})}
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

// diffPresence lists new and gone items, and changed responses, features and counts.
func diffPresence(d *bundle.Diff) section {
	var list items
	put := func(word string, parts ...any) {
		list.all = append(list.all, say(badged(look{tone: "info"}, word), say(parts...)))
	}
	for _, one := range []struct {
		word  string
		all   []bundle.DiffScenario
		rules []string
	}{{"new", d.New, d.NewRules}, {"gone", d.Vanished, d.VanishedRules}} {
		for _, s := range one.all {
			put(one.word, "scenario ", s.ID, fmt.Sprintf(" (%s, %s)", s.Verdict, plural(len(s.Axes), "run")))
		}
		if n := len(one.rules); n > 0 {
			put(one.word, plural(n, "rule"), ": ", refs("", one.rules))
		}
	}
	for _, s := range d.Seen {
		put("response", fmt.Sprintf("%s: %s → %s (both legal; %s)", s.Rule, orNone(s.Was), orNone(s.Now), orRun(s.Scenario)))
	}
	for _, f := range d.Features {
		put("feature", fmt.Sprintf("%s: %s → %s", f.ID, orNone(string(f.Was)), orNone(string(f.Now))))
	}
	for _, c := range d.Counts {
		put("count", fmt.Sprintf("%s: %d → %d", c.Name, c.A, c.B))
	}
	return section{title: "New, gone and changed", bare: true, body: blockOf(len(list.all), foldable{title: sayf("New, gone and changed (%d)", len(list.all)), always: true, body: []block{list}})}
}

func orRun(scenario string) string {
	if scenario == "" {
		return "the run"
	}
	return scenario
}

// diffLatency compares latencies, with Verbose also those that did not change.
func diffLatency(d *bundle.Diff, verbose bool) section {
	var list items
	if d.LatencyNote != "" {
		list.all = append(list.all, say(d.LatencyNote))
	}
	told, rest := latencies(d, verbose)
	for _, l := range told {
		result := map[string]look{bundle.LatencySlower: warning, bundle.LatencyFaster: success}[l.Result]
		if l.Regression {
			result = failure
		}
		list.all = append(list.all, say(badged(result, latencyName(l)), latencyText(l)))
	}
	for _, text := range rest {
		list.all = append(list.all, say(faintly(text)))
	}
	in := inText | inMarkdown
	if verbose {
		in = inVerbose
	}
	return section{title: "Latency", body: blockOf(len(list.all), list), in: in}
}
