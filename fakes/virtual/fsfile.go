package virtual

import (
	"io"
	"sync"
	"syscall"
	"time"

	filetree "assay/fakes/tree"
)

// The ways to open a file.
type openMode int

const (
	openRead openMode = iota
	openWrite
	openAppend
	openBoth // <>
)

// open opens an absolute path. All modes except openRead create a missing file, of that owner; openWrite truncates it.
func (f *fileSystem) open(name string, mode openMode, owner string) (*file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var at place
	var err error
	if mode == openRead {
		at, err = f.existing(name, follow)
	} else {
		at, err = f.create(name, owner)
	}
	n := at.node
	switch {
	case err != nil:
		return nil, err
	case n.device != nil:
		return newFile(n.device), nil
	case n.entries != nil && mode != openRead:
		return nil, syscall.EISDIR
	case n.program != "" && mode != openRead:
		return nil, syscall.ETXTBSY
	}
	if mode == openWrite && !at.made {
		f.used -= len(n.data)
		n.data = nil
		n.modified = time.Now()
		f.wrote(n, at.dir, at.base, filetree.Written)
	}
	return newFile(&regular{fs: f, node: n, mode: mode, dir: at.dir, base: at.base}), nil
}

// regular is an open file of the tree; all descriptors that inherit it share its offset.
type regular struct {
	fs   *fileSystem
	node *node
	mode openMode
	dir  *node // of the entry that was opened
	base string
	mu   sync.Mutex
	off  int
}

func (r *regular) read(s stop, limit, delim int) ([]byte, error) {
	if r.mode == openWrite || r.mode == openAppend {
		return nil, syscall.EBADF
	}
	if r.node.entries != nil {
		return nil, syscall.EISDIR
	}
	select {
	case <-s.dead:
		return nil, errDead
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fs.mu.RLock()
	defer r.fs.mu.RUnlock()
	if r.off >= len(r.node.data) {
		return nil, io.EOF
	}
	got := append([]byte(nil), take(r.node.data[r.off:], min(limit, pipeSize), delim)...)
	r.off += len(got)
	return got, nil
}

func (r *regular) write(s stop, b []byte) error {
	if r.mode == openRead {
		return syscall.EBADF
	}
	select {
	case <-s.dead:
		return errDead
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fs.mu.Lock()
	defer r.fs.mu.Unlock()
	if r.mode == openAppend {
		r.off = len(r.node.data)
	}
	end := r.off + len(b)
	if grow := end - len(r.node.data); grow > 0 {
		if end > maxFiles || !r.fs.fits(grow) {
			return syscall.ENOSPC
		}
		if r.node.links > 0 {
			r.fs.used += grow
		}
		r.node.data = append(r.node.data, make([]byte, grow)...)
	}
	copy(r.node.data[r.off:end], b)
	r.off = end
	r.node.modified = time.Now()
	r.fs.wrote(r.node, r.dir, r.base, filetree.Written)
	return nil
}

func (r *regular) close() {}
