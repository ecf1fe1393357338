package page

import (
	"strconv"
	"strings"
)

// Tone is a colour with a meaning. It is never the only sign: a symbol and a word stand
// beside it.
type Tone string

// The tones.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Warn Tone = "warn"
	Info Tone = "info"
	Mute Tone = "mute"
)

// Badge returns a symbol and a word in a tone.
func Badge(t Tone, symbol, word string) HTML {
	return El("span", Class("badge "+string(t)), El("span", At("aria-hidden", "true", "class", "symbol"), Text(symbol)), Text(" "+word))
}

// Verdict is the result of a whole run.
type Verdict struct {
	Tone                   Tone
	Symbol, Word, Sentence string
	// Kicker says what the page is, above the word.
	Kicker string
	// Reasons are further sentences.
	Reasons HTML
	// Alarm is a fact that matters more than the verdict; "" for none.
	Alarm string
	// Facts are below the sentence.
	Facts []Fact
	// Below follows the facts.
	Below HTML
}

// Fact is a name and its value.
type Fact struct {
	Name  string
	Value HTML
}

// Facts returns a list of facts.
func Facts(facts []Fact) HTML {
	var items []HTML
	for _, f := range facts {
		items = append(items, El("div", nil, El("dt", nil, Text(f.Name)), El("dd", nil, f.Value)))
	}
	return El("dl", Class("facts"), items...)
}

// Banner returns the header of a page.
func Banner(v Verdict) HTML {
	var alarm HTML
	if v.Alarm != "" {
		alarm = El("p", At("class", "alarm", "role", "alert"), Text(v.Alarm))
	}
	return El("header", Class("banner "+string(v.Tone)), El("div", Class("inner"),
		El("p", Class("kicker"), Text(v.Kicker)),
		El("h1", nil, El("span", At("class", "seal", "aria-hidden", "true"), Text(v.Symbol)), El("span", nil, Text(v.Word))),
		El("p", Class("sentence"), Text(v.Sentence)),
		v.Reasons, alarm, Facts(v.Facts), v.Below,
	)) + "\n"
}

// Section is a part of a page with a heading.
type Section struct {
	ID, Title string
	// Count stands beside the title; "" for none.
	Count string
	// Note explains the section; "" for none.
	Note string
	Body HTML
}

// Contents returns links to the sections. Sections without a body are left out.
func Contents(sections ...Section) HTML {
	var items []HTML
	for _, s := range sections {
		if s.Body != "" {
			items = append(items, El("li", nil, Link(s.ID, Text(s.Title), count(s.Count))))
		}
	}
	return El("nav", At("class", "contents", "aria-label", "Contents"), El("ul", nil, items...)) + "\n"
}

func count(text string) HTML {
	if text == "" {
		return ""
	}
	return " " + El("span", Class("count"), Text(text))
}

// Main returns the sections, without those that have no body.
func Main(sections ...Section) HTML {
	var parts []HTML
	for _, s := range sections {
		if s.Body == "" {
			continue
		}
		head := El("h2", At("id", s.ID+"-title"), Text(s.Title), count(s.Count))
		var note HTML
		if s.Note != "" {
			note = El("p", Class("note"), Text(s.Note))
		}
		parts = append(parts, El("section", At("id", s.ID, "aria-labelledby", s.ID+"-title"), head, note, s.Body)+"\n")
	}
	return El("main", At("id", "main"), parts...) + "\n"
}

// Footer returns the end of a page.
func Footer(children ...HTML) HTML { return El("footer", nil, children...) + "\n" }

// Layout returns the contents beside the sections, and below them on a narrow screen.
func Layout(sections ...Section) HTML {
	return El("div", Class("layout"), Contents(sections...), Main(sections...)) + "\n"
}

// Details returns a folded part. Attributes are those of the element, such as an id.
func Details(attrs Attrs, open bool, summary HTML, children ...HTML) HTML {
	if open {
		attrs = append(append(Attrs{}, attrs...), "open")
	}
	return El("details", attrs, append([]HTML{El("summary", nil, summary)}, children...)...)
}

// Command returns a command of a shell, with a button to copy it where scripts run.
func Command(text string) HTML {
	lines := Text(text)
	if !strings.Contains(text, "\n") {
		var words []HTML
		for word := range strings.SplitSeq(text, " ") {
			words = append(words, El("span", Class("word"), Text(word)))
		}
		lines = Join(words, " ")
	}
	return El("div", Class("command"),
		El("pre", At("tabindex", "0", "role", "region", "aria-label", "Command"), El("code", nil, lines)),
		El("button", At("type", "button", "class", "copy", "hidden"), Text("Copy")),
	)
}

// Name returns an identifier of words with dots between them; a line may end after a dot.
func Name(id string) HTML {
	parts := strings.SplitAfter(id, ".")
	names := make([]HTML, len(parts))
	for i, p := range parts {
		names[i] = Text(p)
	}
	return El("code", nil, Join(names, El("wbr", nil)))
}

// Block returns lines of text that scroll inside their own box; label names the box.
func Block(label string, lines HTML) HTML {
	return El("pre", At("class", "block", "tabindex", "0", "role", "region", "aria-label", label), lines)
}

// Column is a column of a table.
type Column struct {
	Title string
	// Number aligns to the right.
	Number bool
}

// Row is a row of a table. The first cell is its heading.
type Row struct {
	Attrs Attrs
	Cells []HTML
}

// Table returns a table that scrolls inside its own box.
func Table(caption string, columns []Column, rows []Row) HTML {
	class := func(i int) Attrs {
		if i < len(columns) && columns[i].Number {
			return Class("number")
		}
		return nil
	}
	var heads, body []HTML
	for i, c := range columns {
		heads = append(heads, El("th", append(class(i), "scope", "col"), Text(c.Title)))
	}
	for _, r := range rows {
		var cells []HTML
		for i, c := range r.Cells {
			if i == 0 {
				cells = append(cells, El("th", append(class(i), "scope", "row"), c))
				continue
			}
			cells = append(cells, El("td", class(i), c))
		}
		body = append(body, El("tr", r.Attrs, cells...)+"\n")
	}
	return El("div", At("class", "scroll", "tabindex", "0", "role", "region", "aria-label", caption),
		El("table", nil, El("caption", nil, Text(caption)), El("thead", nil, El("tr", nil, heads...)), El("tbody", nil, body...)),
	)
}

// Filter returns a field that hides the rows of an element: those with the attribute
// data-row that do not have all of its words. It appears where scripts run.
func Filter(of, label string, kinds []string) HTML {
	id := of + "-filter"
	field := El("label", At("for", id), Text(label)) +
		El("input", At("id", id, "type", "search", "autocomplete", "off", "spellcheck", "false", "placeholder", "words, for example kill fail"))
	if len(kinds) > 0 {
		options := []HTML{El("option", At("value", ""), Text("all"))}
		for _, k := range kinds {
			options = append(options, El("option", At("value", k), Text(k)))
		}
		field += El("label", At("for", id+"-kind"), Text("Verdict")) + El("select", At("id", id+"-kind"), options...)
	}
	return El("div", At("class", "filter", "data-filter", of, "hidden"), field, El("output", At("for", id)))
}

// More says how many things a page leaves out; "" for none.
func More(n int, what, where string) HTML {
	if n <= 0 {
		return ""
	}
	text := "and " + strconv.Itoa(n) + " more " + what
	if n != 1 {
		text += "s"
	}
	return El("p", Class("more"), Text(text+" "+where))
}
