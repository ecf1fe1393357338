package certify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/record/bundle"
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

// A file of a terabyte takes most of an hour to read. One that is not listed, or too long, need not be read; the reading
// of one that is listed ends with the context.
func TestAHugeFileIsNotReadWithoutNeed(t *testing.T) {
	const huge = 1 << 40
	for name, c := range map[string]struct {
		listed []bundle.FileDigest
		want   bundle.ProblemKind // "" is an error
		words  string
	}{
		"not listed":       {nil, bundle.ProblemStranger, "is not listed"},
		"of another size":  {[]bundle.FileDigest{{Name: "big.bin", Size: 1, SHA256: strings.Repeat("0", 64)}}, bundle.ProblemEdited, "it has 1099511627776 bytes, want 1"},
		"of the same size": {[]bundle.FileDigest{{Name: "big.bin", Size: huge, SHA256: strings.Repeat("0", 64)}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "big.bin")
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, huge)); err != nil {
				t.Skip(err)
			}
			limit := 30 * time.Second
			if c.want == "" {
				limit = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			f := &bundle.Verification{}
			err := new(Verifier).files(ctx, dir, &bundle.Certificate{Files: c.listed}, f)
			switch {
			case c.want == "" && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("error %v, problems %v", err, f.Problems)
			case c.want != "" && (err != nil || len(f.Problems) != 1 || f.Problems[0].Kind != c.want || !strings.Contains(f.Problems[0].Message, c.words)):
				t.Errorf("error %v, problems %v", err, f.Problems)
			}
		})
	}
}
