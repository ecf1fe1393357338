package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"time"

	"assay/internal/record/bundle"
)

// indexVersion is the version of the tables. An index of another version is built again.
const indexVersion = 1

// tables are the tables of an index, for queries by anybody: rules and figures are rows of their own.
const tables = `
CREATE TABLE IF NOT EXISTS run (path TEXT PRIMARY KEY, digest TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, started TEXT NOT NULL,
  target TEXT NOT NULL, profile TEXT NOT NULL, version TEXT NOT NULL, verdict TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rule (path TEXT NOT NULL REFERENCES run ON DELETE CASCADE, rule TEXT NOT NULL, verdict TEXT NOT NULL, PRIMARY KEY (path, rule)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS figure (path TEXT NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (path, name)) WITHOUT ROWID;
`

// index is the SQLite database over bundles. Its file is "" for one in memory.
type index struct {
	db   *sql.DB
	file string
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
		return nil, x.failed(ctx, err)
	}
	r.Kind = bundle.Kind(kind)
	if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
		return nil, x.failed(ctx, err)
	}
	if err = values(ctx, x, "SELECT rule, json_quote(verdict) FROM rule WHERE path = ?", path, r.Rules); err == nil {
		err = values(ctx, x, "SELECT name, json_quote(value) FROM figure WHERE path = ?", path, r.Values)
	}
	return r, x.failed(ctx, err)
}

// values reads rows of a name and a value in JSON, which tells texts, numbers and bytes apart.
func values[V any](ctx context.Context, x *index, query, path string, into map[string]V) error {
	rows, err := x.db.QueryContext(ctx, query, path)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		var v V
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		into[name] = v
	}
	return rows.Err()
}

// put stores a run, in place of what was known of its path.
func (x *index) put(ctx context.Context, r *Run) error { return x.failed(ctx, x.insert(ctx, r)) }

func (x *index) insert(ctx context.Context, r *Run) error {
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
	return x.failed(ctx, x.forget(ctx, exist))
}

func (x *index) forget(ctx context.Context, exist map[string]bool) error {
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
