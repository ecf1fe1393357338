package virtual

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxFiles limits the memory of all files together, empty ones included; beyond it a write fails with "No space left on device".
const maxFiles = 128 << 20

// maxPath is Linux's PATH_MAX.
const maxPath = 4096

// fileSystem is a tree in memory, without links. The only effective permission is the executable bit.
type fileSystem struct {
	mu   sync.RWMutex // guards the tree and the contents of all nodes
	root *node
	used int
}

// node is a file, a directory (with entries), a device (with device) or a program (with program, its name).
type node struct {
	mode     fs.FileMode
	modified time.Time
	data     []byte
	entries  map[string]*node
	device   description
	program  string
	open     int  // descriptions of a file
	gone     bool // removed from the tree
}

// newFileSystem creates the tree of a fresh sandbox, with the programs in /bin and /usr/bin.
func newFileSystem(programs []string) *fileSystem {
	f := &fileSystem{root: newDir()}
	for _, dir := range []string{
		"/home/user", "/root", "/sbin", "/tmp", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/var/tmp",
	} {
		f.mkdirAll(dir)
	}
	for _, dir := range []string{"/bin", "/usr/bin"} {
		at := f.mkdirAll(dir)
		for _, name := range programs {
			f.put(at, name, &node{mode: 0o755, program: name, data: []byte("virtual program " + name + "\n"), modified: time.Now()})
		}
	}
	dev, etc := f.mkdirAll("/dev"), f.mkdirAll("/etc")
	f.put(dev, "null", &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, device: null{}})
	f.put(dev, "tty", &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, device: null{}})
	f.put(dev, "zero", &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, device: zero{}})
	f.put(etc, "hostname", newText("sandbox\n"))
	f.put(etc, "passwd", newText("root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"))
	return f
}

func newDir() *node {
	return &node{mode: fs.ModeDir | 0o755, entries: make(map[string]*node), modified: time.Now()}
}

func newText(s string) *node { return &node{mode: 0o644, data: []byte(s), modified: time.Now()} }

// mkdirAll finds or creates a directory and its parents.
func (f *fileSystem) mkdirAll(name string) *node {
	at := f.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		next := at.entries[part]
		if next == nil {
			next = newDir()
			f.put(at, part, next)
		}
		at = next
	}
	return at
}

// find returns the node of an absolute path. The caller holds mu.
func (f *fileSystem) find(name string) (*node, error) {
	if len(name) > maxPath {
		return nil, syscall.ENAMETOOLONG
	}
	if name == "" {
		return nil, syscall.ENOENT
	}
	if strings.Contains(name, "..") {
		name = path.Clean(name) // exact in a tree without links
	}
	at := f.root
	for part := range strings.SplitSeq(name, "/") {
		if at.entries == nil {
			return nil, syscall.ENOTDIR // also for "file/" and "file/."
		}
		if part == "" || part == "." {
			continue
		}
		next := at.entries[part]
		if next == nil {
			return nil, syscall.ENOENT
		}
		at = next
	}
	return at, nil
}

// parent returns the directory of name, which need not exist.
func (f *fileSystem) parent(name string) (dir *node, base string, err error) {
	name = path.Clean(name)
	dir, err = f.find(path.Dir(name))
	if err != nil {
		return nil, "", err
	}
	if dir.entries == nil {
		return nil, "", syscall.ENOTDIR
	}
	base = path.Base(name)
	if base == "/" || base == "." {
		return nil, "", syscall.EISDIR
	}
	if len(base) > 255 {
		return nil, "", syscall.ENAMETOOLONG
	}
	return dir, base, nil
}

func (f *fileSystem) stat(name string) (fs.FileInfo, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.find(name)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(name)), nil
}

// fileMemory is what a node counts without its name and content: more than its memory, so that a list of a full directory fits a command too.
const fileMemory = 2 << 10

// listMemory estimates the memory of a list of a directory.
func (f *fileSystem) listMemory(name string) int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.find(name)
	if err != nil {
		return 0
	}
	return len(n.entries) * fileMemory / 4
}

// add puts a new node into a directory, unless the file system is full. The caller holds mu.
func (f *fileSystem) add(dir *node, base string, n *node) error {
	if f.used+fileMemory+len(base) > maxFiles {
		return syscall.ENOSPC
	}
	f.put(dir, base, n)
	return nil
}

// put puts a new node into a directory and counts it. A node has one directory, so that its removal is counted once.
func (f *fileSystem) put(dir *node, base string, n *node) {
	f.used += fileMemory + len(base) + len(n.data)
	dir.entries[base] = n
}

// drop removes an entry. The content of a file that is open counts until its last close. The caller holds mu.
func (f *fileSystem) drop(dir *node, base string) {
	n := dir.entries[base]
	delete(dir.entries, base)
	f.used -= fileMemory + len(base)
	for child := range n.entries {
		f.drop(n, child)
	}
	n.gone = true
	if n.open == 0 {
		f.used -= len(n.data)
	}
}

// readDir lists a directory, sorted by name.
func (f *fileSystem) readDir(name string) ([]fs.DirEntry, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	n, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if n.entries == nil {
		return nil, syscall.ENOTDIR
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for base, child := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (f *fileSystem) mkdir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.parent(name)
	if errors.Is(err, syscall.EISDIR) {
		return syscall.EEXIST
	}
	if err != nil {
		return err
	}
	if dir.entries[base] != nil {
		return syscall.EEXIST
	}
	return f.add(dir, base, newDir())
}

// remove removes a file or an empty directory, and with recursive any directory.
func (f *fileSystem) remove(name string, recursive bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.parent(name)
	if err != nil {
		return err
	}
	n := dir.entries[base]
	if n == nil {
		return syscall.ENOENT
	}
	if n.entries != nil && !recursive {
		return syscall.EISDIR
	}
	f.drop(dir, base)
	return nil
}

func (f *fileSystem) rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.parent(from)
	if err != nil {
		return err
	}
	n := dir.entries[base]
	if n == nil {
		return syscall.ENOENT
	}
	if target, err := f.find(to); err == nil && target.entries != nil {
		to = path.Join(to, base)
	}
	from, to = path.Clean(from), path.Clean(to)
	if from == to {
		return nil
	}
	if strings.HasPrefix(to, from+"/") {
		return syscall.EINVAL
	}
	toDir, toBase, err := f.parent(to)
	if err != nil {
		return err
	}
	if old := toDir.entries[toBase]; old != nil {
		if old.entries != nil {
			return syscall.EISDIR
		}
		f.drop(toDir, toBase)
	}
	delete(dir.entries, base)
	toDir.entries[toBase] = n
	f.used += len(toBase) - len(base)
	return nil
}

// touch creates an empty file, or updates the modification time.
func (f *fileSystem) touch(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.create(name)
	if err == nil {
		n.modified = time.Now()
	}
	return err
}

// create finds a node or creates an empty file. The caller holds mu.
func (f *fileSystem) create(name string) (*node, error) {
	if n, err := f.find(name); err == nil {
		return n, nil
	}
	if strings.HasSuffix(name, "/") {
		return nil, syscall.EISDIR
	}
	dir, base, err := f.parent(name)
	if err != nil {
		return nil, err
	}
	n := newText("")
	return n, f.add(dir, base, n)
}

func (n *node) info(base string) fs.FileInfo {
	return fileInfo{name: base, size: int64(len(n.data)), mode: n.mode, modified: n.modified, program: n.program}
}

// fileInfo is the result of stat for a node.
type fileInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
	program  string
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.modified }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
