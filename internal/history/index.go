package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"assay/internal/bundle"
)

// indexVersion is the version of the tables. An index of another version is built again.
const indexVersion = 1

// tables are the tables of an index, for queries by anybody: rules and figures are rows of their own.
const tables = `
CREATE TABLE run (path TEXT PRIMARY KEY, digest TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, started TEXT NOT NULL,
  target TEXT NOT NULL, profile TEXT NOT NULL, version TEXT NOT NULL, verdict TEXT NOT NULL);
CREATE TABLE rule (path TEXT NOT NULL REFERENCES run ON DELETE CASCADE, rule TEXT NOT NULL, verdict TEXT NOT NULL, PRIMARY KEY (path, rule)) WITHOUT ROWID;
CREATE TABLE figure (path TEXT NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (path, name)) WITHOUT ROWID;
`

// index is the SQLite database over bundles.
type index struct{ db *sql.DB }

// openIndex opens an index, or makes one. "" is one in memory. One that is damaged, or of another version, is replaced; a
// file that is no index at all is refused.
func openIndex(ctx context.Context, file string, rebuild bool) (*index, error) {
	if file == "" {
		return connect(ctx, ":memory:")
	}
	if err := checkIndex(file); err != nil {
		return nil, err
	}
	if !rebuild {
		if x, err := connect(ctx, file); err == nil {
			return x, nil
		}
	}
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("the index %s: %w", file, err)
		}
	}
	x, err := connect(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("the index %s: %w", file, err)
	}
	return x, nil
}

// magic begins every SQLite database.
const magic = "SQLite format 3\x00"

// checkIndex refuses a file that is no database: it would be overwritten.
func checkIndex(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("the index: %w", err)
	}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the index: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("the index %s is not a regular file: name another", file)
	}
	head := make([]byte, len(magic))
	if n, _ := f.Read(head); n > 0 && string(head[:n]) != magic {
		return fmt.Errorf("the file %s is no index of Assay: name another", file)
	}
	return nil
}

// connect opens a database with our tables.
func connect(ctx context.Context, name string) (*index, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // that of :memory: is its own for each connection
	x := &index{db}
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

func (x *index) prepare(ctx context.Context) error {
	if _, err := x.db.ExecContext(ctx, "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON"); err != nil {
		return err
	}
	var version, count int
	if err := x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version == indexVersion {
		return x.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM rule) + (SELECT count(*) FROM figure)").Scan(&count)
	}
	if err := x.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&count); err != nil {
		return err
	}
	if count > 0 {
		return fmt.Errorf("its version is %d, want %d", version, indexVersion)
	}
	_, err := x.db.ExecContext(ctx, tables+fmt.Sprintf("PRAGMA user_version = %d", indexVersion))
	return err
}

func (x *index) close() error { return x.db.Close() }

// get returns the run of a path if its manifest has the digest; nil if it is not known.
func (x *index) get(ctx context.Context, path, digest string) (*Run, error) {
	r := &Run{Rules: map[string]string{}, Values: map[string]float64{}}
	var kind, started string
	err := x.db.QueryRowContext(ctx, "SELECT path, digest, kind, id, started, target, profile, version, verdict FROM run WHERE path = ? AND digest = ?", path, digest).
		Scan(&r.Path, &r.Digest, &kind, &r.ID, &started, &r.Target, &r.Profile, &r.Version, &r.Verdict)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // not known
	}
	if err != nil {
		return nil, err
	}
	r.Kind = bundle.Kind(kind)
	if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
		return nil, err
	}
	err = x.each(ctx, "SELECT rule, json_quote(verdict) FROM rule WHERE path = ?", path, func(name string, v json.RawMessage) error {
		var text string
		err := json.Unmarshal(v, &text)
		r.Rules[name] = text
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, x.each(ctx, "SELECT name, json_quote(value) FROM figure WHERE path = ?", path, func(name string, v json.RawMessage) error {
		var number float64
		err := json.Unmarshal(v, &number)
		r.Values[name] = number
		return err
	})
}

func (x *index) each(ctx context.Context, query, path string, row func(name string, v json.RawMessage) error) error {
	rows, err := x.db.QueryContext(ctx, query, path)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if err := row(name, json.RawMessage(value)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// put stores a run, in place of what was known of its path.
func (x *index) put(ctx context.Context, r *Run) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "DELETE FROM run WHERE path = ?", r.Path); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO run VALUES (?,?,?,?,?,?,?,?,?)", r.Path, r.Digest, string(r.Kind), r.ID, r.Started.Format(time.RFC3339Nano),
		r.Target, r.Profile, r.Version, r.Verdict); err != nil {
		return err
	}
	for rule, verdict := range r.Rules {
		if _, err := tx.ExecContext(ctx, "INSERT INTO rule VALUES (?,?,?)", r.Path, rule, verdict); err != nil {
			return err
		}
	}
	for name, value := range r.Values {
		if _, err := tx.ExecContext(ctx, "INSERT INTO figure VALUES (?,?,?)", r.Path, name, value); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// keep removes the runs below some paths that are not among those that exist.
func (x *index) keep(ctx context.Context, exist map[string]bool) error {
	rows, err := x.db.QueryContext(ctx, "SELECT path FROM run")
	if err != nil {
		return err
	}
	var gone []string
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return errors.Join(err, rows.Close())
		}
		if _, err := os.Stat(path); !exist[path] && err != nil {
			gone = append(gone, path)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, path := range gone {
		if _, err := x.db.ExecContext(ctx, "DELETE FROM run WHERE path = ?", path); err != nil {
			return err
		}
	}
	return nil
}
