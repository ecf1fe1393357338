package page

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextCannotBecomeMarkup(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "a b", "a b"},
		{"a tag", "</script><script>alert(1)", "&lt;/script&gt;&lt;script&gt;alert(1)"},
		{"a quote that ends an attribute", `" onload="x`, "&#34; onload=&#34;x"},
		{"an entity", "&lt;", "&amp;lt;"},
		{"a colour of a terminal", "\x1b[31m", `\x1b[31m`},
		{"text that runs backwards", "\u202eabc", `\u202eabc`},
		{"invalid UTF-8", "a\xff", `a\xff`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(tt.in); string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnElementEscapesItsAttributes(t *testing.T) {
	got := El("p", At("title", `a"b<`, "hidden"), Text("<"), El("br", nil))
	if want := `<p title="a&#34;b&lt;" hidden>&lt;<br></p>`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnAnchorIsSafeInAnAddress(t *testing.T) {
	tests := []struct{ in, want string }{
		{"http.method.get", "rule-http.method.get"},
		{"a b/\"é", "rule-a~20b~2f~22~c3~a9"},
		{"", "rule-"},
	}
	for _, tt := range tests {
		if got := ID("rule", tt.in); got != tt.want {
			t.Errorf("ID of %q is %q, want %q", tt.in, got, tt.want)
		}
	}
	if n := len(ID("rule", strings.Repeat("x", 1000))); n > longestID+10 {
		t.Errorf("an anchor of %d bytes", n)
	}
}

func TestANameBreaksAtItsDots(t *testing.T) {
	if got, want := string(Name("a.b<")), "<code>a.<wbr>b&lt;</code>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzTextCannotBecomeMarkup(f *testing.F) {
	for _, seed := range []string{"<b>", `"'&`, "\x1b[2J\u202e\xff", "]]>", "日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := string(Text(in))
		if strings.ContainsAny(out, "<>\"'") || !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Errorf("%q is %q", in, out)
		}
		if id := ID("x", in); strings.ContainsFunc(id, func(r rune) bool { return r >= 0x80 || r <= ' ' || strings.ContainsRune(`"'<>&#%`, r) }) {
			t.Errorf("the anchor of %q is %q", in, id)
		}
	})
}
