package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// applicationID marks a database as an index of Assay: "assy" in the header of the file.
const applicationID = 0x61737379

// openIndex opens an index, or makes one. "" is one in memory. An index of Assay that is damaged, or of another version,
// is replaced; any other file is refused.
func openIndex(ctx context.Context, file string, rebuild bool) (*index, error) {
	if file != "" {
		if err := checkIndex(file); err != nil {
			return nil, err
		}
	}
	x, err := connect(file)
	if err != nil {
		return nil, err
	}
	err = x.prepare(ctx)
	if err == nil && (!rebuild || file == "") {
		return x, nil
	}
	if err == nil || errors.Is(err, errDamaged) && file != "" {
		err = x.replaceable(ctx)
	}
	if err := errors.Join(err, x.close()); err != nil {
		return nil, err
	}
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(file + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("the index %s: %w", file, err)
		}
	}
	if x, err = connect(file); err != nil {
		return nil, err
	}
	if err := x.prepare(ctx); err != nil {
		return nil, errors.Join(err, x.close())
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
	head, err := headOf(file, len(magic))
	if err == nil && len(head) > 0 && string(head) != magic {
		return notOurs(file)
	}
	return err
}

// headOf returns at most the first n bytes of a regular file, and none of one that does not exist. Opening a pipe would
// wait for its writer.
func headOf(file string, n int) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the index %s is not a regular file: name another", file)
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	defer func() { _ = f.Close() }()
	head, err := io.ReadAll(io.LimitReader(f, int64(n)))
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	return head, nil
}

// notOurs is the error of a file that is not to be touched.
func notOurs(file string) error {
	return fmt.Errorf("the file %s is no index of Assay: name another", file)
}

// connect opens a database. The name is escaped in a URI, because "?" in a plain one begins options.
func connect(file string) (*index, error) {
	name := ":memory:"
	if file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		name = "file:" + url.PathEscape(path)
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // that of :memory: is its own for each connection
	return &index{db, file}, nil
}

// prepare creates the tables of a new database, and checks those of another.
func (x *index) prepare(ctx context.Context) error {
	if _, err := x.db.ExecContext(ctx, "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON"); err != nil {
		return x.failed(ctx, err)
	}
	var version, id, all, rows int
	err := x.db.QueryRowContext(ctx, "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version, pragma_application_id").
		Scan(&version, &id, &all)
	switch {
	case err != nil:
		return x.failed(ctx, err)
	case version == 0 && id == 0 && all == 0:
		_, err := x.db.ExecContext(ctx, "BEGIN IMMEDIATE;"+tables+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT", indexVersion, applicationID))
		return x.failed(ctx, err)
	case id != applicationID:
		return notOurs(x.file)
	case version != indexVersion:
		return fmt.Errorf("%w: its version is %d, want %d", errDamaged, version, indexVersion)
	}
	return x.failed(ctx, x.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM rule) + (SELECT count(*) FROM figure)").Scan(&rows))
}

// replaceable returns nil for an index of Assay that no other program is writing. A damaged one is known by its first page.
func (x *index) replaceable(ctx context.Context) error {
	if _, err := x.db.ExecContext(ctx, "BEGIN IMMEDIATE; ROLLBACK"); err != nil {
		if err := x.failed(ctx, err); !errors.Is(err, errDamaged) {
			return err
		}
	}
	const idAt = 68 // the offset of the application id
	head, err := headOf(x.file, idAt+4)
	if err != nil {
		return err
	}
	if len(head) == idAt+4 && binary.BigEndian.Uint32(head[idAt:]) == applicationID {
		return nil
	}
	return fmt.Errorf("the file %s is a damaged database, perhaps of another program: remove it or name another", x.file)
}
