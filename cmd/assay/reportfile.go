package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/reports"
)

// tempReport is the prefix of a report that is not complete yet.
const tempReport = ".assay-"

// writable checks before a run that a file can be written, and leaves nothing behind: a run that
// does not begin must not replace the report of an earlier one by an empty file. A pipe is not
// opened for that: its reader would take it for the whole report.
func writable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeNamedPipe != 0:
		return nil
	case err == nil:
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// createBeside creates a file with a temporary name in the folder of path.
func createBeside(path string) (*os.File, error) {
	if os.IsPathSeparator(path[len(path)-1]) {
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	}
	temp := filepath.Join(filepath.Dir(path), tempReport+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // reports are public
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return nil, &fs.PathError{Op: "create", Path: path, Err: failed.Err}
	}
	return f, err
}

// writeFile draws a report into a file.
func writeFile(path, format string, g *guard, d draw) error {
	err := replaceFile(path, func(f *os.File) error {
		return d(&output{file: f, guard: g}, format, reports.Style{Width: 100, Verbose: true})
	})
	if err != nil {
		return fmt.Errorf("--report: writing %s: %w", path, err)
	}
	return nil
}

// replaceFile writes a new file under a temporary name and renames it when it is complete, so
// that a reader sees the old file or the new one. A pipe, a device or a link, and a file in a
// folder without write permission, is written in place.
func replaceFile(path string, write func(*os.File) error) error {
	info, err := os.Lstat(path)
	exists := err == nil
	if exists && !info.Mode().IsRegular() {
		return overwrite(path, write)
	}
	f, err := createBeside(path)
	if err != nil {
		if exists {
			return overwrite(path, write)
		}
		return err
	}
	err = errors.Join(write(f), f.Close())
	if err == nil && exists {
		err = os.Chmod(f.Name(), info.Mode().Perm())
	}
	if err == nil {
		if err = os.Rename(f.Name(), path); err == nil {
			return nil
		}
		err = overwrite(path, write) // a mount point cannot be replaced
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// overwrite writes a file in place.
func overwrite(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
