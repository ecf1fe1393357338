package target

import (
	"bufio"
	"bytes"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/record/bundle"
)

func TestHeadersAreReadByLine(t *testing.T) {
	got, err := ParseHeaders([]byte("# who\r\nX-Team: a\r\n\n  cookie:a=b; c=d \nEmpty:\n"))
	want := []bundle.Header{{Name: "X-Team", Value: "a"}, {Name: "cookie", Value: "a=b; c=d"}, {Name: "Empty", Value: ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"a: b\nsecret":               "2: want \"Name: value\"",
		": secret":                   "1: want",
		"# \n\nse cret: x":           "3: want",
		"\ufeffX-Team: a":            "1: want",
		"Authorization : secret":     "1: want",
		"secret\"(): x":              "1: want",
		"x: secret\rhost: evil":      "1: the value contains a control character",
		"x: 1\ny: \x00secret":        "2: the value contains",
		"x: \x1b[31msecret\x1b[0m\n": "1: the value contains",
	} {
		if _, err := ParseHeaders([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

var headerError = regexp.MustCompile(`^(\d+): (want "Name: value"; a name has only letters, digits and \S+|the value contains a control character)$`)

// FuzzHeaders: an error has a line of the text and quotes nothing. Accepted headers are those that another parser reads
// from a request head, they can be printed and read again, and a target takes them.
func FuzzHeaders(f *testing.F) {
	for _, text := range []string{
		"X-Team: a\n", "a:\r\n\r\n# b\r\nc: d: e ", "a b: c", "Host: h\nhost: i\nContent-Length: 3", "x: \x7f", "x: a\tb", "é: x", "x: \u00a0é\xff", "a:b\n c", "x: a\rb",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		hs, err := ParseHeaders(text)
		if err != nil {
			m := headerError.FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("%q: %v", text, err)
			}
			if n, _ := strconv.Atoi(m[1]); n < 1 || n > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("%q: the line of %v", text, err)
			}
			return
		}
		var lines, head strings.Builder
		want := textproto.MIMEHeader{}
		for _, h := range hs {
			lines.WriteString(h.Name + ": " + h.Value + "\n")
			head.WriteString(h.Name + ": " + h.Value + "\r\n")
			want.Add(h.Name, h.Value)
		}
		if again, err := ParseHeaders([]byte(lines.String())); err != nil || !slices.Equal(again, hs) {
			t.Fatalf("%q is %q, read again %q, %v", text, hs, again, err)
		}
		got, err := textproto.NewReader(bufio.NewReader(strings.NewReader(head.String() + "\r\n"))).ReadMIMEHeader()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%q: a server reads %q, %v", hs, got, err)
		}
		for name, values := range want {
			if !slices.Equal(got[name], values) {
				t.Fatalf("%q: a server reads %q", hs, got)
			}
		}
		if _, err := New(Options{URL: "http://127.0.0.1:1", Headers: hs}); err != nil {
			t.Fatalf("%q: %v", hs, err)
		}
	})
}
