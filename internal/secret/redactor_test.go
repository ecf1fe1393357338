package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/internal/secret"
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

func TestASecretIsFoundInEveryEncodingInsideBase64(t *testing.T) {
	r := secret.New([]string{token})
	for name, encode := range testkit.Encodings {
		if strings.Contains(name, "Huffman") {
			continue // it is found at any bit, so that the text around it does not survive
		}
		t.Run(name, func(t *testing.T) {
			form := encode(token)
			for before := range 3 {
				text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", 6+before) + form + ", and more"))
				for skip, in := range []string{`{"data":"` + text + `"}`, text[1:], text[2:], "1f0\r\n" + text[3:]} {
					out := r.Text(in)
					at := strings.Index(in, text[skip:])
					plain, err := base64.StdEncoding.DecodeString(strings.Repeat("A", skip) + out[at:at+len(text)-skip])
					if err != nil || !bytes.HasSuffix(plain, []byte(", and more")) || len(out) != len(in) {
						t.Fatalf("%q does not stay base64 (%v): %q", in, err, plain)
					}
					if remains(string(plain), form) {
						t.Errorf("skipping %d characters, it remains: %q", skip, plain)
					}
				}
			}
		})
	}
}

// An escape that cannot be decoded hides none behind it.
func TestALoneSurrogateHidesNoSecret(t *testing.T) {
	r := secret.New([]string{token})
	escaped := testkit.Encodings["in \\u0041"](token)
	for _, lone := range []string{`\ud800`, `\udbff`, `\udc00`, `\ud800\ud800`, `\ud800\udc00`, `\ud800\u0041`, `\ud83d\ude00\ud83d`} {
		if got, want := r.Text(lone+escaped), lone+strings.Repeat("*", len(escaped)); got != want {
			t.Errorf("after %s it remains: %s", lone, got)
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

// In a URL or an identifier, what stands before a base64 text looks like a part of it.
func TestASecretIsFoundInBase64WhereOtherCharactersTouchIt(t *testing.T) {
	r := secret.New([]string{token})
	for name, encode := range testkit.Encodings {
		if strings.Contains(name, "Huffman") {
			continue // the text around it does not survive
		}
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for _, before := range []string{"http://h/x/", "http://h/xy/", "/x/y/", "x", "xy", "xyz", "data_", "a-b/c_d/", "token=x+"} {
				form := encode(token)
				text := encoding.EncodeToString([]byte(">>" + form + "?>"))
				out := r.Text(before + text + "/z?q=1")
				plain, err := encoding.DecodeString(out[len(before) : len(before)+len(text)])
				if err != nil || remains(string(plain), form) || !strings.HasPrefix(out, before) || !strings.HasSuffix(out, "/z?q=1") {
					t.Errorf("%s after %s: %q of %q (%v)", name, before, plain, out, err)
				}
			}
		}
	}
}

// Programs print base64 and hexadecimal digits in lines.
func TestASecretIsFoundInLines(t *testing.T) {
	r := secret.New([]string{token})
	fromHex := func(s string) ([]byte, error) { return hex.DecodeString(s) }
	for name, tt := range map[string]struct {
		encode func([]byte) string
		decode func(string) ([]byte, error)
		width  int
		end    string
	}{
		"base64":             {base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString, 76, "\n"},
		"PEM":                {base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString, 64, "\n"},
		"MIME":               {base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString, 76, "\r\n"},
		"base64 for URLs":    {base64.URLEncoding.EncodeToString, base64.URLEncoding.DecodeString, 32, "\n"},
		"hexadecimal":        {hex.EncodeToString, fromHex, 60, "\n"},
		"HEXADECIMAL":        {func(p []byte) string { return strings.ToUpper(hex.EncodeToString(p)) }, fromHex, 60, "\r\n"},
		"base64 in JSON":     {base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString, 76, `\n`},
		"MIME in JSON":       {base64.StdEncoding.EncodeToString, base64.StdEncoding.DecodeString, 76, `\r\n`},
		"in JSON in JSON":    {hex.EncodeToString, fromHex, 60, `\\n`},
		"base64 in a URL":    {base64.URLEncoding.EncodeToString, base64.URLEncoding.DecodeString, 76, "%0A"},
		"hexadecimal in XML": {hex.EncodeToString, fromHex, 60, "&#xD;&#10;"},
	} {
		t.Run(name, func(t *testing.T) {
			for before := range tt.width {
				plain := strings.Repeat("-", before) + token + strings.Repeat("-", 50)
				in := `{"a":"` + inLines(tt.encode([]byte(plain)), tt.width, tt.end) + `"}`
				out := r.Text(in)
				lines := strings.Join(strings.Split(out[6:len(out)-2], tt.end), "")
				got, err := tt.decode(lines)
				want := strings.Repeat("-", before) + strings.Repeat("*", len(token)) + strings.Repeat("-", 50)
				if err != nil || strings.Trim(string(got), "-*") != "" && remains(string(got), token) || len(got) != len(want) {
					t.Fatalf("after %d bytes it remains: %q, of %q (%v)", before, got, in, err)
				}
				if strings.Count(out, tt.end) != strings.Count(in, tt.end) || r.Text(out) != out {
					t.Fatalf("%q becomes %q", in, out)
				}
			}
		})
	}
}

func TestASecretIsFoundInEveryEncodingInsideBase64InLines(t *testing.T) {
	r := secret.New([]string{token})
	for name, encode := range testkit.Encodings {
		if strings.Contains(name, "Huffman") {
			continue // the text around it does not survive
		}
		for before := range 100 {
			form := encode(token)
			in := inLines(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", before)+form+", and more")), 76, "\n")
			plain, err := base64.StdEncoding.DecodeString(r.Text(in)) // which ignores line breaks
			if err != nil || !bytes.HasSuffix(plain, []byte(", and more")) || remains(string(plain), form) {
				t.Fatalf("%s after %d bytes: %q of %q (%v)", name, before, plain, in, err)
			}
		}
	}
}

// inLines breaks a text into lines.
func inLines(s string, width int, end string) string {
	var lines []string
	for ; len(s) > width; s = s[width:] {
		lines = append(lines, s[:width])
	}
	return strings.Join(append(lines, s), end)
}

// padded returns every character of a text as a character reference in a format.
func padded(format, s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

func TestCharacterReferencesMayHaveLeadingZeros(t *testing.T) {
	r := secret.New([]string{token})
	for _, format := range []string{"&#%010d;", "&#%013d;", "&#x%012x;", "&#X%012X;"} {
		if got := r.Text(padded(format, token)); strings.Trim(got, "*") != "" {
			t.Errorf("%s: it remains: %s", format, got)
		}
	}
	for _, other := range []string{"&#x000000110000;", "&#9999999999999;", "&#xffffffffffff;"} { // no characters
		if text := other + token[:8]; r.Text(text) != text {
			t.Errorf("%s becomes %s", text, r.Text(text))
		}
	}
}

func TestASecretAcrossTheEdgesOfWindowsIsFound(t *testing.T) {
	for _, escaped := range []string{testkit.Encodings["in \\u0041"](token), padded("&#%013d;", token)} {
		isFoundAcrossTheEdgesOfWindows(t, escaped)
	}
}

func isFoundAcrossTheEdgesOfWindows(t *testing.T, escaped string) {
	r := secret.New([]string{token})
	for _, at := range []int{0, 32<<10 - len(escaped), 32<<10 - 7, 32<<10 - 1, 32 << 10, 64<<10 - 3} {
		text := strings.Repeat("x", at) + escaped + strings.Repeat(`\n`, 100)
		want := strings.Repeat("x", at) + strings.Repeat("*", len(escaped)) + strings.Repeat(`\n`, 100)
		if got := r.Text(text); got != want {
			t.Errorf("at %d it remains", at)
		}
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
	mixedData := bytes.Repeat([]byte(`{"event":{"data":{"url":"/?a=%41%42","text":"a\nb","html":"&lt;b&gt;","base64":"YS9iIGMrZCUyMCI8ZT4="}}}`), 2000)
	linesData := []byte(inLines(string(base64Data), 76, "\n"))
	textData := bytes.Repeat([]byte(strings.Repeat("-rw-r--r-- 1 root root 12 Jan  1 00:00 file\n", 20)+"/usr/share/doc/package-documentation\n"), 100)
	for name, data := range map[string][]byte{"base64": base64Data, "escapes": jsonData, "mixed": mixedData, "lines": linesData, "text": textData} {
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
