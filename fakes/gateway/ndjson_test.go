package gateway

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/fakes/virtual"
)

// linesOf sends pieces of stdout and the end, and reads the lines back.
func linesOf(t *testing.T, pieces ...string) []line {
	t.Helper()
	rec := httptest.NewRecorder()
	l := &lineWriter{w: rec}
	for _, p := range pieces {
		if err := l.Send(Event{Kind: EventData, Chunk: Chunk{virtual.Stdout, []byte(p)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Send(Event{Kind: EventEnd}); err != nil {
		t.Fatal(err)
	}
	var out []line
	for text := range strings.Lines(rec.Body.String()) {
		if !utf8.ValidString(text) {
			t.Fatalf("a line is not UTF-8: %q", text)
		}
		var v line
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		out = append(out, v)
	}
	return out
}

func TestLinesHoldWholeCharactersAndReplaceInvalidBytesOneByOne(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"plain", []string{"1\n", "2\n"}, []string{"1\n", "2\n"}},
		{"a character cut after its first byte", []string{"a\xe2", "\x82\xac\n"}, []string{"a", "€\n"}},
		{"a character cut after its second byte", []string{"\xe2\x82", "\xac\n"}, []string{"€\n"}},
		{"a character in four pieces", []string{"\xf0", "\x9f", "\x98", "\x80"}, []string{"😀"}},
		{"a character that is never completed", []string{"x\xe2\x82"}, []string{"x", "\ufffd\ufffd"}},
		{"a start byte that something else follows", []string{"\xe2", "x\n"}, []string{"\ufffdx\n"}},
		{"bytes that start nothing", []string{"\xff\xfe\n"}, []string{"\ufffd\ufffd\n"}},
		{"markup is not escaped away", []string{"<&>\n"}, []string{"<&>\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := linesOf(t, c.pieces...)
			if len(got) != len(c.want)+1 || got[len(got)-1].Type != "end" {
				t.Fatalf("%d lines, want %d and an end", len(got), len(c.want))
			}
			for i, w := range c.want {
				if *got[i].Data != w {
					t.Errorf("line %d: %q, want %q", i, *got[i].Data, w)
				}
			}
		})
	}
}

func FuzzSplitTextKeepsEveryByte(f *testing.F) {
	f.Add([]byte("a\xe2\x82"))
	f.Fuzz(func(t *testing.T, p []byte) {
		whole, part := splitText(p)
		if string(whole)+string(part) != string(p) || len(part) >= utf8.UTFMax {
			t.Fatalf("%q was split into %q and %q", p, whole, part)
		}
		if utf8.Valid(p) && len(part) > 0 {
			t.Fatalf("%q is valid and was split", p)
		}
	})
}
