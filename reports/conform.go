package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports/page"
)

// conformDocument tells of a run: the causes of failures first, each once with its best evidence and the rules that
// follow from it; then broken rules without a cause, defects of Assay, what could not be judged, by reason, and the
// advisories; every rule and every scenario; and the limits of the verdict. A text of a run that passed takes a few
// lines. With Verbose it has every broken rule in full.
func conformDocument(r *bundle.Report) *document {
	v := conform{r: r, by: explained(r), causes: causeCards(r)}
	word, sentence := verdictText(r)
	target := targetText(r.Target)
	d := &document{
		kind: "Assay conformance report", verdict: verdict{look: lookOf(shownAs(r)), word: word, sentence: sentence}, alarm: diedText(r),
		about: r.Target.URL,
		facts: facts{{"tool", say(r.Tool.Name + " " + r.Tool.Version)}, {"target", say(target)}, {"profile", say("profile " + r.Profile)}},
		early: len(v.causes) > 0, footer: r.Tool.Name + " " + r.Tool.Version + ", run " + r.Run,
	}
	ids := map[string]bool{}
	for _, s := range r.Scenarios {
		ids[s.ID] = true
	}
	runs := plural(len(ids), "scenario") + ", " + plural(len(r.Scenarios), "run")
	d.details = facts{{"selected", say(runs, ", ", plural(len(r.Rules), "rule"))}, {"duration", say(took(r.DurationMS))}}
	if !r.Started.IsZero() {
		d.details = append(d.details, fact{"started", say(started(r.Started))})
	}
	d.limits = scopeOf(r)
	d.counts = runs + " in " + took(r.DurationMS)
	for _, c := range worstFirst() {
		if n := r.Counts[c]; n > 0 {
			d.tally = append(d.tally, part{text: fmt.Sprintf("%d %s", n, c), as: asBadge, look: lookOf(c), to: string(c)})
		}
	}
	if len(d.tally) > 0 {
		d.counts += ":  "
	}
	d.notes = slices.DeleteFunc(append(slices.Clone(r.Notes), suggestion(r)), func(n string) bool { return n == "" })
	broken := findingsOf(r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass)
	defects := findingsOf(r, bundle.Error)
	others := unexplained(r, broken)
	d.sections = []section{
		{
			id: "causes", title: "Causes", count: len(v.causes), bare: true, body: blockOf(len(v.causes), cards{all: v.causes, most: mostCauses, noun: "cause", brief: true}),
			note: "Broken rules that follow from no other. Mend these first: the rules listed below each are broken because of it.",
		},
		v.broken("broken", "Broken rules", others, inText|inMarkdown|inSummary|inPage).with(v.following(broken)),
		v.broken("broken", "Broken rules", broken, inVerbose),
		v.broken("defects", "Defects in Assay", defects, 0),
		v.open(),
		v.broken("undecided", "Undecided", findingsOf(r, bundle.Inconclusive), inVerbose),
		v.brief("advisories", "Advisories", bundle.Advisory, "Rules of level should or may that are broken. They do not change the verdict, unless --strict is given."),
		v.brief("known", "Known failures", bundle.KnownFailure, "Broken rules that the list of known failures names. They do not change the verdict."),
		v.brief("deviations", "Deviations", bundle.Deviation, "Broken rules that the profile allows. They do not change the verdict."),
		v.rules(), v.scenarios(), v.everything(), v.races(), v.recap(others, defects), v.changed(), v.untested(), v.origin(),
	}
	return d
}

// conform has what the sections of a run share.
type conform struct {
	r      *bundle.Report
	by     map[string][]string // see explained
	causes []card
}

// targetText names a target.
func targetText(t bundle.Target) string {
	if t.Embedded {
		return t.URL + " (embedded reference gateway)"
	}
	return t.URL
}

// worstFirst are all verdicts.
func worstFirst() []bundle.Conclusion {
	all := bundle.Conclusions()
	slices.Reverse(all)
	return all
}

// assayDefect is said below a rule with the verdict error.
const assayDefect = "This is a defect in Assay or its environment, not in the target."

