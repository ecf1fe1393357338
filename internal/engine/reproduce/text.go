package reproduce

import (
	"slices"
	"strings"
	"unicode"
)

// commentRoom is the width of comments.
const commentRoom = 100

// comment returns text as comment lines of a script. No byte from a target can end the
// comment or control a terminal.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for _, word := range strings.Fields(clean(text)) {
		for len(word) > commentRoom {
			b.WriteString(line + "\n")
			line = "#   " + word[:commentRoom]
			word = word[commentRoom:]
		}
		if len(line)+1+len(word) > commentRoom && line != "#" {
			b.WriteString(line + "\n")
			line = "#  "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// clean replaces unprintable and non-ASCII bytes with question marks, and white space
// with blanks.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r < 0x20 || r > 0x7e:
			return '?'
		}
		return r
	}, text)
}

// quoteWord quotes s unless it is one plain shell word.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// compact returns s sorted, without duplicates.
func compact(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}
