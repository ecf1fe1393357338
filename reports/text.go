package reports

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"

	"assay/internal/base/termsafe"
)

// clean makes untrusted text safe for a terminal and for XML, with tabs as four spaces.
func clean(text string) string {
	return strings.ReplaceAll(termsafe.Text(text), "\t", "    ")
}

// line returns clean text on one line: newlines and the space around them become one space.
func line(text string) string {
	if !strings.Contains(text, "\n") {
		return clean(text)
	}
	parts := strings.Split(clean(text), "\n")
	kept := parts[:0]
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " ")
}

// cells measures runes as a terminal without an East Asian locale draws them,
// regardless of the environment.
func cells() *runewidth.Condition {
	return &runewidth.Condition{StrictEmojiNeutral: true}
}

// width returns the number of columns of text on one line.
func width(text string) int {
	n, c := 0, cells()
	for _, r := range text {
		if 0x20 <= r && r < 0x7f {
			n++
			continue
		}
		n += c.RuneWidth(r)
	}
	return n
}

// cut truncates text to at most n columns, with an ellipsis.
func cut(text string, n int) string {
	if width(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	head, _ := split(text, n-1)
	if width(head) > n-1 {
		head = "" // a wide rune at the edge
	}
	return strings.TrimRight(head, " ") + "…"
}

// split splits off as many runes as fit in n columns, at least one.
func split(text string, n int) (head, rest string) {
	used, c := 0, cells()
	for i, r := range text {
		used += c.RuneWidth(r)
		if used > n && i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// pad pads text with spaces to n columns.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-width(text)))
}

// wrap breaks clean text into lines of at most n columns, at spaces if possible. It keeps
// newlines and the spaces inside a line, and indents continuation lines like the line
// that they continue.
func wrap(text string, n int) []string {
	var out []string
	n = max(n, 1)
	for para := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if width(para) <= n {
			out = append(out, strings.TrimRight(para, " "))
			continue
		}
		body := strings.TrimLeft(para, " ")
		indent := para[:min(len(para)-len(body), n/2)]
		for _, l := range wrapWords(body, n-len(indent)) {
			out = append(out, indent+l)
		}
	}
	return out
}

// wrapWords breaks one line; spaces between words stay, except at a break.
func wrapWords(text string, n int) []string {
	var out []string
	current := ""
	for rest := text; rest != ""; {
		word := strings.TrimLeft(rest, " ")
		gap := rest[:len(rest)-len(word)]
		word, rest = cutWord(word)
		switch {
		case word == "":
		case current == "":
			current = word
		case width(current)+len(gap)+width(word) <= n:
			current += gap + word
		default:
			out = append(out, current)
			current = word
		}
		for width(current) > n {
			var head string
			if head, current = split(current, n); current == "" {
				current = head
				break
			}
			out = append(out, head)
		}
	}
	if current != "" || len(out) == 0 {
		out = append(out, current)
	}
	return out
}

// cutWord splits text before the first space.
func cutWord(text string) (word, rest string) {
	if i := strings.IndexByte(text, ' '); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// wrapCommand breaks a shell command at unquoted spaces, so that the lines can be copied
// as one command. A word that is too long stays whole.
func wrapCommand(command string, n int) []string {
	var out []string
	current := ""
	for _, w := range withValues(shellWords(line(command))) {
		if current != "" && width(current)+1+width(w)+2 > n {
			out = append(out, current+` \`)
			current = "  " + w
			continue
		}
		if current != "" {
			current += " "
		}
		current += w
	}
	return append(out, current)
}

// withValues joins each flag with its value.
func withValues(words []string) []string {
	var out []string
	for _, w := range words {
		last := len(out) - 1
		if last >= 0 && strings.HasPrefix(out[last], "-") && !strings.ContainsAny(out[last], " =") && !strings.HasPrefix(w, "-") {
			out[last] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

func shellWords(command string) []string {
	var words []string
	quote, from := byte(0), 0
	for i := range len(command) {
		switch c := command[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ':
			if i > from {
				words = append(words, command[from:i])
			}
			from = i + 1
		}
	}
	if from < len(command) {
		words = append(words, command[from:])
	}
	return words
}

// plural returns text such as "1 scenario" or "2 scenarios".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size formats a number of bytes: 512 B, 65.5 kB, 1.2 MB.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	case n < 1000_000_000:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g GB", float64(n)/1e9)
}

// took formats a duration in milliseconds: 35 ms, 3.2 s.
func took(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1e3)
}

// span formats a time in nanoseconds: 130 µs, 1.25 ms, 3.20 s.
func span(ns int64) string {
	abs := max(ns, -ns)
	switch {
	case abs < 1_000_000:
		return fmt.Sprintf("%d µs", ns/1000)
	case abs < 1_000_000_000:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.2f s", float64(ns)/1e9)
}
