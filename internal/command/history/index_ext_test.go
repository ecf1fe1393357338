package history_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/command/history"
	"assay/internal/testkit"
)

// execute runs statements on a database.
func execute(t *testing.T, file, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A database of another program is neither changed nor removed, even to build an index again.
func TestADatabaseOfAnotherProgramIsRefused(t *testing.T) {
	bundles := t.TempDir()
	for name, one := range map[string]struct {
		statements string
		size       int64 // 0: whole
	}{
		"a table":                         {statements: "CREATE TABLE account (id INTEGER); INSERT INTO account VALUES (1)"},
		"the version of an index":         {statements: "CREATE TABLE account (id INTEGER); PRAGMA user_version = 1"},
		"tables of the same names":        {statements: "CREATE TABLE run (id INTEGER); CREATE TABLE rule (id INTEGER); CREATE TABLE figure (id INTEGER); PRAGMA user_version = 1"},
		"an application id and no tables": {statements: "PRAGMA application_id = 7"},
		"damaged":                         {statements: "CREATE TABLE account (id INTEGER); CREATE TABLE other (id INTEGER)", size: 5000},
	} {
		for _, rebuild := range []bool{false, true} {
			file := filepath.Join(t.TempDir(), "other.db")
			execute(t, file, one.statements)
			if one.size > 0 {
				if err := os.Truncate(file, one.size); err != nil {
					t.Fatal(err)
				}
			}
			before := contents(t, file)
			_, _, err := history.Load(t.Context(), history.Options{Paths: []string{bundles}, Index: file, Rebuild: rebuild})
			if err == nil || !strings.Contains(err.Error(), "name another") {
				t.Errorf("%s, rebuild %v: error %v", name, rebuild, err)
			}
			if contents(t, file) != before {
				t.Errorf("%s, rebuild %v: the database was changed", name, rebuild)
			}
		}
	}
}

// An index that another program has locked is neither used nor replaced.
func TestALockedIndexStays(t *testing.T) {
	dir := twenty(t)
	for _, rebuild := range []bool{false, true} {
		t.Run(map[bool]string{false: "to use", true: "to build again"}[rebuild], func(t *testing.T) {
			t.Parallel()
			o := history.Options{Paths: []string{dir}, Index: filepath.Join(t.TempDir(), "history.db"), Rebuild: rebuild}
			load(t, o)
			before := contents(t, o.Index)
			db, err := sql.Open("sqlite", o.Index)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			db.SetMaxOpenConns(1)
			if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := history.Load(t.Context(), o); !errors.Is(err, history.ErrLocked) {
				t.Errorf("error %v", err)
			}
			if contents(t, o.Index) != before {
				t.Error("the index was changed")
			}
		})
	}
}

// Whatever is wrong inside of an index, the bundles say what there is: none of them is left out.
func TestADamagedIndexIsBuiltAgain(t *testing.T) {
	dir := twenty(t)
	for name, statements := range map[string]string{
		"a time":              "UPDATE run SET started = 'x'",
		"a figure":            "UPDATE figure SET value = 'x'",
		"a verdict":           "UPDATE rule SET verdict = x'ff'",
		"no table":            "DROP TABLE rule",
		"another version":     "PRAGMA user_version = 9",
		"an unexpected check": "DELETE FROM run; CREATE TRIGGER no BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, 'no'); END",
	} {
		t.Run(name, func(t *testing.T) {
			o := history.Options{Paths: []string{dir}, Index: filepath.Join(t.TempDir(), "history.db")}
			load(t, o)
			execute(t, o.Index, statements)
			for range 2 {
				if h := load(t, o); len(h.Skipped) > 0 || len(h.Groups) != 2 || len(h.Groups[0].Runs) != 20 || len(h.Groups[0].Changes) != 1 {
					t.Errorf("%d groups, skipped %.200v", len(h.Groups), h.Skipped)
				}
			}
		})
	}
}

// Opening a pipe would wait for its writer.
func TestAPipeIsNoIndex(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pipe")
	if err := testkit.MkFIFO(file); err != nil {
		t.Skip(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := history.Load(context.Background(), history.Options{Paths: []string{"."}, Index: file})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("error %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for the pipe")
	}
}

// The name of an index is taken as it is: the driver has options after "?" and escapes after "%".
func TestTheNameOfAnIndexMayHaveAnyCharacters(t *testing.T) {
	bundles := twenty(t)
	for _, name := range []string{"q?x.db", "q?mode=ro", "a#b.db", "a%20b.db", "a b.db", "file:x.db", ":memory:", "%", "a&b=c;d+e.db"} {
		dir := t.TempDir()
		for range 2 {
			load(t, history.Options{Paths: []string{bundles}, Index: filepath.Join(dir, name)})
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q makes %v, %v", name, entries, err)
		}
		t.Chdir(dir)
		load(t, history.Options{Paths: []string{bundles}, Index: name})
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%q makes %v, %v", name, entries, err)
		}
	}
}
