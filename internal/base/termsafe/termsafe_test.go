package termsafe

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextEscapesWhatATerminalWouldObey(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "a b\n\tc", "a b\n\tc"},
		{"other scripts stay", "naïve 日本 ✓", "naïve 日本 ✓"},
		{"a colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"the title of the window", "\x1b]0;t\x07", `\x1b]0;t\x07`},
		{"carriage return and backspace", "a\rb\b", `a\x0db\x08`},
		{"delete", "\x7f", `\x7f`},
		{"a C1 control", "\u009b31m", `\u009b31m`},
		{"a C1 control in Latin-1", "\x9b31m", `\x9b31m`},
		{"text that runs backwards", "\u202eabc\u2066", `\u202eabc\u2066`},
		{"what takes no room", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"invalid UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"a surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"a private plane", "\U000f0000", `\U000f0000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAWriterReportsTheTextAsWrittenThatItWasGiven(t *testing.T) {
	var b bytes.Buffer
	if n, err := (Writer{&b}).Write([]byte("\x1bc")); n != 2 || err != nil || b.String() != `\x1bc` {
		t.Errorf("wrote %d bytes as %q: %v", n, b.String(), err)
	}
	if n, err := (Writer{full{}}).Write([]byte("a")); n != 0 || !errors.Is(err, errFull) {
		t.Errorf("wrote %d bytes to a full disk: %v", n, err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func FuzzNothingReachesATerminalButText(f *testing.F) {
	for _, seed := range []string{"a\n\tb", "\x1b[2J", "\u202e", "\x9b", "日本\xff", "\xf0\x9f\x98"} {
		f.Add([]byte(seed), uint(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, at uint) {
		at %= uint(len(in) + 1)
		var whole, parts bytes.Buffer
		for to, writes := range map[*bytes.Buffer][][]byte{&whole: {in}, &parts: {in[:at], in[at:]}} {
			for _, p := range writes {
				if n, err := (Writer{to}).Write(p); n != len(p) || err != nil {
					t.Fatalf("wrote %d of %d bytes: %v", n, len(p), err)
				}
			}
			if text := to.String(); !utf8.ValidString(text) || strings.ContainsFunc(text, obeyed) {
				t.Fatalf("%q passes as %q", in, text)
			}
		}
		once := whole.String()
		if again := Text(once); again != once {
			t.Fatalf("%q is escaped again, as %q", once, again)
		}
		if safe := utf8.Valid(in) && !bytes.ContainsFunc(in, obeyed); safe != (once == string(in)) {
			t.Fatalf("%q becomes %q", in, once)
		}
	})
}

// obeyed reports whether a terminal may do something else than show r.
func obeyed(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
