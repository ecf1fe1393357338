package virtual

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"
	"syscall"

	filetree "assay/fakes/tree"
)

// Files returns the files of the sandbox, which its commands see too. The root, and /dev, cannot be moved or removed (EBUSY). There are at most 1024
// watchers.
func (s *System) Files() filetree.Tree { return files{s.fs} }

// files presents a file system as a tree.
type files struct{ fs *fileSystem }

var _ filetree.Tree = files{}

func (t files) Home(user string) (dir string, ok bool) {
	dir, ok = accounts[user]
	return dir, ok
}

func (t files) Lstat(name string) (filetree.Entry, error) {
	t.fs.mu.RLock()
	defer t.fs.mu.RUnlock()
	at, err := t.fs.existing(name, itself)
	if err != nil {
		return filetree.Entry{}, failure("lstat", name, err)
	}
	return at.node.entry(path.Base(path.Clean(name))), nil
}

// entry describes a node.
func (n *node) entry(base string) filetree.Entry {
	return filetree.Entry{
		Name: base, Mode: n.mode, Size: int64(len(n.data) + len(n.target)), Owner: n.owner, Group: n.owner,
		Modified: n.modified, Metadata: maps.Clone(n.metadata),
	}
}

func (t files) Resolve(name string) (string, error) {
	t.fs.mu.RLock()
	defer t.fs.mu.RUnlock()
	at, err := t.fs.existing(name, follow)
	if err != nil {
		return "", failure("resolve", name, err)
	}
	return at.path(), nil
}

func (t files) ReadDir(name string) ([]filetree.Entry, error) {
	t.fs.mu.RLock()
	defer t.fs.mu.RUnlock()
	at, err := t.fs.existing(name, follow)
	if err == nil && at.node.entries == nil {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, failure("list", name, err)
	}
	list := make([]filetree.Entry, 0, len(at.node.entries))
	for _, base := range at.node.names() {
		list = append(list, at.node.entries[base].entry(base))
	}
	return list, nil
}

func (t files) Open(name string) (filetree.File, error) {
	t.fs.mu.RLock()
	defer t.fs.mu.RUnlock()
	at, err := t.fs.existing(name, follow)
	if err == nil {
		err = at.node.contentError()
	}
	if err != nil {
		return nil, failure("open", name, err)
	}
	return &reader{fs: t.fs, node: at.node, entry: at.node.entry(path.Base(path.Clean(name)))}, nil
}

// contentError returns an error for what has no content.
func (n *node) contentError() error {
	switch {
	case n.entries != nil:
		return syscall.EISDIR
	case n.device != nil:
		return syscall.EINVAL
	}
	return nil
}

func (t files) Mkdir(name, user string) error {
	t.fs.mu.Lock()
	defer t.fs.mu.Unlock()
	at, err := t.fs.free(name)
	if err == nil {
		err = t.fs.add(at.dir, at.base, newDir(user))
	}
	if err != nil {
		return failure("mkdir", name, err)
	}
	t.fs.notify(at.dir, at.base, filetree.Changed) // the owner, as in a real sandbox
	return nil
}

func (t files) Rename(from, to string) error {
	if err := t.fs.rename(from, to); err != nil {
		return fmt.Errorf("rename %q to %q: %w", from, to, err)
	}
	return nil
}

func (t files) RemoveAll(name string) error {
	t.fs.mu.Lock()
	defer t.fs.mu.Unlock()
	if short := strings.TrimRight(name, "/"); short != "" {
		name = short // with a slash behind it, a link is still only a link
	}
	at, err := t.fs.walk(name, entry)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil
	case err != nil:
	case at.node == nil:
		return nil
	case t.fs.fixed(at.node):
		err = syscall.EBUSY
	case at.dir == nil:
		err = syscall.EINVAL
	default:
		t.fs.unlink(at)
		return nil
	}
	return failure("remove", name, err)
}

func (t files) Watch(name string, recursive bool) (filetree.Watcher, error) {
	w, err := t.fs.watch(name, recursive)
	if err != nil {
		return nil, failure("watch", name, err)
	}
	return w, nil
}

func failure(verb, name string, err error) error {
	return &fs.PathError{Op: verb, Path: name, Err: err}
}

// reader is a file that was opened through the tree. It reads what was opened, also when the entry gets another content.
type reader struct {
	fs    *fileSystem
	node  *node
	entry filetree.Entry

	mu     sync.Mutex
	off    int64
	closed bool
}

func (r *reader) Entry() filetree.Entry { return r.entry }

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, fs.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	r.fs.mu.RLock()
	defer r.fs.mu.RUnlock()
	if r.off >= int64(len(r.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, r.node.data[r.off:])
	r.off += int64(n)
	return n, nil
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.off
	case io.SeekEnd:
		r.fs.mu.RLock()
		offset += int64(len(r.node.data))
		r.fs.mu.RUnlock()
	default:
		return 0, syscall.EINVAL
	}
	if offset < 0 {
		return 0, syscall.EINVAL
	}
	r.off = offset
	return offset, nil
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fs.ErrClosed
	}
	r.closed = true
	return nil
}
