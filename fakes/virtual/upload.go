package virtual

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"

	filetree "assay/fakes/tree"
)

// Create begins a new content.
func (t files) Create(name, user string) (filetree.Upload, error) {
	t.fs.mu.RLock()
	defer t.fs.mu.RUnlock()
	if _, err := t.fs.target(name); err != nil {
		return nil, failure("create", name, err)
	}
	return &upload{fs: t.fs, name: name, user: user}, nil
}

// target finds the file that gets a new content, which may be missing.
func (f *fileSystem) target(name string) (place, error) {
	at, err := f.walk(name, follow)
	switch {
	case err != nil:
		return at, err
	case at.node != nil:
		return at, at.node.contentError()
	case at.slash:
		return at, syscall.EISDIR
	}
	return at, nil
}

// upload is a new content of a file.
type upload struct {
	fs         *fileSystem
	name, user string

	mu       sync.Mutex
	data     []byte
	metadata map[string]string
	done     bool
}

func (u *upload) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done {
		return 0, failure("write", u.name, syscall.EBADF)
	}
	if len(u.data)+len(p) > maxFiles {
		return 0, failure("write", u.name, syscall.ENOSPC)
	}
	u.data = append(u.data, p...)
	return len(p), nil
}

func (u *upload) SetMetadata(pairs map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.metadata = maps.Clone(pairs)
}

func (u *upload) Commit() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done {
		return failure("create", u.name, syscall.EBADF)
	}
	u.done = true
	u.fs.mu.Lock()
	defer u.fs.mu.Unlock()
	if err := u.replace(); err != nil {
		u.data = nil
		return fmt.Errorf("create %q: %w", u.name, err)
	}
	return nil
}

// replace puts a new node in the place of the old one, which open files keep.
func (u *upload) replace() error {
	f := u.fs
	at, err := f.target(u.name)
	if err != nil {
		return err
	}
	n := newText("", u.user)
	n.data, n.metadata = slices.Clip(u.data), u.metadata
	if at.node == nil {
		if err := f.add(at.dir, at.base, n); err != nil {
			return err
		}
		f.notify(at.dir, at.base, filetree.Changed)
		if len(n.data) > 0 {
			f.notify(at.dir, at.base, filetree.Written)
		}
		return nil
	}
	if !f.fits(len(n.data)) {
		return syscall.ENOSPC
	}
	n.mode = at.node.mode
	f.drop(at.dir, at.base)
	f.put(at.dir, at.base, n)
	f.notify(at.dir, at.base, filetree.Changed)
	f.notify(at.dir, at.base, filetree.Written)
	return nil
}

func (u *upload) Abort() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done, u.data = true, nil
}
