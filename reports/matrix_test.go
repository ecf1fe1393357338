package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/record/bundle"
	"assay/internal/testkit/browser"
)

// compared is a matrix with rows of every kind, on three gateways.
func compared() *bundle.Matrix {
	gateway := func(name, url, verdict string, exit, clean int) bundle.MatrixGateway {
		return bundle.MatrixGateway{
			Name: name, Path: "runs/" + name, Run: "01JD", Tool: bundle.Tool{Name: "assay", Version: "0.1.0"}, Target: bundle.Target{URL: url}, Profile: "e2b",
			Verdict: verdict, Exit: exit, Endings: map[bundle.Ending]int{bundle.EndedClean: clean, bundle.EndedTimeout: exit},
			Levels: []bundle.MatrixLevel{
				{Level: "must", Verdicts: map[bundle.Conclusion]int{bundle.Pass: 61, bundle.Fail: exit}}, {Level: "should", Verdicts: map[bundle.Conclusion]int{bundle.Pass: 2, bundle.Advisory: 1}},
				{Level: "may", Verdicts: map[bundle.Conclusion]int{}},
			},
		}
	}
	cells := func(all ...bundle.MatrixCell) []bundle.MatrixCell { return all }
	pass := bundle.MatrixCell{Verdict: bundle.Pass, Ended: bundle.EndedClean}
	m := &bundle.Matrix{
		Schema:   bundle.MatrixSchema,
		Gateways: []bundle.MatrixGateway{gateway("ours", "http://127.0.0.1:18081", bundle.Conformant, 0, 410), gateway("vendor <b>x</b>", "https://gateway.example", bundle.Nonconformant, 1, 380), gateway("cut", "http://10.0.0.7:8081", bundle.RunInconclusive, 130, 12)},
		Context:  []bundle.MatrixContext{{What: "profile", Values: []string{"e2b", "e2b", "full"}}, {What: "selection", Values: []string{"all", "area:process-exit", "all"}}},
		Rules: []bundle.MatrixRule{
			{ID: "process.end.exit-code", Level: "must", Area: "process", Text: "The end event has the exit code.", Kind: bundle.MatrixDiffers, OtherEndings: true, Cells: cells(pass,
				bundle.MatrixCell{Verdict: bundle.Fail, Ended: bundle.EndedTimeout, Scenario: "process.exit.codes", Message: "exit code: want 42, saw 0\n  " + hostileText},
				bundle.MatrixCell{Verdict: bundle.Inconclusive, Ended: bundle.EndedReset, Scenario: "process.exit.codes", Message: "too few iterations"})},
			{ID: "http2.stream.closed", Level: "must", Area: "http2", Kind: bundle.MatrixCoverage, Cells: cells(pass, bundle.MatrixCell{Verdict: bundle.Unsupported}, bundle.MatrixCell{})},
			{ID: "connect.unary.not-found", Level: "must", Area: "connect", Kind: bundle.MatrixSame, Cells: cells(pass, pass, pass)},
			{ID: "process.output.complete", Level: "must", Area: "process", Kind: bundle.MatrixSame, OtherEndings: true, Cells: cells(pass, bundle.MatrixCell{Verdict: bundle.Pass, Ended: bundle.EndedCut}, bundle.MatrixCell{Verdict: bundle.Pass})},
			{ID: "process.signal.twice", Level: "must", Area: "process", Kind: bundle.MatrixSame, Cells: cells(bundle.MatrixCell{Verdict: bundle.Fail}, bundle.MatrixCell{Verdict: bundle.Fail}, bundle.MatrixCell{Verdict: bundle.Fail})},
			{ID: "connect.error.text", Level: "should", Area: "connect", Kind: bundle.MatrixDiffers, Cells: cells(pass, bundle.MatrixCell{Verdict: bundle.Advisory, Ended: bundle.EndedClean, Message: "Latin-1"}, bundle.MatrixCell{Verdict: bundle.Advisory, Level: "may"})},
		},
		Areas: []bundle.MatrixArea{
			{Level: "must", Area: "connect", Verdict: bundle.Pass, Rules: 1}, {Level: "must", Area: "process", Verdict: bundle.Fail, Rules: 1}, {Level: "must", Area: "process", Verdict: bundle.Pass, Rules: 1},
		},
		Words:       []bundle.MatrixWord{{Word: "pass", Text: "the rule held in every scenario that tested it"}, {Word: "fail", Text: "the rule is broken, and the gateway does not conform"}, {Word: bundle.NotJudged, Text: "this run did not judge the rule"}},
		EndingWords: []bundle.MatrixWord{{Word: "clean", Text: "every response was complete"}, {Word: "timeout", Text: "a response did not end before the deadline"}},
	}
	m.Gateways[2].Unfinished, m.Gateways[2].Partial = true, []string{"the run is unfinished: it has no manifest.json"}
	m.Gateways[1].Endings = nil
	return m
}

func TestAMatrixAsAPageIsAccessibleOnEveryScreen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "matrix.html")
	var b bytes.Buffer
	if err := Matrix().Render(&b, FormatHTML, compared(), Style{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := browser.Start(t).Open(t, path, browser.View{})
	p.Axe(t)
	p.Type(t, "#differ-must-list-filter", "no-such-rule")
	p.Wait(t, `document.querySelector("#rule-process\\.end\\.exit-code").hidden`)
	p.Type(t, "#differ-should-list-filter", "advisory")
	p.Wait(t, `!document.querySelector("#rule-connect\\.error\\.text").hidden`)
	p.Show(t, browser.View{Width: 375, Dark: true})
	p.Axe(t)
	if n := p.Overflow(t); n > 0 {
		t.Errorf("on a telephone the page is %d pixels too wide", n)
	}
	p.Quiet(t)
}
