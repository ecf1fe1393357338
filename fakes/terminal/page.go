package terminal

import (
	"embed"
	"html"
	"net/http"
	"strings"
)

//go:embed web xterm/xterm.js xterm/xterm.css xterm/LICENSE fit/addon-fit.js fit/LICENSE
var content embed.FS

// Policy is the Content-Security-Policy of the page and its files.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The place in the page for the features of the gateway.
const featuresMark = "{{features}}"

// Page serves the page, and its files, which it refers to by terminal/NAME.
type Page struct {
	features string
}

var _ http.Handler = (*Page)(nil)

// New returns the page for a stdio surface that has the features given, such as stdio.pty.
func New(features []string) *Page { return &Page{strings.Join(features, " ")} }

// ServeHTTP serves the page, or the file that the path value "file" names.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	path, kind := file(r.PathValue("file"))
	body, err := content.ReadFile(path)
	if err != nil {
		http.Error(w, "the terminal page has no such file", http.StatusNotFound)
		return
	}
	if kind == "text/html" {
		body = []byte(strings.Replace(string(body), featuresMark, html.EscapeString(p.features), 1))
	}
	h.Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(body) // the client may be gone
}

// file returns where the file is that has a name in the page, and its type; "" is the page itself.
func file(name string) (path, kind string) {
	switch name {
	case "":
		return "web/page.html", "text/html"
	case "page.js", "pane.js", "link.js", "screen.js":
		return "web/" + name, "text/javascript"
	case "page.css":
		return "web/page.css", "text/css"
	case "xterm.js":
		return "xterm/xterm.js", "text/javascript"
	case "xterm.css":
		return "xterm/xterm.css", "text/css"
	case "addon-fit.js":
		return "fit/addon-fit.js", "text/javascript"
	}
	return "", ""
}
