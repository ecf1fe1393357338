package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style, the script and uPlot
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed uplot/uPlot.iife.min.js
var chartScript string

//go:embed uplot/uPlot.min.css
var chartStyle string

// Document is one page.
type Document struct {
	// Title is the title of the window.
	Title string
	// Body is the content of the page.
	Body HTML
	// Data are values that scripts read as JSON, by the id of their element.
	Data map[string]any
	// Charts are drawn by uPlot where scripts run. Their figures are part of Body; see Chart.Figure.
	Charts []Chart
	// Scripts run after the script of the package.
	Scripts []string
	// Styles follow the style of the package.
	Styles []string
	// Connect lets the scripts of the page connect to the server that it came from.
	Connect bool
}

// chartsID is the element with the charts as JSON.
const chartsID = "charts"

// Write writes the page in one write. It refers to no other file. Its policy allows the
// scripts and the style in it, by their digests, and nothing else.
func Write(w io.Writer, d Document) error {
	sheet, scripts := d.assets()
	data := maps.Clone(d.Data)
	if len(d.Charts) > 0 {
		if data == nil {
			data = map[string]any{}
		}
		data[chartsID] = d.Charts
	}
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.WriteString("<meta http-equiv=\"Content-Security-Policy\"" + attr("content", policy(sheet, scripts, d.Connect)) + ">\n")
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.WriteString("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n")
	b.WriteString("<title>" + string(Text(d.Title)) + "</title>\n<style>" + sheet + "</style>\n</head>\n<body>\n")
	b.WriteString("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n")
	b.WriteString(string(d.Body))
	for _, id := range slices.Sorted(maps.Keys(data)) {
		text, err := json.Marshal(data[id])
		if err != nil {
			return fmt.Errorf("page: data %q: %w", id, err)
		}
		b.WriteString("\n<script type=\"application/json\"" + attr("id", id) + ">" + printableJSON(text) + "</script>")
	}
	for _, s := range scripts {
		b.WriteString("\n<script>" + s + "</script>")
	}
	b.WriteString("\n</body>\n</html>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func attr(name, value string) string { return " " + name + `="` + string(Text(value)) + `"` }

// assets returns the style of the page and its scripts.
func (d Document) assets() (sheet string, scripts []string) {
	scripts = append([]string{script}, d.Scripts...)
	styles := append([]string{style}, d.Styles...)
	if len(d.Charts) > 0 {
		scripts = append([]string{chartScript}, scripts...)
		styles = append([]string{chartStyle}, styles...)
	}
	return strings.Join(styles, "\n"), scripts
}

// Policy returns the Content-Security-Policy of the page, for a server that also sends it in
// a header.
func (d Document) Policy() string {
	sheet, scripts := d.assets()
	return policy(sheet, scripts, d.Connect)
}

// policy returns the Content-Security-Policy of a page.
func policy(sheet string, scripts []string, connect bool) string {
	sources := make([]string, len(scripts))
	for i, s := range scripts {
		sources[i] = digest(s)
	}
	parts := []string{
		"default-src 'none'", "style-src " + digest(sheet), "script-src " + strings.Join(sources, " "),
		"base-uri 'none'", "form-action 'none'",
	}
	if connect {
		parts = append(parts, "connect-src 'self'")
	}
	return strings.Join(parts, "; ")
}

// digest returns the source expression of an inline script or style.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// printableJSON escapes what encoding/json leaves in strings and Text would spell out.
func printableJSON(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
