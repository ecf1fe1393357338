//go:build unix

package osproc

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"assay/fakes/tree"
)

// Files returns the files below the home of the processes. Everything outside is refused with EACCES, whatever .. or links a path contains; the home
// itself cannot be moved or removed (EBUSY). FIFOs, sockets and devices are listed and never opened.
//
// New files belong to the user that is asked for, if the host has it and this program may give files away. Metadata are extended attributes, or without
// support of the file system kept in memory. Until Commit, an upload is a file that the tree hides and a command can see.
func (s *System) Files() tree.Tree { return s.files }

// files is the tree below a home.
type files struct {
	home func() string // of the processes
	own  bool          // it was given by Options

	once sync.Once
	root *os.Root
	base string // the home
	real string // the home without links
	err  error

	owners sync.Map // names of users and groups by number
	kept   kept
}

var _ tree.Tree = (*files)(nil)

// open opens the root on first use. A finalizer closes it.
func (t *files) open() error {
	t.once.Do(func() {
		t.base = filepath.Clean(t.home())
		if t.real, t.err = filepath.EvalSymlinks(t.base); t.err == nil {
			t.root, t.err = os.OpenRoot(t.real)
		}
	})
	return t.err
}

func (t *files) Home(user string) (dir string, ok bool) {
	if user == "" || t.open() != nil {
		return "", false
	}
	known := user == currentUser().Username
	if t.own && !known {
		known = user == "root" || user == "user" || lookupAccount(user) != nil
	}
	return t.base, known
}

func (t *files) Lstat(name string) (tree.Entry, error) {
	at, err := t.existing(name, itself)
	if err != nil {
		return tree.Entry{}, failure("lstat", name, err)
	}
	return t.entry(path.Base(path.Clean(name)), at.rel, at.info), nil
}

func (t *files) Resolve(name string) (string, error) {
	at, err := t.existing(name, follow)
	if err != nil {
		return "", failure("resolve", name, err)
	}
	return filepath.Join(t.real, at.rel), nil
}

func (t *files) ReadDir(name string) ([]tree.Entry, error) {
	at, err := t.existing(name, follow)
	if err == nil && !at.info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, failure("list", name, err)
	}
	names, err := t.names(at.rel)
	if err != nil {
		return nil, failure("list", name, err)
	}
	list := make([]tree.Entry, 0, len(names))
	for _, base := range names {
		rel := path.Join(at.rel, base)
		info, err := t.root.Lstat(rel)
		if err != nil {
			continue // removed meanwhile
		}
		list = append(list, t.entry(base, rel, info))
	}
	return list, nil
}

// names returns the sorted names in a directory, without uploads.
func (t *files) names(rel string) ([]string, error) {
	dir, err := t.root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	list, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	return sortedNames(list), nil
}

func (t *files) Open(name string) (tree.File, error) {
	at, err := t.existing(name, follow)
	if err == nil {
		err = contentError(at.info)
	}
	if err != nil {
		return nil, failure("open", name, err)
	}
	// What the file was a moment ago may have become a FIFO.
	f, err := t.root.OpenFile(at.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, failure("open", name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = contentError(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, failure("open", name, err)
	}
	return &openFile{f, t.described(path.Base(path.Clean(name)), info, t.kept.read(f, info))}, nil
}

// contentError returns an error for what has no content.
func contentError(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return syscall.EISDIR
	case !info.Mode().IsRegular():
		return syscall.EINVAL
	}
	return nil
}

// openFile is a file that was opened through the tree.
type openFile struct {
	*os.File
	entry tree.Entry
}

func (f *openFile) Entry() tree.Entry { return f.entry }

func (t *files) Mkdir(name, user string) error {
	at, err := t.walk(name, entry)
	switch {
	case err != nil:
	case at.info != nil:
		err = syscall.EEXIST
	default:
		if err = t.root.Mkdir(at.rel, 0o755); err == nil {
			err = t.root.Chmod(at.rel, 0o755) // whatever the umask
		}
		if uid, gid, other := t.account(user); err == nil && other {
			err = t.root.Lchown(at.rel, uid, gid)
		}
	}
	return failure("mkdir", name, err)
}

func (t *files) Rename(from, to string) error {
	old, err := t.existing(from, entry)
	if err != nil {
		return failure("rename", from, err)
	}
	at, err := t.walk(to, entry)
	switch {
	case err != nil:
	case old.rel == "." || old.dot || at.rel == "." || at.dot:
		err = syscall.EBUSY
	case at.info != nil && os.SameFile(old.info, at.info):
		return nil
	case old.info.IsDir() && strings.HasPrefix(at.rel, old.rel+"/"):
		err = syscall.EINVAL
	case !old.info.IsDir() && at.slash:
		err = syscall.ENOTDIR
	default:
		if err = t.replaceable(old.info, at); err == nil {
			err = t.root.Rename(old.rel, at.rel)
		}
	}
	return failure("rename", to, err)
}

// replaceable says why an entry cannot replace what a place holds.
func (t *files) replaceable(info fs.FileInfo, at place) error {
	switch {
	case at.info == nil || !at.info.IsDir() && !info.IsDir():
		return nil
	case !at.info.IsDir():
		return syscall.ENOTDIR
	case !info.IsDir():
		return syscall.EISDIR
	}
	if names, err := t.names(at.rel); err == nil && len(names) == 0 {
		return syscall.EEXIST
	}
	return syscall.ENOTEMPTY
}

func (t *files) RemoveAll(name string) error {
	if short := strings.TrimRight(name, "/"); short != "" {
		name = short // with a slash behind it, a link is still only a link
	}
	at, err := t.walk(name, entry)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil
	case err != nil:
	case at.info == nil:
		return nil
	case at.rel == ".":
		err = syscall.EBUSY
	case at.dot:
		err = syscall.EINVAL
	default:
		err = t.root.RemoveAll(at.rel)
	}
	return failure("remove", name, err)
}

// failure adds the path to an error. An error without a number is the refusal of [os.Root] to leave it.
func failure(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		no = syscall.EACCES
	}
	return &fs.PathError{Op: verb, Path: name, Err: no}
}
