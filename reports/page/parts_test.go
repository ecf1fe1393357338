package page

import (
	"strings"
	"testing"
)

func TestAPartThatIsEmptyIsLeftOut(t *testing.T) {
	sections := []Section{{ID: "full", Title: "Full", Body: "x"}, {ID: "bare", Title: "Bare"}}
	if text := string(Layout(sections...)); strings.Contains(text, "Bare") || strings.Count(text, `"full"`)+strings.Count(text, `#full"`) != 2 {
		t.Errorf("got %s", text)
	}
}

func TestATableHasHeadingsOfItsRowsAndColumns(t *testing.T) {
	text := string(Table("All", []Column{{Title: "Name"}, {Title: "Count", Number: true}}, []Row{{Attrs: At("id", "r"), Cells: []HTML{"a", "1"}}}))
	for _, part := range []string{
		"<caption>All</caption>", `<th scope="col">Name</th>`, `<th class="number" scope="col">Count</th>`,
		`<tr id="r"><th scope="row">a</th><td class="number">1</td></tr>`, `role="region" aria-label="All"`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in\n%s", part, text)
		}
	}
}

// What needs a script is hidden until one runs.
func TestWhatNeedsAScriptBeginsHidden(t *testing.T) {
	for name, part := range map[string]HTML{"the button": Command("ls"), "the filter": Filter("x", "Filter", nil)} {
		if !strings.Contains(string(part), " hidden") {
			t.Errorf("%s is visible without scripts: %s", name, part)
		}
	}
}

func TestACommandIsCopiedAsItIs(t *testing.T) {
	for _, command := range []string{"assay replay x --axis  a/b", "set -e\necho 'a  b'\n"} {
		_, rest, _ := strings.Cut(string(Command(command)), "<code>")
		code, _, _ := strings.Cut(rest, "</code>")
		if got := strings.NewReplacer(`<span class="word">`, "", "</span>", "", "&#39;", "'").Replace(code); got != command {
			t.Errorf("got %q, want %q", got, command)
		}
	}
}

func TestMoreCountsWhatIsLeftOut(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: `<p class="more">and 1 more rule in the JSON report</p>`, 7: `<p class="more">and 7 more rules in the JSON report</p>`} {
		if got := string(More(n, "rule", "in the JSON report")); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
