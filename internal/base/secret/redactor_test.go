package secret_test

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/secret"
	"assay/internal/testkit"
)

const token = "s3cr3t/T0ken+\"é0123456789"

// marked are secrets with characters that begin an escape.
var marked = []string{
	`pa"ss%41word-Xy0987654321`, `50%ab&cd<ef-longer-Token-12`, `C:\x%2Fy-"longer-Token-123456`, `x\nb%41"c-longer-Token-12345`, `it's%20a"longer-Token-12`,
	`a&lt;b"c-longer-Token-12345`, `t0ken/"with+ch&rs\%0123456789`, `a&amp;%2541\u0041"b-longer-Token`, `\\"%5c&#92;<-longer-Token-1234`,
}

func TestASecretIsFoundInEveryEncoding(t *testing.T) {
	for _, s := range append(marked, token) {
		t.Run(s, func(t *testing.T) { isFoundInEveryEncoding(t, s) })
	}
}

func isFoundInEveryEncoding(t *testing.T, token string) {
	r := secret.New([]string{"another secret", token})
	for name, encode := range testkit.Encodings {
		t.Run(name, func(t *testing.T) {
			in := []byte("{\"token\": \"" + encode(token) + "\"}\n")
			before := bytes.Clone(in)
			out := r.Bytes(in)
			if !bytes.Equal(in, before) {
				t.Fatal("the text itself has changed")
			}
			if len(out) != len(in) || !bytes.HasPrefix(out, []byte(`{"token": "`)) || !bytes.HasSuffix(out, []byte("\"}\n")) {
				t.Errorf("the text around it has changed: %q", out)
			}
			if remains(string(out), encode(token)) {
				t.Errorf("%q is still there: %q", encode(token), out)
			}
		})
	}
}

// remains reports whether a text still has eight characters of an encoded secret.
func remains(text, encoded string) bool {
	for i := 4; i+12 <= len(encoded); i++ {
		if piece := encoded[i : i+8]; strings.Trim(piece, "Kio*2aA") != "" && strings.Contains(text, piece) {
			return true
		}
	}
	return false
}

func TestBase64StaysValidAndSaysAsterisks(t *testing.T) {
	r := secret.New([]string{"topsecret"})
	for before := range 3 {
		lead := strings.Repeat("-", before)
		in := base64.StdEncoding.EncodeToString([]byte(lead + "topsecret, and more"))
		out, err := base64.StdEncoding.DecodeString(r.Text(in))
		if err != nil || !strings.HasSuffix(string(out), ", and more") || !strings.Contains(string(out), "*******") {
			t.Errorf("after %d bytes: %q (%v)", before, out, err)
		}
	}
}

func TestTheBeginningOfASecretIsFoundWhereTheRestIsCutOff(t *testing.T) {
	r := secret.New([]string{token})
	for text, want := range map[string]string{
		"it begins " + token[:14] + "…": "it begins **************…",
		"it begins " + token[:8] + "…":  "it begins " + token[:8] + "…",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestSecretsThatContainOneAnotherAreOverwrittenWhole(t *testing.T) {
	r := secret.New([]string{"abcdef", "Bearer abcdef", "efghij"})
	if got := r.Text("Bearer abcdef, abcdefghij, Bearer"); got != "*************, **********, Bearer" {
		t.Errorf("got %q", got)
	}
}

func TestAShortSecretIsReplacedOnlyAsAWholeValue(t *testing.T) {
	r := secret.New([]string{"abc", ""})
	if got := r.Text("abc abc"); got != "abc abc" {
		t.Errorf("text: %q", got)
	}
	if got := r.Value("abc"); got != "***" {
		t.Errorf("value: %q", got)
	}
}

func TestWithoutSecretsNothingChanges(t *testing.T) {
	r := secret.New([]string{""})
	if r != nil || r.Text("abcd") != "abcd" || r.Value("abcd") != "abcd" || string(r.Bytes([]byte("a"))) != "a" || r.Margin() != 0 {
		t.Error("a redactor without secrets does something")
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add("s3cr3t-token", "around ", " it", byte(3))
	f.Add("pass\\word%", "\\", "\\u00", byte(12))
	f.Add("0000", "0", "&#4", byte(19))
	names := slices.Sorted(maps.Keys(testkit.Encodings))
	f.Fuzz(func(t *testing.T, s, before, after string, how byte) {
		if len(s) < 8 || strings.ContainsRune(s, '\ufffd') || !validText(s) {
			return
		}
		r := secret.New([]string{s})
		in := []byte(before + " " + testkit.Encodings[names[int(how)%len(names)]](s) + " " + after)
		out := r.Bytes(in)
		if len(out) != len(in) {
			t.Fatalf("%d bytes became %d", len(in), len(out))
		}
		// Each encoding can be undone where nothing else is near it.
		if before == "" && after == "" && bytes.Equal(out, in) {
			t.Errorf("%q is not found in %q", s, in)
		}
		if bytes.Contains(out, []byte(s)) && strings.Trim(s, "*") != "" && !strings.Contains(strings.Repeat("*", len(s)), s) {
			t.Errorf("%q is still in %q", s, out)
		}
	})
}

// validText reports whether a text can be a header value.
func validText(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f || c == '\ufffd' {
			return false
		}
	}
	return strings.Trim(s, "*") != ""
}

func BenchmarkBytes(b *testing.B) {
	usual := secret.New([]string{"e2b_53ae1fed82754c17ad8077fbc8bcdd90", "Bearer eyJhbGciOiJIUzI1NiJ9.e30.ZRrHA1JJJW8opsbCGfG_HACGpVUMN_a9IV7pAx_Zmeo"})
	hard := secret.New(marked)
	base64Data := []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("0123456789 some output\n"), 4000)))
	jsonData := bytes.Repeat([]byte(`{"event":{"data":{"stdout":"MTIzNDU2Nzg5MAo=","text":"a\nb"}}}`), 2000)
	textData := bytes.Repeat([]byte(strings.Repeat("-rw-r--r-- 1 root root 12 Jan  1 00:00 file\n", 20)+"/usr/share/doc/package-documentation\n"), 100)
	for name, data := range map[string][]byte{"base64": base64Data, "escapes": jsonData, "text": textData} {
		for kind, r := range map[string]*secret.Redactor{"usual": usual, "marked": hard} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					r.Bytes(data)
				}
			})
		}
	}
}
