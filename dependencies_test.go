package assay_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay"
)

// direct returns the modules that go.mod requires directly.
func direct(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range mod.Require {
		if !r.Indirect {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// linked reports whether NOTICE lists a module, as what is linked into the program.
func linked(module string) bool { return strings.Contains(assay.Notice, "\n"+module+" v") }

// tabled returns the modules in the tables of one section of the page.
func tabled(t *testing.T, section string) []string {
	t.Helper()
	page, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/dependencies.md has no section %q", section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var modules []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(rest, -1) {
		modules = append(modules, row[1])
	}
	return modules
}

func TestThePageOfDependenciesListsThoseOfGoMod(t *testing.T) {
	var program, tests []string
	for _, m := range direct(t) {
		if linked(m) {
			program = append(program, m)
		} else {
			tests = append(tests, m)
		}
	}
	for section, want := range map[string][]string{"Linked into the program": program, "Only in tests and benchmarks": tests} {
		if len(want) == 0 {
			t.Errorf("go.mod requires nothing for %q", section)
		}
		if d := cmp.Diff(want, tabled(t, section)); d != "" {
			t.Errorf("docs/dependencies.md, %s (-want, sorted as in go.mod; +got):\n%s", section, d)
		}
	}
}

// The page names the licences that the check allows.
func TestThePageOfDependenciesListsTheAllowedLicences(t *testing.T) {
	source, err := os.ReadFile("tools/notice/licence.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(source), "\nvar allowed = []string{")
	list, _, _ = strings.Cut(list, "}")
	ids := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(list, -1)
	if len(ids) < 2 {
		t.Fatalf("no list of licences in tools/notice/licence.go: %q", list)
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = id[1]
	}
	last := len(names) - 1
	words := strings.Join(names[:last], ", ") + " and " + names[last]
	page, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "Allowed are "+words+".") {
		t.Errorf("docs/dependencies.md does not say: Allowed are %s.", words)
	}
}
