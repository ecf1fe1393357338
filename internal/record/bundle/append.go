package bundle

import (
	"fmt"
	"os"
)

// lineFile is an append-only file of lines. Each line is one write, so that a killed run
// loses at most the last line. A partly written line is truncated again.
type lineFile struct {
	name string
	file appendFile
	size int64
	err  error // the first error; nothing is written after it
}

// appendFile is the part of *os.File that lineFile needs.
type appendFile interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// newLines creates the file. An existing file is an error, so that it never writes through
// a planted link.
func newLines(root *os.Root, name string) (*lineFile, error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &lineFile{name: name, file: f}, nil
}

// add appends v as one line of JSON. After an error it does nothing, and returns nil.
func (l *lineFile) add(line []byte) error {
	if l.err != nil {
		return nil
	}
	if _, err := l.file.Write(line); err != nil {
		l.err = err
		if cut := l.file.Truncate(l.size); cut != nil {
			l.err = fmt.Errorf("%w; the partial line could not be removed: %w", err, cut)
		}
		return l.err
	}
	l.size += int64(len(line))
	return nil
}

// finish syncs and closes the file.
func (l *lineFile) finish() error {
	if l == nil {
		return nil
	}
	err := l.file.Sync()
	if closed := l.file.Close(); err == nil {
		err = closed
	}
	return err
}
