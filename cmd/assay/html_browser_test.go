package main

import (
	"bufio"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/browser"
)

// The pages of the program itself, without a sample in between.
func TestThePagesOfRealRunsAreQuiet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the pages are tested with samples in package reports")
	}
	b := browser.Start(t)
	for name, args := range map[string][]string{
		"conform": {"conform", "--select", "area:connect-unary", "--report", "html=page.html"},
		"load":    {"load", "--streams", "5", "--duration", "3s", "--report", "html=page.html"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, stderr := program(t, args...)
			if err := c.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			p := b.Open(t, filepath.Join(c.Dir, "page.html"), browser.View{})
			if n := browser.Eval[int](t, p, `document.querySelectorAll(".banner.good, .banner.info").length`); n != 1 {
				t.Errorf("the verdict is %s", p.Text(t, ".banner"))
			}
			charts := browser.Eval[int](t, p, `document.querySelectorAll("figure.chart").length`)
			if canvases := browser.Eval[int](t, p, `document.querySelectorAll("figure .uplot canvas").length`); canvases != charts || name == "load" && charts < 3 {
				t.Errorf("%d of %d charts are drawn", canvases, charts)
			}
			p.Screenshot(t, "real-"+name)
			p.Show(t, browser.View{Width: 375, Dark: true})
			if over := p.Overflow(t); over > 0 {
				t.Errorf("on 375 pixels the page is %d too wide", over)
			}
			p.Quiet(t)
		})
	}
}

// showing starts a run with --ui, and returns the address of its page.
func showing(t *testing.T, args ...string) (url string, wait func() error) {
	t.Helper()
	c, _, stderr := program(t, append(args, "--ui", "127.0.0.1:0")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	end := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	t.Cleanup(func() { end.Stop() })
	return stderr.after(t, "the run in a browser: "), c.Wait
}

func TestALoadRunIsSeenInABrowserUntilItsVerdict(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	url, wait := showing(t, "load", "--streams", "5", "--duration", "12s")
	p := b.Open(t, url, browser.View{})
	p.Wait(t, `document.querySelector("h1").textContent.includes("Pass")`)
	if err := wait(); err != nil {
		t.Errorf("with an open page, the run ends with %v", err)
	}
	p.Wait(t, `document.querySelector("#connection").textContent.includes("has ended")`)
	if done := browser.Eval[string](t, p, `document.querySelectorAll(".facts dd")[2].textContent`); done != "5" {
		t.Errorf("at the end the page counts %s streams", done)
	}
	p.Screenshot(t, "live-load")
	p.Quiet(t, "GET "+url+"events")
}

func TestTheEventsOfARunEndWithItsVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"conform": {[]string{"conform", "--select", "area:connect-unary"}, `"word":"Partial"`},
		"load":    {[]string{"load", "--streams", "5", "--duration", "3s"}, `"word":"Pass"`},
	} {
		t.Run(name, func(t *testing.T) {
			url, wait := showing(t, c.args...)
			r, err := http.Get(url + "events")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			var first, last string
			for lines := bufio.NewScanner(r.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					if first == "" {
						first = data
					}
					last = data
				}
			}
			if !strings.Contains(first, `"whole":true`) || !strings.Contains(last, c.want) {
				t.Errorf("the first event is\n%s\nthe last is\n%s", first, last)
			}
			if err := wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
