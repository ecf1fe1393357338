package reports

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleanTextIsPrintableAndHasNoTabs(t *testing.T) {
	if got, want := clean("a\tb\x1b[2J\n\u202e"), "a    b\\x1b[2J\n\\u202e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWrapBreaksAtSpacesWhereItCan(t *testing.T) {
	tests := []struct {
		name, in string
		n        int
		want     []string
	}{
		{"text that fits keeps its spaces", "a   b", 10, []string{"a   b"}},
		{"words", "the quick brown fox", 10, []string{"the quick", "brown fox"}},
		{"a word that is too long", "abcdefghij k", 4, []string{"abcd", "efgh", "ij k"}},
		{"lines of the text", "a\n\nb", 10, []string{"a", "", "b"}},
		{"an indented line", "  aa bb cc", 6, []string{"  aa", "  bb", "  cc"}},
		{"wide runes", "日本語日本語", 5, []string{"日本", "語日", "本語"}},
		{"no room at all", "日本", 0, []string{"日", "本"}},
		{"nothing", "", 5, []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, wrap(tt.in, tt.n)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestACommandCanBeCopiedFromSeveralLines(t *testing.T) {
	const command = "assay replay a.b http://127.0.0.1:1 --shell '/bin/bash -l -c' --seed 7 --insecure --axis connect/json/1.1/identity"
	lines := wrapCommand(command, 40)
	if len(lines) < 3 {
		t.Fatalf("not wrapped: %q", lines)
	}
	for i, l := range lines {
		if width(l) > 40 {
			t.Errorf("%q is too wide", l)
		}
		if (i < len(lines)-1) != strings.HasSuffix(l, ` \`) {
			t.Errorf("%q: a backslash too many or too few", l)
		}
	}
	joined := strings.Join(strings.Fields(strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", " ")), " ")
	if joined != command {
		t.Errorf("got %q, want %q", joined, command)
	}
}

func TestCutNeverGrows(t *testing.T) {
	for n := range 12 {
		if got := cut("日本 abc def", n); width(got) > n {
			t.Errorf("%d columns: %q", n, got)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b\xff\u202e\n")
	f.Fuzz(func(t *testing.T, in string) {
		out := clean(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0) }) {
			t.Errorf("%q became %q", in, out)
		}
		for _, l := range wrap(out, 20) {
			if width(l) > 20 {
				t.Errorf("%q is wider than 20", l)
			}
		}
	})
}
