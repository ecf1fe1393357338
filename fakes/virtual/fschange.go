package virtual

import (
	"io/fs"
	"syscall"
	"time"

	filetree "assay/fakes/tree"
)

func (f *fileSystem) mkdir(name, owner string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.free(name)
	if err != nil {
		return err
	}
	return f.add(at.dir, at.base, newDir(owner))
}

// free returns the place of an entry that does not exist.
func (f *fileSystem) free(name string) (place, error) {
	at, err := f.walk(name, entry)
	if err == nil && at.node != nil {
		err = syscall.EEXIST
	}
	return at, err
}

// symlink creates a symbolic link.
func (f *fileSystem) symlink(target, name, owner string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case target == "":
		return syscall.ENOENT
	case len(target) >= maxPath:
		return syscall.ENAMETOOLONG
	}
	at, err := f.free(name)
	if err != nil {
		return err
	}
	if at.slash {
		return syscall.ENOENT
	}
	return f.add(at.dir, at.base, &node{mode: fs.ModeSymlink | 0o777, owner: owner, target: target, modified: time.Now()})
}

// link creates another entry for a file.
func (f *fileSystem) link(from, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.existing(from, entry)
	if err != nil {
		return err
	}
	if old.node.entries != nil {
		return syscall.EPERM
	}
	at, err := f.free(name)
	if err != nil {
		return err
	}
	if at.slash {
		return syscall.ENOENT
	}
	f.attach(at.dir, at.base, old.node)
	f.notify(at.dir, at.base, filetree.Created)
	return nil
}

// fixed reports the root and what a kernel would mount: they cannot be moved or removed.
func (f *fileSystem) fixed(n *node) bool { return n == f.root || n == f.root.entries["dev"] }

// remove removes a file or an empty directory, and with recursive any directory.
func (f *fileSystem) remove(name string, recursive bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.existing(name, entry)
	switch {
	case err != nil:
		return err
	case f.fixed(at.node):
		return syscall.EBUSY
	case at.dir == nil:
		return syscall.EINVAL
	case at.node.entries != nil && !recursive:
		return syscall.EISDIR
	}
	f.unlink(at)
	return nil
}

func (f *fileSystem) unlink(at place) {
	f.drop(at.dir, at.base)
	f.notify(at.dir, at.base, filetree.Removed)
}

// rename moves an entry to exactly that path. It replaces a file, and no directory.
func (f *fileSystem) rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, err := f.existing(from, entry)
	if err != nil {
		return err
	}
	at, err := f.walk(to, entry)
	switch n := old.node; {
	case err != nil:
		return err
	case f.fixed(n), old.dir == nil, at.dir == nil:
		return syscall.EBUSY
	case at.node == n:
		return nil
	case n.entries != nil && at.dir.below(n):
		return syscall.EINVAL
	case n.entries == nil && at.slash:
		return syscall.ENOTDIR
	}
	if err := replaceable(old.node, at.node); err != nil {
		return err
	}
	if at.node != nil {
		f.drop(at.dir, at.base)
	}
	f.detach(old.dir, old.base)
	f.attach(at.dir, at.base, old.node)
	f.notify(old.dir, old.base, filetree.Renamed)
	f.notify(at.dir, at.base, filetree.Created)
	f.leave(old.node, filetree.Renamed)
	return nil
}

// replaceable says why n cannot replace old, which may be nil.
func replaceable(n, old *node) error {
	switch {
	case old == nil || old.entries == nil && n.entries == nil:
		return nil
	case old.entries == nil:
		return syscall.ENOTDIR
	case n.entries == nil:
		return syscall.EISDIR
	case len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return syscall.EEXIST
}

// below reports whether a directory is dir or below it.
func (n *node) below(dir *node) bool {
	for ; n != nil; n = n.parent {
		if n == dir {
			return true
		}
	}
	return false
}

// touch creates an empty file, or updates the modification time.
func (f *fileSystem) touch(name, owner string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.create(name, owner)
	if err == nil {
		at.node.modified = time.Now()
		f.changed(at, filetree.Changed)
	}
	return err
}

// chmod changes the mode to what of returns for it.
func (f *fileSystem) chmod(name string, of func(fs.FileMode) fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.existing(name, follow)
	if err != nil {
		return err
	}
	const settable = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	at.node.mode = at.node.mode&^settable | of(at.node.mode)&settable
	f.changed(at, filetree.Changed)
	return nil
}

// create finds a node or creates an empty file. The caller holds mu.
func (f *fileSystem) create(name, owner string) (place, error) {
	at, err := f.walk(name, follow)
	switch {
	case err != nil || at.node != nil:
		return at, err
	case at.slash:
		return at, syscall.EISDIR
	}
	at.node, at.made = newText("", owner), true
	return at, f.add(at.dir, at.base, at.node)
}
