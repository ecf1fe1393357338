package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDisk means that the index could not be read or written because of the disk: it is full or broken.
var ErrDisk = errors.New("the disk is full or broken: make room, or name another file")

// ErrLocked means that another program uses the index, and did not end in time.
var ErrLocked = errors.New("another program uses it: wait until it has ended, or name another index")

// errDamaged means that an index does not fit, and can be built again.
var errDamaged = errors.New("the index is damaged")

// failed returns the error of a query by what has to be done. An index is damaged only if what is in it is at fault: a
// lock, the disk and the lack of a right are not.
func (x *index) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var of *sqlite.Error
	if !errors.As(err, &of) {
		return fmt.Errorf("%w: %s: %w", errDamaged, x.file, err)
	}
	const primary = 0xff // the rest of a code says where it happened
	switch code := of.Code(); code & primary {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("the index %s: %w: %w", x.file, err, ErrLocked)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY:
		return x.unopened(err)
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL:
		if code != sqlite3.SQLITE_IOERR_SHORT_READ {
			return fmt.Errorf("the index %s: %w: %w", x.file, err, ErrDisk)
		}
	case sqlite3.SQLITE_NOMEM:
		return fmt.Errorf("the index %s: %w", x.file, err)
	}
	return fmt.Errorf("%w: %s: %w", errDamaged, x.file, err)
}

// unopened returns why a file cannot be opened, which SQLite does not say.
func (x *index) unopened(err error) error {
	f, cause := os.OpenFile(x.file, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o644) //nolint:gosec // the mode of SQLite
	if cause != nil {
		return fmt.Errorf("the index: %w", cause)
	}
	return errors.Join(fmt.Errorf("the index %s: %w", x.file, err), f.Close())
}
