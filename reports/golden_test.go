package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata/reports")

// golden compares with testdata/reports/NAME, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "reports", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./reports -update writes it)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s: -want +got (go test ./reports -update accepts it):\n%s", path, d)
	}
}

// styles maps suffixes of golden files to styles.
func styles() map[string]Style {
	all := map[string]Style{"80-color": {Width: 80, Color: true}, "80-verbose": {Width: 80, Verbose: true}}
	for _, n := range []int{60, 80, 200} {
		all[strconv.Itoa(n)] = Style{Width: n}
	}
	return all
}

// goldenDrawing draws in every style, compares each, and checks that no line exceeds the
// width, except words that must stay copyable.
func goldenDrawing(t *testing.T, name string, draw func(*bytes.Buffer, Style) error) {
	t.Helper()
	for end, s := range styles() {
		t.Run(end, func(t *testing.T) {
			var b bytes.Buffer
			if err := draw(&b, s); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"-"+end+".txt", b.Bytes())
			if s.Color {
				return
			}
			narrow(t, b.String(), s.width())
			if strings.ContainsFunc(b.String(), func(r rune) bool { return r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 }) {
				t.Error("a control character came through")
			}
		})
	}
}

func narrow(t *testing.T, text string, n int) {
	t.Helper()
	for i, l := range strings.Split(text, "\n") {
		if width(l) > n && strings.Contains(strings.TrimSpace(l), " ") && !strings.Contains(l, "http://") {
			t.Errorf("line %d has %d columns, more than %d:\n%s", i+1, width(l), n, l)
		}
	}
}
