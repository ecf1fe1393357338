//go:build !race

package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/testkit/browser"
)

// pageOf writes a page into a file.
func pageOf(t *testing.T, draw func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := draw(f); err != nil {
		t.Fatal(err)
	}
	return path
}

func htmlOf(r *bundle.Report) func(io.Writer) error {
	return func(w io.Writer) error { return Conform().Render(w, FormatHTML, r, Style{}) }
}

func loadHTMLOf(r *bundle.LoadReport) func(io.Writer) error {
	return func(w io.Writer) error { return Load().Render(w, FormatHTML, r, Style{}) }
}

// undecided is the report of a run that says nothing.
func undecided() *bundle.Report {
	r := passing()
	r.Verdict, r.Exit = bundle.RunInconclusive, 5
	for i := range r.Scenarios {
		r.Scenarios[i].Verdict = bundle.Inconclusive
		for j := range r.Scenarios[i].Rules {
			r.Scenarios[i].Rules[j].Verdict, r.Scenarios[i].Rules[j].Message = bundle.Inconclusive, "not judged: the stream ended too early"
		}
	}
	return counted(r)
}

// overTime is the report of a load run of a minute, with a timeline and curves.
func overTime() *bundle.LoadReport {
	r := loaded()
	for i := range int64(60) {
		m := bundle.LoadMoment{FromMS: i * 1000, ToMS: i*1000 + 1000, Warmup: i < 5, Due: 100, Begun: 100 - i%3, Open: 50 + i}
		m.FirstEvent = bundle.Latency{Count: 100, P50: 900 + i, P90: 1500, P99: 4000 + 100*i, P999: 9000, Max: 20000}
		m.Gap = bundle.Latency{Count: 100, P50: 1_000_000, P90: 1_000_100, P99: 1_002_000, P999: 1_003_000, Max: 1_010_000}
		m.DriverLag = bundle.Latency{Count: 100, P50: 10, P90: 20, P99: 30, P999: 40, Max: 50}
		m.Outcomes[bundle.StreamCorrupt] = i / 20
		r.Timeline = append(r.Timeline, m)
	}
	for _, metric := range []string{"first_event", "gap", "first_event/short"} {
		c := bundle.LoadCurve{Metric: metric}
		for i, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 1} {
			c.Points = append(c.Points, bundle.LoadPoint{Quantile: q, Value: int64(1000 * (i + 1) * (i + 1))})
		}
		r.Curves = append(r.Curves, c)
	}
	return r
}

// tenThousand is a report with ten thousand failures.
func tenThousand() *bundle.Report {
	r := failing()
	for i := range 10_000 {
		s := r.Scenarios[3]
		s.ID = fmt.Sprintf("process.output.s%d", i)
		s.Rules = []bundle.RuleVerdict{rule(fmt.Sprintf("process.output.r%d", i%3000), "must", "A rule.", bundle.Fail, fmt.Sprintf("want %d, saw nothing", i))}
		r.Scenarios = append(r.Scenarios, s)
	}
	return counted(r)
}

func TestEveryPageIsQuietFitsAndCanBeRead(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, c := range map[string]struct {
		draw    func(io.Writer) error
		verdict string
		large   bool
	}{
		"conformant":     {htmlOf(passing()), "Conformant", false},
		"broken":         {htmlOf(caused()), "Not conformant", false},
		"every verdict":  {htmlOf(failing()), "Not conformant", false},
		"inconclusive":   {htmlOf(undecided()), "Inconclusive", false},
		"zero scenarios": {htmlOf(counted(&bundle.Report{Verdict: bundle.RunInconclusive, Exit: 5})), "Inconclusive", false},
		"10000 failures": {htmlOf(tenThousand()), "Not conformant", true},
		"load":           {loadHTMLOf(overTime()), "Fail", false},
		"load of before": {loadHTMLOf(loaded()), "Fail", false},
		"load of none":   {loadHTMLOf(&bundle.LoadReport{Verdict: bundle.LoadInconclusive}), "Inconclusive", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.Open(t, pageOf(t, c.draw), browser.View{})
			if h1 := p.Text(t, "h1"); !strings.Contains(h1, c.verdict) {
				t.Errorf("the verdict is %q, want %s", h1, c.verdict)
			}
			p.Screenshot(t, strings.ReplaceAll(name, " ", "-"))
			if !c.large {
				p.Axe(t)
			}
			p.Show(t, browser.View{Width: 375, Height: 800, Dark: true})
			if over := p.Overflow(t); over > 0 {
				t.Errorf("on 375 pixels the page is %d too wide", over)
			}
			if color := browser.Eval[string](t, p, "getComputedStyle(document.body).backgroundColor"); color == "rgb(255, 255, 255)" {
				t.Error("the dark page is white")
			}
			p.Screenshot(t, strings.ReplaceAll(name, " ", "-")+"-dark")
			if !c.large {
				p.Axe(t)
			}
			p.Quiet(t)
			if size := browser.Eval[int](t, p, "document.documentElement.outerHTML.length"); size > 4e6 {
				t.Errorf("the page has %d bytes", size)
			}
			t.Logf("interactive after %.0f ms", browser.Eval[float64](t, p, "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
		})
	}
}

// visible is JavaScript: the number of elements that a reader can see.
func visible(selector string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%q)].filter(e => e.checkVisibility()).length", selector)
}

