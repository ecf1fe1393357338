// Package docs_test checks the pages of docs: the generated ones are current, and links lead somewhere.
// The commands of the pages are run by the tests of cmd/assay, which are the program.
package docs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/fakes/zoo"
	"assay/reports"
	"assay/scenarios"
)

var update = flag.Bool("update", false, "rewrite rules.md and faults.md")

// maxPage is the size up to which a forge renders a page.
const maxPage = 500_000

func TestTheGeneratedPagesAreCurrent(t *testing.T) {
	c := readCatalogue(t)
	for name, page := range map[string]string{"rules.md": rulesPage(c), "faults.md": faultsPage(c)} {
		if len(page) > maxPage {
			t.Errorf("%s has %d bytes, want at most %d", name, len(page), maxPage)
		}
		if *update {
			if err := os.WriteFile(name, []byte(page), 0o644); err != nil { //nolint:gosec // a page to read
				t.Fatal(err)
			}
		}
		stored, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(stored) != page {
			t.Errorf("%s is stale: go test ./docs -update", name)
		}
	}
}

// catalogue is what the generated pages tell.
type catalogue struct {
	Rules     []rule     `json:"rules"`
	Scenarios []scenario `json:"scenarios"`

	files    map[string]string // of scripts, by id
	raised   map[string][]string
	faults   []zoo.Fault
	variants []zoo.Variant
}

type rule struct {
	ID         string   `json:"id"`
	Level      string   `json:"level"`
	Source     string   `json:"source"`
	Section    string   `json:"section"`
	Text       string   `json:"text"`
	Untestable string   `json:"untestable"`
	Standing   bool     `json:"standing"`
	Scenarios  []string `json:"scenarios"`
	Faults     []string `json:"faults"`
}

type scenario struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// readCatalogue reads what `assay list --format json` prints, the profiles and the zoo.
func readCatalogue(t *testing.T) *catalogue {
	t.Helper()
	cat, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := &catalogue{files: map[string]string{}, raised: map[string][]string{}, faults: zoo.Faults(), variants: zoo.Variants()}
	breaking := reports.Faults{}
	for _, f := range c.faults {
		for _, id := range f.Breaks {
			breaking[id] = append(breaking[id], f.ID)
		}
	}
	var listed bytes.Buffer
	if err := reports.ListJSON(&listed, cat, breaking); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(listed.Bytes(), c); err != nil {
		t.Fatal(err)
	}
	for _, s := range cat.Scenarios {
		c.files[s.ID] = s.File
	}
	for _, name := range scenarios.ProfileNames() {
		p, err := cat.LoadProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		for id, change := range p.Levels {
			c.raised[id] = append(c.raised[id], change.Level+" in `"+name+"`")
		}
	}
	return c
}

// area is the first word of an id.
func area(id string) string {
	a, _, _ := strings.Cut(id, ".")
	return a
}

// special are the characters that Markdown would obey.
var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "]", `\]`, "`", "\\`", "|", `\|`)

var (
	// thread is an issue or a pull request of a repository whose owner is named.
	thread = regexp.MustCompile(`\b([A-Za-z0-9-]+/[A-Za-z0-9-]+)#([0-9]+)`)
	// rfc is a specification, with or without a section.
	rfc = regexp.MustCompile(`RFC ([0-9]{4})(?:( section)? ([0-9]+(?:\.[0-9]+)*))?`)
)

// linked returns a text as Markdown, with links to the threads and specifications that it names.
func linked(text string) string {
	text = thread.ReplaceAllString(special.Replace(text), `[$1#$2](https://github.com/$1/issues/$2)`)
	return rfc.ReplaceAllStringFunc(text, func(found string) string {
		m := rfc.FindStringSubmatch(found)
		url := "https://www.rfc-editor.org/rfc/rfc" + m[1]
		if m[3] != "" {
			url += "#section-" + m[3]
		}
		return "[" + found + "](" + url + ")"
	})
}

// anchor is the fragment of a heading, as forges derive it.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// links joins links to the headings of a page.
func links(page string, ids []string) string {
	var out []string
	for _, id := range slices.Sorted(slices.Values(ids)) {
		out = append(out, "["+id+"]("+page+"#"+anchor(id)+")")
	}
	return strings.Join(out, ", ")
}
