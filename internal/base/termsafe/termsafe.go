package termsafe

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text escapes everything but printable characters, newlines and tabs: control characters
// and invalid UTF-8 as \xNN, other characters (C1, bidirectional controls, characters
// without width, private use) as \uNNNN or \UNNNNNNNN. Text of its own output is the
// same text.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// isPlain reports whether s is printable ASCII with newlines and tabs.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// Writer escapes all text that is written to it. Text that is known to be safe, such as a
// drawing with colours of our own, goes to To instead; nothing that passes through Write can
// pretend to be such text.
//
// Each Write must end at the end of a character; the parts of a divided one are escaped as
// invalid UTF-8.
type Writer struct {
	To io.Writer
}

var _ io.Writer = Writer{}

// Write writes p, escaped. It reports either all of p as written or none of it.
func (w Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