func TestTheFilterNarrowsTheRulesAndCountsThem(t *testing.T) {
	t.Parallel()
	p := browser.Start(t).Open(t, pageOf(t, htmlOf(failing())), browser.View{})
	all := browser.Eval[int](t, p, `document.querySelectorAll("#rule-list [data-row]").length`)
	p.Type(t, "#rule-list-filter", "OUTPUT process")
	p.Wait(t, `document.querySelector("[data-filter=rule-list] output").textContent !== ""`)
	shown := browser.Eval[int](t, p, visible("#rule-list [data-row]"))
	if want, got := fmt.Sprintf("%d of %d", shown, all), p.Text(t, "[data-filter=rule-list] output"); !strings.Contains(got, want) {
		t.Errorf("the page counts %q, shown are %s", got, want)
	}
	if shown == 0 || shown == all {
		t.Errorf("%d of %d rows are shown", shown, all)
	}
	if other := browser.Eval[int](t, p, `[...document.querySelectorAll("#rule-list [data-row]")].filter(e => e.checkVisibility() && !e.textContent.includes("output")).length`); other > 0 {
		t.Errorf("%d rows without the word are shown", other)
	}
	p.Type(t, "#rule-list-filter", " nothing-has-this")
	p.Wait(t, visible("#rule-list [data-row]")+" === 0")
	browser.Eval[any](t, p, `const f = document.querySelector("#rule-list-filter"); f.value = ""; f.dispatchEvent(new Event("input")); null`)
	if hidden := browser.Eval[int](t, p, `document.querySelectorAll("#rule-list [data-row][hidden]").length`); hidden > 0 {
		t.Errorf("without a filter, %d rows are hidden", hidden)
	}
	p.Quiet(t)
}

func TestALinkOpensWhatItPointsTo(t *testing.T) {
	t.Parallel()
	path := pageOf(t, htmlOf(failing()))
	p := browser.Start(t).Open(t, path+"#rule-connect.stream.one-request", browser.View{})
	seen := func(id string) string {
		return fmt.Sprintf(`(e => e && e.checkVisibility() && e.getBoundingClientRect().top < innerHeight && e.getBoundingClientRect().bottom > 0)(document.getElementById(%q))`, id)
	}
	p.Wait(t, seen("rule-connect.stream.one-request"))
	p.Go(t, path+"#scenario-process.pty.size")
	p.Wait(t, seen("scenario-process.pty.size"))
	p.Quiet(t)
}

func TestTheButtonCopiesTheCommand(t *testing.T) {
	t.Parallel()
	p := browser.Start(t).Open(t, pageOf(t, htmlOf(caused())), browser.View{})
	p.Click(t, ".command .copy")
	p.Wait(t, `document.querySelector(".command .copy").textContent === "Copied"`)
	want := caused().Causes[0].Reproducer
	if got := p.Clipboard(t); got != want {
		t.Errorf("copied is %q, want %q", got, want)
	}
	p.Quiet(t)
}

