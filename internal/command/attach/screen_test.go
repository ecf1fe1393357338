package attach

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestTheScreenEndsWhatOutputHasBegun(t *testing.T) {
	for name, tc := range map[string]struct{ output, resets string }{
		"nothing":                              {"plain text\r\n", ""},
		"the alternate screen":                 {"\x1b[?1049h", "\x1b[?1049l"},
		"the alternate screen, left again":     {"\x1b[?1049h\x1b[?1049l", ""},
		"several modes in one sequence":        {"\x1b[?1000;1006;2004h", "\x1b[?1000l\x1b[?1006l\x1b[?2004l"},
		"a hidden cursor":                      {"\x1b[?25l", "\x1b[?25h"},
		"no wrapping":                          {"\x1b[?7l\x1b[?25l\x1b[?25h", "\x1b[?7h"},
		"cursor keys and keypad":               {"\x1b[?1h\x1b=", "\x1b[?1l\x1b>"},
		"the keypad, left again":               {"\x1b=\x1b>", ""},
		"colours":                              {"\x1b[1;31mred", "\x1b[0m"},
		"colours, ended":                       {"\x1b[31mred\x1b[0m", ""},
		"colours, ended without a parameter":   {"\x1b[31mred\x1b[m", ""},
		"line drawing":                         {"\x1b(0qqq", "\x0f\x1b(B"},
		"line drawing, ended":                  {"\x1b(0qqq\x1b(B", ""},
		"the second character set":             {"\x0e", "\x0f\x1b(B"},
		"modified keys, as of vim":             {"\x1b[>4;2m", "\x1b[>4;0m"},
		"modified keys, ended":                 {"\x1b[>4;2m\x1b[>4;m", ""},
		"keyboard modes of kitty":              {"\x1b[>1u\x1b[>5u\x1b[<u", "\x1b[<u"},
		"a full reset":                         {"\x1b[?1049h\x1b[31m\x1b=\x1b[>1u\x1bc", ""},
		"a mode that no one knows":             {"\x1b[?7777h", ""},
		"modes that are not private":           {"\x1b[4h\x1b[25l", ""},
		"a sequence that is cut off":           {"text\x1b[?104", "\x18"},
		"an escape at the end":                 {"text\x1b", "\x18"},
		"a sequence that is given up":          {"\x1b[?1049\x18h", ""},
		"a control character in a sequence":    {"\x1b[?10\n49h", "\x1b[?1049l"},
		"more parameters than any sequence":    {"\x1b[?" + strings.Repeat("1;", 100) + "25l", ""},
		"a number that is none":                {"\x1b[?99999999999999999999;25l", "\x1b[?25h"},
		"invalid UTF-8":                        {"\xff\xfe\x1b[?25l\x80", "\x1b[?25h"},
		"a question mark behind a parameter":   {"\x1b[1?25l", ""},
		"a sequence behind one that is broken": {"\x1b[?25\x1b[?1049h", "\x1b[?1049l"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pieces := range []int{len(tc.output), 1} {
				var to bytes.Buffer
				s := NewScreen(&to)
				for p := []byte(tc.output); len(p) > 0; p = p[min(pieces, len(p)):] {
					if _, err := s.Write(p[:min(pieces, len(p))]); err != nil {
						t.Fatal(err)
					}
				}
				s.Reset()
				if got := strings.TrimPrefix(to.String(), tc.output); got != tc.resets {
					t.Errorf("in pieces of %d: %q, want %q", pieces, got, tc.resets)
				}
				before := to.Len()
				if s.Reset(); to.Len() != before {
					t.Errorf("the second time: %q", to.String()[before:])
				}
			}
		})
	}
}

// short writes three bytes.
type short struct{}

var errShort = errors.New("no more")

func (short) Write(p []byte) (int, error) { return min(3, len(p)), errShort }

func TestTheScreenNotesOnlyWhatWasWritten(t *testing.T) {
	s := NewScreen(short{})
	if n, err := s.Write([]byte("abc\x1b[?1049h")); n != 3 || !errors.Is(err, errShort) {
		t.Errorf("%d, %v", n, err)
	}
	if got := s.resets(); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// After Reset, a second screen that reads all finds nothing to reset.
func FuzzScreen(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[31m\x1b(0\x1b[>4;2m\x1b[>1u\x1b=\x0e"))
	f.Add([]byte("\x1b[?25l\x1b[?10"))
	f.Fuzz(func(t *testing.T, output []byte) {
		var first, second bytes.Buffer
		s := NewScreen(&first)
		_, _ = s.Write(output)
		s.Reset()
		again := NewScreen(&second)
		_, _ = again.Write(first.Bytes())
		if got := again.resets(); len(got) > 0 {
			t.Errorf("%q leaves %q", output, got)
		}
	})
}
