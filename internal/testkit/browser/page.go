package browser

import (
	"context"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// View is how a page is shown. The zero value is a light window of 1200 by 900 pixels,
// with scripts.
type View struct {
	Width, Height int64
	Dark          bool
	Print         bool
	NoScript      bool // must be set when the page is opened
}

// Page is one page in a tab of its own, which shares nothing with other tabs.
type Page struct {
	browser *Browser
	ctx     context.Context
	url     string
	view    View
	record  record
}

// Open opens a URL, or a file by its path, and waits until it is loaded. The page is closed
// at the end of the test.
func (b *Browser) Open(t testing.TB, target string, view View) *Page {
	t.Helper()
	p := b.tab(t, address(t, target), view)
	act(t, p, "open "+p.url, chromedp.Navigate(p.url))
	return p
}

// tab returns an empty tab that records what happens in it.
func (b *Browser) tab(t testing.TB, target string, view View) *Page {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	p := &Page{browser: b, ctx: ctx, url: target}
	if err := chromedp.Listen(ctx, p.event); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	p.allowClipboard(t)
	command(t, p, audits.Enable, cdp.Empty{})
	if view.NoScript {
		command(t, p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	p.Show(t, view)
	return p
}

// allowClipboard gives the permission that a window with the focus has, and a headless one lacks.
func (p *Page) allowClipboard(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
			BrowserContextID: chromedp.FromContext(p.ctx).BrowserContextID,
		})
		if err != nil {
			t.Fatalf("allow %s: %v", name, err)
		}
	}
}

// address makes a URL of a path.
func address(t testing.TB, target string) string {
	t.Helper()
	if u, err := url.Parse(target); err == nil && u.Scheme != "" {
		return target
	}
	path, fragment := target, ""
	if u, err := url.Parse(target); err == nil {
		path, fragment = u.Path, u.Fragment
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: abs, Fragment: fragment}).String()
}

// Show changes how the page is shown.
func (p *Page) Show(t testing.TB, view View) {
	t.Helper()
	if view.Width == 0 {
		view.Width = 1200
	}
	if view.Height == 0 {
		view.Height = 900
	}
	p.view = view
	act(t, p, "resize", chromedp.EmulateViewport(view.Width, view.Height))
	media := emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}},
	}
	if view.Dark {
		media.Features[0].Value = "dark"
	}
	if view.Print {
		media.Media = "print"
	}
	command(t, p, emulation.SetEmulatedMedia, media)
}

// Go opens another URL, or the same one with another fragment, in the page's tab.
func (p *Page) Go(t testing.TB, target string) {
	t.Helper()
	p.url = address(t, target)
	act(t, p, "open "+p.url, chromedp.Navigate(p.url))
}

// Eval returns the value of a JavaScript expression, of a promise what it is resolved to.
func Eval[T any](t testing.TB, p *Page, expression string) T {
	t.Helper()
	return act(t, p, expression, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(t testing.TB, expression string) {
	t.Helper()
	act(t, p, "wait for "+expression, chromedp.Poll[bool]("!!("+expression+")",
		chromedp.WithPollingTimeout(patience), chromedp.WithPollingInterval(20*time.Millisecond)))
}

// Click clicks the first visible element that matches a CSS selector.
func (p *Page) Click(t testing.TB, selector string) {
	t.Helper()
	act(t, p, "click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Type gives an element the focus and types a text.
func (p *Page) Type(t testing.TB, selector, text string) {
	t.Helper()
	act(t, p, "type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text, chromedp.NodeVisible))
}

// Text returns the text that a reader sees in the first element that matches a CSS selector.
func (p *Page) Text(t testing.TB, selector string) string {
	t.Helper()
	return act(t, p, "text of "+selector, chromedp.Text(chromedp.CSS(selector), chromedp.NodeReady))
}

// Clipboard returns the text in the clipboard.
func (p *Page) Clipboard(t testing.TB) string {
	t.Helper()
	return Eval[string](t, p, "navigator.clipboard.readText()")
}

// Overflow returns by how many pixels the page is wider than its window.
func (p *Page) Overflow(t testing.TB) int {
	t.Helper()
	return Eval[int](t, p, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

// Screenshot writes a picture of the whole page, up to 16,000 pixels high, to NAME.png in the directory that
// SCREENSHOTS names, or among the artifacts of the test if the flag -artifacts keeps them. Nobody sees others: they
// are not taken, which saves seconds.
func (p *Page) Screenshot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if kept := flag.Lookup("test.artifacts"); dir == "" && kept.Value.String() == "true" {
		dir = t.ArtifactDir()
	}
	if dir == "" {
		return
	}
	height := min(Eval[float64](t, p, "document.documentElement.scrollHeight"), 16000)
	beyond := true
	shot := command(t, p, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond,
		Clip:                  &page.Viewport{Width: float64(p.view.Width), Height: height, Scale: 1},
	})
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// act runs an action on the page.
func act[T any](t testing.TB, p *Page, what string, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("%.200s: %v", what, err)
	}
	return v
}

// command sends a command of the protocol to the page.
func command[P, R any](t testing.TB, p *Page, c cdp.Command[P, R], params P) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, c, params)
	if err != nil {
		t.Fatalf("%s: %v", c.Method, err)
	}
	return r
}