// poison puts markup into every text of a report.
func poison[T any](t *testing.T, r *T) *T {
	t.Helper()
	const markup = `</script></style></title></textarea>--><script>window.owned=1;alert(1)</script><img src=x onerror="window.owned=2"><svg onload="window.owned=3"><iframe src="javascript:parent.owned=4"></iframe>"'><b id=injected>`
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	keep := map[string]bool{"verdict": true, "level": true, "schema": true, "outcome": true, "time": true, "started": true}
	var walk func(v any, key string) any
	walk = func(v any, key string) any {
		switch v := v.(type) {
		case string:
			if !keep[key] {
				return v + markup
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], key)
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k], k)
			}
		}
		return v
	}
	if text, err = json.Marshal(walk(v, "")); err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMarkupFromATargetStaysText(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for name, draw := range map[string]func(io.Writer) error{
		"causes":   htmlOf(poison(t, caused())),
		"verdicts": htmlOf(poison(t, failing())),
		"load":     loadHTMLOf(poison(t, overTime())),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.Open(t, pageOf(t, draw), browser.View{})
			if !strings.Contains(browser.Eval[string](t, p, "document.body.textContent"), "onload=") {
				t.Error("the markup is not in the page: is the test poisonous?")
			}
			if owned := browser.Eval[string](t, p, "String(window.owned)"); owned != "undefined" {
				t.Errorf("a script of the target ran: %s", owned)
			}
			if n := browser.Eval[int](t, p, `document.querySelectorAll("#injected, img, iframe, [onerror], [onload]").length`); n > 0 {
				t.Errorf("%d elements of the target are in the page", n)
			}
			p.Quiet(t)
		})
	}
}

func TestPrintedAndWithoutScriptsNothingIsMissing(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	path := pageOf(t, htmlOf(caused()))
	p := b.Open(t, path, browser.View{Print: true})
	if n := browser.Eval[int](t, p, `[...document.querySelectorAll("details > :not(summary)")].filter(e => !e.checkVisibility()).length`); n > 0 {
		t.Errorf("printed, %d parts stay folded", n)
	}
	if n := browser.Eval[int](t, p, visible(".filter, .copy, nav")); n > 0 {
		t.Errorf("printed, there are %d parts that only work on a screen", n)
	}
	p.Screenshot(t, "printed")
	p.Quiet(t)

	p = b.Open(t, path, browser.View{NoScript: true})
	text := p.Text(t, "body")
	for _, want := range []string{"Not conformant", "stdout ends at byte 65536", "process.end.exit-code", "assay replay process.output.large"} {
		if !strings.Contains(text, want) {
			t.Errorf("without scripts, %q is not in the page", want)
		}
	}
	if n := browser.Eval[int](t, p, visible(".filter, .copy")); n > 0 {
		t.Errorf("without scripts, there are %d parts that need one", n)
	}
}

func TestALoadPageDrawsItsChartsWithAndWithoutScripts(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	path := pageOf(t, loadHTMLOf(overTime()))
	p := b.Open(t, path, browser.View{})
	figures := browser.Eval[int](t, p, `document.querySelectorAll("figure.chart").length`)
	if figures < 6 {
		t.Errorf("there are %d charts", figures)
	}
	if n := browser.Eval[int](t, p, visible("figure .uplot canvas")); n != figures {
		t.Errorf("uPlot has drawn %d of %d charts", n, figures)
	}
	if blank := browser.Eval[int](t, p, `[...document.querySelectorAll("figure .uplot canvas")].filter(c => !c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v)).length`); blank > 0 {
		t.Errorf("%d canvases are blank", blank)
	}
	if n := browser.Eval[int](t, p, visible("figure .plot > svg")); n > 0 {
		t.Errorf("%d drawings are shown twice", n)
	}
	p.Show(t, browser.View{Print: true})
	if n := browser.Eval[int](t, p, visible("figure .plot > svg")); n != figures {
		t.Errorf("printed, %d of %d charts are drawn as SVG", n, figures)
	}
	p.Quiet(t)

	p = b.Open(t, path, browser.View{NoScript: true})
	if n := browser.Eval[int](t, p, visible("figure .plot > svg path.line")); n < figures {
		t.Errorf("without scripts, %d lines are drawn in %d charts", n, figures)
	}
}
