package terminal

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
)

//go:embed web xterm/xterm.js xterm/xterm.css xterm/LICENSE fit/addon-fit.js fit/LICENSE
var content embed.FS

// Policy is the Content-Security-Policy of the page and its files.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// files are the files of the page by name, with their types.
var files = map[string]string{
	"xterm/xterm.js": "text/javascript", "xterm/xterm.css": "text/css", "fit/addon-fit.js": "text/javascript",
	"web/page.js": "text/javascript", "web/pane.js": "text/javascript", "web/link.js": "text/javascript", "web/screen.js": "text/javascript",
	"web/page.css": "text/css",
}

// asset is a file of the page.
type asset struct {
	kind string
	body []byte
}

// Page serves the page on /terminal and its files on /terminal/NAME, relative to where it is mounted.
type Page struct {
	page   []byte
	assets map[string]asset
}

var _ http.Handler = (*Page)(nil)

// New creates the page for a stdio surface with some features, such as stdio.pty.
func New(features []string) (*Page, error) {
	p := &Page{assets: map[string]asset{}}
	for name, kind := range files {
		body, err := content.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("the terminal page: %w", err)
		}
		p.assets[path.Base(name)] = asset{kind, body}
	}
	t, err := template.ParseFS(content, "web/page.html")
	if err != nil {
		return nil, fmt.Errorf("the terminal page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, strings.Join(features, " ")); err != nil {
		return nil, fmt.Errorf("the terminal page: %w", err)
	}
	p.page = b.Bytes()
	return p, nil
}

// ServeHTTP serves the page, or the file that the path value "file" names.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := asset{"text/html", p.page}, true
	if name := r.PathValue("file"); name != "" {
		file, ok = p.assets[name]
	}
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !ok {
		http.Error(w, "the terminal page has no such file", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", file.kind+"; charset=utf-8")
	_, _ = w.Write(file.body) // the client may be gone
}