// causeCards returns the causes, the most basic first.
func causeCards(r *bundle.Report) (all []card) {
	for _, c := range causesOf(r) {
		k := card{
			rule:   bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Text: c.Title, Source: c.source, Verdict: c.place.verdict.Verdict},
			places: []place{c.place}, id: page.ID("cause", c.Rule),
		}
		if n := len(c.Scenarios); n > 1 {
			k.names = append(k.names, say(fmt.Sprintf("%d scenarios show it: ", n), refs("scenario", c.Scenarios)))
		}
		if k.about = plural(max(1, len(c.Scenarios)), "scenario"); len(c.Follows) > 0 {
			k.about = followText(len(c.Follows))
			k.names = append(k.names, say(k.about+" from it: ", refs("rule", c.Follows)))
		}
		if len(c.Unjudged) > 0 {
			k.names = append(k.names, say("not judged because of it: ", refs("rule", c.Unjudged)))
		}
		all = append(all, k)
	}
	return all
}

// followText counts the rules that follow from a cause.
func followText(n int) string {
	if n == 1 {
		return "1 rule follows"
	}
	return fmt.Sprintf("%d rules follow", n)
}

// broken draws rules in full.
func (v *conform) broken(id, title string, all []finding, in views) section {
	c := cards{most: mostFindings, noun: "broken rule"}
	for _, f := range all {
		c.all = append(c.all, card{rule: f.rule, places: f.places})
	}
	if id == "broken" && len(v.causes) > 0 {
		title = "Other broken rules"
	}
	return section{id: id, title: title, count: len(all), body: blockOf(len(all), c), in: in, bare: true}
}

// following lists the rules that follow from causes.
func (v *conform) following(broken []finding) []block {
	t := table{title: "Rules that follow from the causes", columns: columns("Rule", "Follows from", "#Scenarios", "First message"), noun: "rule"}
	for _, f := range broken {
		if from := v.by[f.rule.ID]; len(from) > 0 {
			t.rows = append(t.rows, rowOf(ref("rule", f.rule.ID), refs("rule", from), len(f.scenarios()), f.places[0].verdict.Message))
		}
	}
	return blockOf(len(t.rows), foldable{title: sayf("%s (%d)", t.title, len(t.rows)), open: len(t.rows) <= 10, body: []block{t}})
}

// open lists what could not be judged, by reason.
func (v *conform) open() section {
	told := unjudged(v.r)
	all := reasonsOf(v.r, told)
	if len(all) == 0 {
		return section{}
	}
	rules, runs := total(all)
	noun := "rule"
	if len(told) > 0 {
		noun = "other rule"
	}
	lead := badged(lookOf(bundle.Inconclusive), "INCONCLUSIVE")
	list := items{short: 6}
	for _, r := range all {
		list.all = append(list.all, say("  "+r.where()+": ", quoted(r.saying()), below("rules: "+strings.Join(slices.Sorted(maps.Keys(r.rules)), ", "))))
	}
	return section{
		id: "undecided", title: "Undecided", count: rules, note: "Rules that could not be judged, by reason. They neither hold nor fail.",
		body: []block{say(lead, fmt.Sprintf("%s could not be judged in %s", plural(rules, noun), plural(runs, "run"))), list},
		in:   inText | inMarkdown | inSummary | inPage, bare: true,
	}
}

// brief lists rules with a verdict, each with its first message.
func (v *conform) brief(id, title string, c bundle.Conclusion, note string) section {
	list := items{short: 6}
	for _, f := range findingsOf(v.r, c) {
		where := say(" in the run")
		if ids := f.scenarios(); len(ids) > 0 {
			where = say(" in ", plural(len(ids), "scenario"))
		}
		label := badged(lookOf(c), label(c))
		list.all = append(list.all, say(label, ref("rule", f.rule.ID), " (", f.rule.Level, ")", where, ": ", cmp.Or(f.places[0].verdict.Message, f.rule.Text), below(f.rule.Text)))
	}
	s := section{id: id, title: title, count: len(list.all), note: note, body: blockOf(len(list.all), list), bare: true}
	if c == bundle.Deviation {
		s.in = inPage
	}
	return s
}

