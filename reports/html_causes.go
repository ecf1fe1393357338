package reports

import (
	"strconv"
	"strings"

	"assay/internal/bundle"
	"assay/reports/page"
)

// causeSection draws each cause once: the rule, its best evidence, and what follows from it.
func (v *htmlView) causeSection() page.Section {
	s := page.Section{ID: "causes", Title: "Causes", Count: strconv.Itoa(len(v.causes)),
		Note: "Broken rules that follow from no other. Mend these first: the rules listed below each are broken because of it."}
	for i, c := range v.causes {
		if i == mostCauses {
			s.Body += page.More(len(v.causes)-i, "cause", elsewhere)
			break
		}
		s.Body += v.cause(c)
	}
	return s
}

func (v *htmlView) cause(c cause) page.HTML {
	body := ruleHeader(bundle.RuleVerdict{ID: c.Rule, Level: c.Level, Text: c.Title, Source: c.source, Verdict: c.place.verdict.Verdict})
	body += v.place(c.place)
	body += ruleNames(followText(len(c.Follows)), c.Follows)
	body += ruleNames("Not judged because of it", c.Unjudged)
	if len(c.Scenarios) > 1 {
		body += page.El("p", page.Class("names"), page.Text(plural(len(c.Scenarios), "scenario")+" show it: "), links(c.Scenarios, mostNames, scenarioLink))
	}
	return page.El("article", page.At("class", "card bad", "id", page.ID("cause", c.Rule)), body) + "\n"
}

// ruleHeader draws a rule with its verdict, sentence and source.
func ruleHeader(r bundle.RuleVerdict) page.HTML {
	head := page.El("h3", nil, verdictBadge(r.Verdict), page.Text(" "), ruleLink(r.ID), page.Text(" "), levelTag(r.Level))
	if r.Text != "" {
		head += page.El("p", page.Class("rule-text"), page.Text(line(r.Text)))
	}
	if r.Source != "" {
		head += page.El("p", page.Class("source"), page.Text(line(r.Source)))
	}
	return head
}

// ruleNames lists rules after a lead; "" for none.
func ruleNames(lead string, rules []string) page.HTML {
	if len(rules) == 0 {
		return ""
	}
	return page.El("p", page.Class("names"), page.Text(lead+": "), links(rules, mostNames, ruleLink))
}

// place draws one place in full: location, message, the bytes, and the commands that
// show it again.
func (v *htmlView) place(p place) page.HTML {
	return page.El("div", page.Class("place"), placeHeader(p), evidence(p), excerptBlock(p.excerpt), commands(p.again, p.replay))
}

func placeHeader(p place) page.HTML {
	where := page.Text("the run as a whole")
	if p.scenario != "" {
		where = scenarioLink(p.scenario)
	}
	return page.El("p", page.Class("where"), where, page.Text(" "), page.El("span", page.Class("axes"), page.Text(cut(line(axesText(p.axes)), mostShort))))
}

// evidence draws what was seen instead of what the rule wants.
func evidence(p place) page.HTML {
	body := said(p.verdict.Message, mostMessage)
	if p.verdict.Seen != "" {
		body += page.El("p", page.Class("small"), page.Text("seen: "+cut(line(p.verdict.Seen), mostShort)))
	}
	if len(p.verdict.Counts) > 0 {
		body += page.El("p", page.Class("small"), page.Text("orders: "+cut(ordersText(p.verdict.Counts), mostShort)))
	}
	return body
}

// commands draws the reproducers, or the replay of the scenario if there are none. A
// script of several lines is folded.
func commands(again []bundle.Reproducer, replay string) page.HTML {
	if len(again) == 0 && replay != "" {
		return page.Command(cut(line(replay), mostCommand))
	}
	var out page.HTML
	for _, r := range again {
		text, tried := strings.TrimRight(clean(r.Text), "\n"), page.HTML("")
		if said := triedText(r); said != "" {
			tried = page.El("span", page.Class("small"), page.Text(" "+said))
		}
		switch {
		case len(text) > mostCommand:
			out += page.El("p", page.Class("small"), page.Text("a script to reproduce it is "+elsewhere), tried)
		case strings.Contains(text, "\n"):
			out += page.Details(nil, false, page.Text("Script that reproduces it ("+line(string(r.Kind))+")")+tried, page.Command(text))
		default:
			out += page.Command(text) + tried
		}
	}
	return out
}

// excerptBlock draws the bytes around a breach; the offending ones are marked.
func excerptBlock(text string) page.HTML {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(clean(text), "\n"), "\n")
	var out page.HTML
	for i, l := range lines {
		class := ""
		switch {
		case strings.Contains(l, "◀") || underMark(l) >= 0:
			class = "said"
		case strings.Contains(l, " folded"):
			class = "quiet"
		}
		drawn := page.Text(l)
		if i+1 < len(lines) {
			drawn = markedByte(l, underMark(lines[i+1]))
		}
		if class != "" {
			drawn = page.El("span", page.Class(class), drawn)
		}
		out += drawn + "\n"
	}
	return page.Block("Bytes on the wire", out)
}

// underMark returns the column of ^^ in a line that has nothing before it; -1 for none.
func underMark(l string) int {
	trimmed := strings.TrimLeft(l, " ")
	if !strings.HasPrefix(trimmed, "^^") {
		return -1
	}
	return len(l) - len(trimmed)
}

// markedByte draws a line with a mark on the two digits at a column; a column outside the
// line marks nothing. The columns of a dump are ASCII up to its text.
func markedByte(l string, column int) page.HTML {
	if column < 0 || column+2 > len(l) || strings.TrimSpace(l[column:column+2]) == "" || !isASCII(l[:column+2]) {
		return page.Text(l)
	}
	return page.Text(l[:column]) + page.El("mark", nil, page.Text(l[column:column+2])) + page.Text(l[column+2:])
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
