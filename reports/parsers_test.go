package reports

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/testkit"
)

// parsers is the folder of the parsers of others: Node packages that read JUnit and CTRF.
const parsers = "testdata/parsers"

// foundCases is what such a parser found in a report.
type foundCases struct {
	Cases, Said, Failures, Errors, Skipped int
	Names                                  []string
}

// The parsers of others read every golden report, and find in it what we put there. CTRF's also
// validates it, and counts again.
func TestTheParsersOfOthersReadEveryGoldenReport(t *testing.T) {
	t.Parallel()
	if err := testkit.InstallNPM(t.Context(), parsers); err != nil {
		if errors.Is(err, testkit.ErrNoNode) && os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	args := []string{filepath.Join(parsers, "parse.mjs")}
	for _, pattern := range []string{"*.xml", "*.ctrf.json"} {
		files, err := filepath.Glob(filepath.Join("..", "testdata", "reports", pattern))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files %s, %v", len(files), pattern, err)
		}
		args = append(args, files...)
	}
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]foundCases
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(args)-1 {
		t.Errorf("%d reports were read, want %d", len(all), len(args)-1)
	}
	for _, name := range []string{"passing", "failing", "caused", "load", "selftest", "selftest-blame"} {
		text, err := os.ReadFile(filepath.Join("..", "testdata", "reports", name+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		n := countsOfSuites(t, parse(t, text))
		for _, file := range []string{name + ".xml", name + ".ctrf.json"} {
			if got := all[file]; [4]int{got.Cases, got.Failures, got.Errors, got.Skipped} != n || got.Said != n[0] {
				t.Errorf("%s: found %+v, want %v", file, got, n)
			}
		}
		slices.Sort(all[name+".xml"].Names)
		slices.Sort(all[name+".ctrf.json"].Names)
		if !slices.Equal(all[name+".xml"].Names, all[name+".ctrf.json"].Names) {
			t.Errorf("%s: the two formats have different cases: %q and %q", name, all[name+".xml"].Names, all[name+".ctrf.json"].Names)
		}
	}
}

func TestTheLockFileOfTheParsersNamesNoRegistry(t *testing.T) {
	if err := testkit.CheckNPMLock(parsers); err != nil {
		t.Error(err)
	}
}
