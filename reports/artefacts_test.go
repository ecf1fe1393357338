package reports

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"assay/internal/record/bundle"
	"assay/scenarios"
)

// record is a value of an artefact in its formats. With infect, all of its texts are hostile.
type record struct {
	text, markdown string // the names of the golden files; "" for none
	json, schema   string // a golden file, and the schema that it has
	formats        []string
	render         func(infected, all bool) func(w io.Writer, format string, s Style) error
}

func recorded[T any](text, markdown string, a Artefact[*T], sample func() *T) record {
	return record{text: text, markdown: markdown, formats: a.Formats(), render: func(infected, all bool) func(io.Writer, string, Style) error {
		r := sample()
		if infected {
			infect(reflect.ValueOf(r).Elem(), all, 0)
		}
		return func(w io.Writer, format string, s Style) error { return a.Render(w, format, r, s) }
	}}
}

// inJSON returns the record with the golden file of its JSON.
func (r record) inJSON(file, schema string) record {
	r.json, r.schema = file, schema
	return r
}

// drawings are records that have a text alone.
func texts() (all []record) {
	add := func(value reflect.Value, draw func(io.Writer, Style) error) {
		all = append(all, record{formats: []string{FormatTerminal}, render: func(_, all bool) func(io.Writer, string, Style) error {
			infect(value.Elem(), all, 0)
			return func(w io.Writer, _ string, s Style) error { return draw(w, s) }
		}})
	}
	o, verdicts, v, d := brokenStream(), brokenVerdicts(), &bundle.Verification{}, &bundle.DoctorReport{}
	infect(reflect.ValueOf(&verdicts).Elem(), true, 0)
	add(reflect.ValueOf(o), func(w io.Writer, s Style) error { return Transcript(w, o, verdicts, s) })
	add(reflect.ValueOf(v), func(w io.Writer, s Style) error { return Verification(w, v, s) })
	add(reflect.ValueOf(d), func(w io.Writer, s Style) error { return Doctor(w, d, s) })
	return all
}

// records are samples of every artefact.
func records() []record {
	return []record{
		recorded("terminal-passing", "markdown-passing.md", Conform(), passing).inJSON("passing.json", ""),
		recorded("terminal-failing", "markdown-failing.md", Conform(), failing).inJSON("failing.json", ""),
		recorded("terminal-caused", "markdown-caused.md", Conform(), caused).inJSON("caused.json", ""),
		recorded("load", "load.md", Load(), loaded),
		recorded("", "", Load(), charted),
		recorded("soak", "soak-markdown.txt", Soak(), soakSample),
		recorded("matrix", "matrix.md", Matrix(), compared).inJSON("matrix.json", "matrix"),
		recorded("history", "history-markdown.txt", History(), historySample),
		recorded("diff-changed", "diff-changed.md", Diff(), changed).inJSON("diff-changed.json", "diff"),
		recorded("diff-alike", "diff-alike.md", Diff(), alike).inJSON("diff-alike.json", "diff"),
		recorded("selftest", "", Selftest(), sampleSelftest).inJSON("selftest.json", ""),
		recorded("selftest-blame", "", Selftest(), sampleBlame).inJSON("selftest-blame.json", ""),
		recorded("", "", Selftest(), tested),
	}
}

