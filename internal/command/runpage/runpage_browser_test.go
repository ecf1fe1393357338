//go:build !race

package runpage

import (
	"testing"

	"assay/internal/testkit/browser"
	"assay/reports/page"
)

func TestThePageFollowsTheRunToItsEnd(t *testing.T) {
	s := serving(t, nil)
	s.Sentence("100 streams at a time")
	p := browser.Start(t).Open(t, s.URL(), browser.View{})
	p.Wait(t, `document.querySelector("#connection").textContent.includes("follows")`)
	browser.Eval[any](t, p, `window.moments = 0; addEventListener("charts", e => { window.moments = e.detail.open ? e.detail.open[0].length : 0 }); null`)
	for i := range 3 {
		s.Moment("open", float64(i), float64(50+i), 100)
	}
	s.Facts("53", "1")
	s.Entry(Entry{Tone: page.Bad, Symbol: "✗", Word: "corrupt", Text: `<img src=x onerror="window.owned=1">` + "\u202e"})
	p.Wait(t, `window.moments >= 3`)
	s.Moment("open", 3, 60, 100)
	p.Wait(t, `window.moments >= 4`)
	p.Wait(t, `document.querySelector(".facts dd").textContent === "53"`)
	p.Wait(t, `document.querySelectorAll("#entries tbody tr").length === 1`)
	if n := browser.Eval[int](t, p, `[...document.querySelectorAll("figure .uplot canvas")].filter(c => c.checkVisibility()).length`); n != 1 {
		t.Errorf("%d charts are drawn", n)
	}
	p.Axe(t)
	p.Show(t, browser.View{Dark: true, Width: 375})
	if over := p.Overflow(t); over > 0 {
		t.Errorf("on 375 pixels the page is %d too wide", over)
	}
	p.Axe(t)
	p.Screenshot(t, "live-dark")
	p.Show(t, browser.View{})

	s.End(Verdict{Tone: page.Good, Symbol: "✓", Word: "Pass", Sentence: "Every stream ended as it should."})
	s.Close()
	p.Wait(t, `document.querySelector("#connection").textContent.includes("has ended")`)
	if h1 := p.Text(t, "h1"); h1 != "✓\nPass" {
		t.Errorf("the verdict is %q", h1)
	}
	if n := browser.Eval[int](t, p, `document.querySelectorAll("img, .banner.good").length`); n != 1 {
		t.Errorf("there are %d good banners and pictures, want the banner", n)
	}
	p.Screenshot(t, "live-ended")
	p.Quiet(t, "GET "+s.URL()+"events")
}

func TestWhoComesLateSeesTheWholeRun(t *testing.T) {
	s := serving(t, nil)
	for i := range 10 {
		s.Moment("open", float64(i), float64(i), 10)
	}
	p := browser.Start(t).Open(t, s.URL(), browser.View{NoScript: true})
	if n := browser.Eval[int](t, p, `document.querySelectorAll("figure svg path.line").length`); n != 2 {
		t.Errorf("without scripts, %d of 2 lines are drawn", n)
	}
	p.Quiet(t)
}

func TestARunThatIsKilledLeavesAPageThatSaysSo(t *testing.T) {
	s := serving(t, nil)
	p := browser.Start(t).Open(t, s.URL(), browser.View{})
	p.Wait(t, `document.querySelector("#connection").textContent.includes("follows")`)
	if err := s.server.Close(); err != nil {
		t.Fatal(err)
	}
	p.Wait(t, `document.querySelector("#connection").textContent.includes("lost")`)
}
