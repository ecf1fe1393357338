package bundle

import (
	"fmt"
	"os"
)

// lineFile is a file that only grows, a whole line at a time: each line is given
// to the system in one write, so that a run that is killed has all lines but at
// most the last. A line that could be written only in part is taken back.
type lineFile struct {
	name string
	file appendFile
	size int64
	err  error // the first; nothing is written behind it
}

// appendFile is what a lineFile needs of an *os.File.
type appendFile interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// newLines makes the file; one that is there already is refused, so that a link
// that somebody planted is not written through.
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
			l.err = fmt.Errorf("%w; and what was written of the line stays: %w", err, cut)
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