// races counts how often each order of a race was seen.
func (v *conform) races() section {
	all := racesOf(v.r)
	list := items{short: 2}
	for _, r := range all {
		list.all = append(list.all, say(faintly("race  "), ref("scenario", r.scenario), "  ", r.orders, below(r.axes.String())))
	}
	return section{
		id: "races", title: "Races", count: len(all), note: "How often each order of events was seen where two of them race.",
		body: blockOf(len(all), list), bare: true, in: inText | inVerbose | inMarkdown | inPage, tail: v.passed(),
	}
}

// passed reports whether a text has no part but the end.
func (v *conform) passed() bool {
	return len(v.causes) == 0 && len(findingsOf(v.r, bundle.Fail, bundle.Flaky, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive, bundle.Advisory, bundle.KnownFailure)) == 0
}

// recap lists the causes and the broken rules again, where a terminal ends.
func (v *conform) recap(others, defects []finding) section {
	t := table{title: "Broken", columns: columns("Verdict", "Rule", "Where"), noun: "rule"}
	for _, c := range v.causes[:min(len(v.causes), mostCauses)] {
		t.rows = append(t.rows, rowOf(verdictOf(c.rule.Verdict), c.rule.ID, faintly(c.about)))
	}
	for _, f := range slices.Concat(others, defects) {
		where := "the run"
		if n := len(f.scenarios()); n > 0 {
			where = plural(n, "scenario")
		}
		t.rows = append(t.rows, rowOf(verdictOf(f.rule.Verdict), f.rule.ID, faintly(where)))
	}
	if len(t.rows) < 2 {
		return section{}
	}
	return section{title: t.title, body: []block{t}, in: inText | inVerbose, bare: true, tail: true}
}

// changed lists the verdicts that differ from the stored ones, of a run that was judged again.
func (v *conform) changed() section {
	if v.r.Changed == nil {
		return section{}
	}
	return section{id: "changed", title: "Changed verdicts", count: len(v.r.Changed), body: changedBody(v.r.Changed), bare: true, tail: true, in: inText | inVerbose | inPage}
}

// untested says what was not tested, and why.
func (v *conform) untested() section {
	s := section{id: "untested", title: "Not tested", note: "The verdict says nothing about these.", in: inMarkdown | inSummary | inPage}
	if v.r.Scope == nil {
		return s
	}
	t := table{title: "What was not tested", columns: columns("Reason", "#Runs"), noun: "reason"}
	for _, c := range v.r.Scope.NotRun {
		why := skipText(line(c.Name))
		switch bundle.SkipReason(c.Name) {
		case bundle.SkipSlow:
			why = "slow scenarios, which run with --slow"
		case bundle.SkipDestructive:
			why = "scenarios that can kill the target, which run with --destructive"
		default:
		}
		t.rows = append(t.rows, rowOf(why, c.Runs))
	}
	for _, c := range v.r.Scope.Unsupported {
		t.rows = append(t.rows, rowOf(say("the target does not have ", source(c.Name)), c.Runs))
	}
	s.body = blockOf(len(t.rows), t)
	if a := allowed(v.r); a != nil {
		s.body = append(s.body, append(say("Allowed: "), a...))
	}
	return s
}

// origin says where the report comes from.
func (v *conform) origin() section {
	r := v.r
	all := facts{
		{"tool", say(r.Tool.Name + " " + r.Tool.Version)}, {"run", say(ref("", r.Run))}, {"target", say(r.Target.URL)}, {"profile", say(r.Profile)},
		{"duration", say(took(r.DurationMS))}, {"exit code", sayf("%d", r.Exit)},
	}
	if len(r.Target.Shell) > 0 {
		all = append(all, fact{"shell", say(ref("", strings.Join(r.Target.Shell, " ")))})
	}
	if r.Target.Looks != "" {
		all = append(all, fact{"looks like", say(r.Target.Looks)})
	}
	return section{id: "origin", title: "Where this report comes from", body: []block{all}, in: inPage}
}
