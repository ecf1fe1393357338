package certify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/testkit"
)

// What is there may be evidence: a folder that is refused stays as it is.
func TestARefusedFolderStaysAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(dir string) error
		want    string // "" is accepted
	}{
		"a new folder":    {func(string) error { return nil }, ""},
		"an empty folder": {func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		"empty evidence":  {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "evidence"), 0o700) }, ""},
		"a bundle": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "run.json"), nil, 0o600))
		}, "it has run.json"},
		"evidence": {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "evidence", "conform"), 0o700) }, "it has conform"},
		"a file":   {func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "is not a directory"},
		"a pipe":   {testkit.MkFIFO, "is not a directory"},
		"a pipe as evidence": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), testkit.MkFIFO(filepath.Join(dir, "evidence")))
		}, "is not a directory"},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "out")
		if err := c.prepare(dir); err != nil {
			t.Skip(err)
		}
		before := names(t, top)
		err := Prepare(dir)
		if c.want == "" {
			if _, missing := os.Stat(filepath.Join(dir, "evidence")); err != nil || missing != nil {
				t.Errorf("%s: %v, %v", name, err, missing)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if after := names(t, top); after != before {
			t.Errorf("%s: there was\n%s and is\n%s", name, before, after)
		}
	}
}

// names lists all that is below a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all.WriteString(path + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
