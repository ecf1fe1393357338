package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// written writes a page into a file.
func written(t *testing.T, head, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	text := "<!doctype html><html lang=en><head><meta charset=utf-8><title>A page</title>" + head + "</head><body><main><h1>A page</h1>" + body + "</main></body></html>"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAReaderSeesClicksTypesAndCopies(t *testing.T) {
	pictures := t.TempDir()
	t.Setenv("SCREENSHOTS", pictures)
	b := Start(t)
	path := written(t, `<style>@media (prefers-color-scheme: dark) { body { background: #000 } } @media print { p { display: none } }</style>`,
		`<p id=said>nothing</p><label>say <input id=in></label> <button id=copy>copy</button> <details id=d><summary>more</summary><em>folded</em></details>
		<script>
		document.querySelector('#in').addEventListener('input', e => document.querySelector('#said').textContent = e.target.value)
		document.querySelector('#copy').addEventListener('click', () => navigator.clipboard.writeText('copied text'))
		</script>`)
	p := b.Open(t, path, View{})
	p.Type(t, "#in", "a word")
	p.Wait(t, `document.querySelector('#said').textContent === 'a word'`)
	if text := p.Text(t, "#said"); text != "a word" {
		t.Errorf("the page says %q", text)
	}
	p.Click(t, "#copy")
	if text := p.Clipboard(t); text != "copied text" {
		t.Errorf("the clipboard has %q", text)
	}
	p.Click(t, "summary")
	p.Wait(t, `document.querySelector('#d').open`)
	p.Screenshot(t, "light")
	if picture, err := os.ReadFile(filepath.Join(pictures, "light.png")); err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("the picture begins with %.8q: %v", picture, err)
	}

	p.Show(t, View{Dark: true, Print: true, Width: 375})
	if color := Eval[string](t, p, `getComputedStyle(document.body).backgroundColor`); color != "rgb(0, 0, 0)" {
		t.Errorf("dark, the background is %s", color)
	}
	if shown := Eval[string](t, p, `getComputedStyle(document.querySelector('#said')).display`); shown != "none" {
		t.Errorf("printed, the paragraph is shown as %s", shown)
	}
	if width := Eval[int](t, p, `innerWidth`); width != 375 {
		t.Errorf("the window is %d pixels wide", width)
	}
	if over := p.Overflow(t); over != 0 {
		t.Errorf("the page is %d pixels too wide", over)
	}
	Eval[any](t, p, `document.body.style.width = '500px'; null`)
	if over := p.Overflow(t); over < 100 {
		t.Errorf("a page of 500 pixels is %d pixels wider than 375", over)
	}
	p.Quiet(t)
}

func TestWithoutScriptsNoneRuns(t *testing.T) {
	path := written(t, "", `<p id=said>nothing</p><script>document.querySelector('#said').textContent = 'ran'</script>`)
	p := Start(t).Open(t, path, View{NoScript: true})
	if text := p.Text(t, "#said"); text != "nothing" {
		t.Errorf("the script %s", text)
	}
}

func TestEverythingThatAPageMustNotDoIsRecorded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") }))
	defer server.Close()
	b := Start(t)
	const policy = `<meta http-equiv=Content-Security-Policy content="default-src 'none'; script-src 'unsafe-inline'">`
	for name, c := range map[string]struct{ head, body, want string }{
		"a message on the console":    {"", `<script>console.warn('look', 7)</script>`, `console.warning: "look" 7`},
		"an exception":                {"", `<script>nothing.here()</script>`, "exception: Uncaught ReferenceError: nothing is not defined"},
		"a rejected promise":          {"", `<script>Promise.reject(new Error('lost'))</script>`, "Error: lost"},
		"a dialog":                    {"", `<script>alert('stop')</script>`, `dialog: alert "stop"`},
		"a forbidden style":           {policy, `<p style="color:red">red</p>`, "content security policy: style-src"},
		"a forbidden picture":         {policy, `<img alt="" src="` + server.URL + `/a.png">`, "content security policy: img-src"},
		"a forbidden script":          {policy, `<script src="` + server.URL + `/a.js"></script>`, "content security policy: script-src"},
		"a picture that is not there": {"", `<img alt="" src="nowhere.png">`, "nowhere.png"},
		"a request":                   {"", `<img alt="" src="` + server.URL + `/b.png">`, "GET " + server.URL + "/b.png"},
		"a request of a script":       {"", `<script>fetch('` + server.URL + `/c', {mode: 'no-cors'}).then(() => document.title = 'done')</script>`, "GET " + server.URL + "/c"},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.Open(t, written(t, c.head, c.body), View{})
			Eval[any](t, p, "new Promise(done => setTimeout(() => done(null), 0))")
			all := strings.Join(append(p.Said(), p.Requests()...), "\n")
			if !strings.Contains(all, c.want) {
				t.Errorf("want %q in:\n%s", c.want, all)
			}
		})
	}
}

func TestWhatIsAllowedIsQuiet(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<link rel=icon href="data:,"><script>fetch('/data').then(() => document.title = 'done')</script>`)
	}))
	defer server.Close()
	p := Start(t).Open(t, server.URL+"/", View{})
	p.Wait(t, `document.title === 'done'`)
	p.Quiet(t, "GET "+server.URL+"/data")
}

func TestAxeFindsWhatReadersCannotRead(t *testing.T) {
	b := Start(t)
	const policy = `<meta http-equiv=Content-Security-Policy content="default-src 'none'; style-src 'unsafe-inline'">`
	bad := b.Open(t, written(t, policy+`<style>p { color: #ccc; background: #fff }</style>`, `<details><summary>more</summary><p>pale</p></details><img src="data:,">`), View{})
	found := map[string]bool{}
	for _, f := range bad.Findings(t) {
		found[f.ID+" "+f.Impact] = true
	}
	for _, want := range []string{"color-contrast serious", "image-alt critical"} {
		if !found[want] {
			t.Errorf("not found: %s; found: %v", want, found)
		}
	}
	b.Open(t, written(t, policy+`<style>p { color: #222; background: #fff }</style>`, `<p>dark</p>`), View{}).Axe(t)
}

func TestTheLockFileOfAxeNamesNoRegistry(t *testing.T) {
	if err := testkit.CheckNPMLock("axe"); err != nil {
		t.Error(err)
	}
}