// empties are records without texts.
func empties() []record {
	return []record{
		recorded("", "", Conform(), func() *bundle.Report { return &bundle.Report{Notes: []string{""}} }),
		recorded("", "", Load(), func() *bundle.LoadReport {
			return &bundle.LoadReport{Reasons: []string{""}, Metrics: bundle.LoadMetrics{Violations: []string{""}}, Sandboxes: &bundle.LoadSandboxes{Messages: []string{""}}}
		}),
		recorded("", "", Soak(), func() *bundle.SoakReport {
			return &bundle.SoakReport{Reasons: []string{""}, Series: []bundle.SoakSeries{{}}, Windows: []bundle.SoakWindow{{}}, Findings: []bundle.SoakFinding{{}}, Events: []bundle.SoakEvent{{}}}
		}),
		recorded("", "", Matrix(), func() *bundle.Matrix { return &bundle.Matrix{} }),
		recorded("", "", History(), func() *bundle.History { return &bundle.History{} }),
		recorded("", "", Diff(), func() *bundle.Diff { return &bundle.Diff{Regressions: []bundle.VerdictChange{{}}} }),
		recorded("", "", Selftest(), func() *bundle.SelftestReport {
			return &bundle.SelftestReport{Faults: []bundle.FaultResult{{}}, Variants: []bundle.VariantResult{{}}}
		}),
	}
}

func TestEveryDocumentInEveryFormat(t *testing.T) {
	for _, r := range append(records(), empties()...) {
		render := r.render(false, false)
		if r.text != "" {
			goldenDrawing(t, r.text, func(b *bytes.Buffer, s Style) error { return render(b, FormatTerminal, s) })
		}
		var b bytes.Buffer
		for _, format := range r.formats {
			if err := render(&b, format, Style{Verbose: true}); err != nil {
				t.Errorf("%s as %s: %v", r.text, format, err)
			}
		}
		b.Reset()
		if r.markdown != "" {
			if err := render(&b, FormatMarkdown, Style{}); err != nil {
				t.Fatal(err)
			}
			golden(t, r.markdown, b.Bytes())
		}
		if r.json != "" {
			b.Reset()
			if err := render(&b, FormatJSON, Style{}); err != nil {
				t.Fatal(err)
			}
			golden(t, r.json, b.Bytes())
		}
		if r.schema != "" {
			text, err := scenarios.Schema(r.schema)
			if err != nil {
				text, err = bundle.Schema(r.schema)
			}
			if err != nil {
				t.Fatal(err)
			}
			valid(t, r.schema, text, b.Bytes())
		}
		if slices.Contains(r.formats, FormatHTML) {
			b.Reset()
			if err := render(&b, FormatHTML, Style{}); err != nil {
				t.Fatal(err)
			}
			page := parsedPage(t, b.Bytes())
			inert(t, page)
			wellMade(t, page)
		}
		b.Reset()
		if err := render(&b, "pdf", Style{}); err == nil || !strings.Contains(err.Error(), "the formats are "+strings.Join(r.formats, ", ")) || b.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", r.text, err, b.Len())
		}
	}
}

// Whatever text of a record is hostile, what is drawn of it consists of text and of our colours and markup: no
// terminal obeys it, no page runs it, and it is not markup of Markdown.
func TestNoRecordIsObeyed(t *testing.T) {
	t.Parallel()
	for i, r := range append(records(), texts()...) {
		for _, all := range []bool{false, true} {
			render := r.render(true, all)
			for _, format := range r.formats {
				for _, s := range []Style{{}, {Color: true, Verbose: true, Width: 120}} {
					t.Run(fmt.Sprintf("%d %s, %v, %s, %+v", i, r.text, all, format, s), func(t *testing.T) {
						var b bytes.Buffer
						if err := render(&b, format, s); err != nil {
							t.Fatal(err)
						}
						text := b.String()
						if format == FormatTerminal && s.Color {
							text = ours.ReplaceAllString(text, "")
						}
						if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
							t.Errorf("there is %q", text[i:min(len(text), i+40)])
						}
						if !strings.Contains(text, "x1b") && !strings.Contains(text, `\u001b`) {
							t.Error("nothing hostile was drawn")
						}
						switch format {
						case FormatHTML:
							inert(t, parsedPage(t, b.Bytes()))
						case FormatMarkdown, FormatSummary:
							if fenced := strings.Count(text, "```"); fenced == 0 && strings.Contains(text, "& <b>") {
								t.Error("markup of the target came through")
							}
						}
					})
				}
			}
		}
	}
}
