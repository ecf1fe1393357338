package reproduce

import (
	"slices"
	"strings"
	"unicode"
)

// commentRoom is how wide comments are.
const commentRoom = 100

// comment is text as comment lines of a script. No byte that a target sent can
// end the comment, or steer a terminal.
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

// clean has a question mark for everything that is not printable ASCII; white
// space is a blank.
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

// quoteWord quotes what a shell would not take as one plain word.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// compact is s sorted, without repetitions.
func compact(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return slices.Compact(s)
}
