package tree

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Tree is the files of one sandbox, which its commands see as well. All paths
// are absolute; they need not be clean. An error wraps a syscall.Errno: ENOENT,
// ENOTDIR, EISDIR, EEXIST, ENOTEMPTY, ELOOP, ENAMETOOLONG, EINVAL, ENOSPC, EXDEV,
// or EACCES for a path that does not belong to the sandbox, also through a link.
// A Tree is safe for concurrent use.
type Tree interface {
	// Home returns the home directory of a user; ok is false for an unknown user.
	Home(user string) (dir string, ok bool)

	// Lstat returns an entry, of a link the link itself.
	Lstat(name string) (Entry, error)
	// Resolve returns the path behind all links of name, which must exist.
	Resolve(name string) (string, error)
	// ReadDir returns the entries of a directory, sorted by the bytes of their
	// names. A link to a directory is followed.
	ReadDir(name string) ([]Entry, error)
	// Open opens a regular file for reading; links are followed.
	Open(name string) (File, error)

	// Mkdir creates one directory with mode 0755, of that user.
	Mkdir(name, user string) error
	// Create begins a new content of a regular file, of that user; links are
	// followed, also to a file that does not exist yet. Nothing of it is seen before
	// Commit, which replaces content and metadata at once. A new file has mode 0644;
	// an existing one keeps its mode.
	Create(name, user string) (Upload, error)
	// Rename moves an entry. It replaces a file, and no directory.
	Rename(from, to string) error
	// RemoveAll removes an entry with everything below it, of a link the link. A
	// missing entry is no error.
	RemoveAll(name string) error

	// Watch reports changes of the entries of a directory from now on.
	Watch(name string, recursive bool) (Watcher, error)
}

// Entry is what a tree knows of a file, directory or link.
type Entry struct {
	Name     string // base name
	Mode     fs.FileMode
	Size     int64
	Owner    string // a number if the owner has no name
	Group    string
	Modified time.Time
	// Metadata are the pairs that the last upload set.
	Metadata map[string]string
}

// File is an open regular file.
type File interface {
	io.ReadSeekCloser
	Entry() Entry
}

// Upload is a new content of a file.
type Upload interface {
	io.Writer
	// SetMetadata sets the metadata that the file will have.
	SetMetadata(pairs map[string]string)
	// Commit makes the content that of the file.
	Commit() error
	// Abort discards the content; after Commit it does nothing.
	Abort()
}

// Op is a kind of change.
type Op string

// The kinds of changes.
const (
	Created Op = "create"
	Written Op = "write"
	Removed Op = "remove"
	Renamed Op = "rename" // moved away from this path
	Changed Op = "chmod"  // mode, owner, times or metadata
)

// Event is one change. Path is absolute; it is that of the watched directory
// when the directory itself was removed or moved.
type Event struct {
	Op   Op
	Path string
}

// Watcher reports changes in their order. It keeps those that nobody has read yet,
// up to [MaxEvents]. A [Queue] does so.
type Watcher interface {
	// Next returns the next change, waiting for it until ctx is done. What was
	// kept comes first; then an error ends the watch: EOVERFLOW after more than a
	// watcher keeps, fs.ErrClosed after Close.
	Next(ctx context.Context) (Event, error)
	// Pending returns the changes that were not read yet, without waiting. Next
	// says whether the watch has ended.
	Pending() []Event
	Close()
}
