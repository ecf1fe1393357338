package virtual

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	filetree "assay/fakes/tree"
)

// maxFiles limits the contents of all files together; beyond it a write fails with "No space left on device".
const maxFiles = 128 << 20

// fileSystem is a tree in memory. The only effective permission is the executable bit.
type fileSystem struct {
	mu       sync.RWMutex // guards the tree, the contents of all nodes, and the watchers
	root     *node
	used     int // bytes of the contents that have a name
	watchers map[*node][]*watcher
}

// node is a file, a directory (with entries), a symbolic link (with target), a device (with device) or a program (with program, its name).
type node struct {
	mode     fs.FileMode
	modified time.Time
	owner    string
	data     []byte
	entries  map[string]*node
	target   string
	metadata map[string]string
	device   description
	program  string
	links    int    // entries that name it; 0 once it is removed from the tree
	parent   *node  // the directory of the first of these entries, nil if only others are left
	name     string // of the entry in parent
}

// superuser owns what belongs to no user.
const superuser = "root"

// accounts are the users and their homes.
var accounts = map[string]string{superuser: "/root", "user": "/home/user"} //nolint:gochecknoglobals // read only

// newFileSystem creates the tree of a fresh sandbox, with the programs in /bin and /usr/bin.
func newFileSystem(programs []string) *fileSystem {
	f := &fileSystem{root: newDir(superuser), watchers: make(map[*node][]*watcher)}
	f.root.links = 1
	for _, dir := range []string{
		"/home/user", "/root", "/sbin", "/tmp", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/var/tmp",
	} {
		f.mkdirAll(dir)
	}
	f.mkdirAll("/home/user").owner = "user"
	f.mkdirAll("/tmp").mode |= fs.ModeSticky | 0o777
	f.mkdirAll("/var/tmp").mode |= fs.ModeSticky | 0o777
	for _, dir := range []string{"/bin", "/usr/bin"} {
		at := f.mkdirAll(dir)
		for _, name := range programs {
			f.put(at, name, &node{mode: 0o755, owner: superuser, program: name, data: []byte("virtual program " + name + "\n"), modified: time.Now()})
		}
	}
	dev, etc := f.mkdirAll("/dev"), f.mkdirAll("/etc")
	for name, device := range map[string]description{"null": null{}, "tty": null{}, "zero": zero{}} {
		f.put(dev, name, &node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o666, owner: superuser, device: device, modified: time.Now()})
	}
	f.put(etc, "hostname", newText("sandbox\n", superuser))
	f.put(etc, "passwd", newText("root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n", superuser))
	return f
}

func newDir(owner string) *node {
	return &node{mode: fs.ModeDir | 0o755, owner: owner, entries: make(map[string]*node), modified: time.Now()}
}

func newText(s, owner string) *node {
	return &node{mode: 0o644, owner: owner, data: []byte(s), modified: time.Now()}
}

// mkdirAll finds or creates a directory and its parents, in a tree without links.
func (f *fileSystem) mkdirAll(name string) *node {
	at := f.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		next := at.entries[part]
		if next == nil {
			next = newDir(superuser)
			f.put(at, part, next)
		}
		at = next
	}
	return at
}

func (f *fileSystem) stat(name string) (fs.FileInfo, error)  { return f.info(name, follow) }
func (f *fileSystem) lstat(name string) (fs.FileInfo, error) { return f.info(name, itself) }

func (f *fileSystem) info(name string, end ending) (fs.FileInfo, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at, err := f.existing(name, end)
	if err != nil {
		return nil, err
	}
	return at.node.info(path.Base(name)), nil
}

// fits reports whether there is space for n more bytes. The caller holds mu.
func (f *fileSystem) fits(n int) bool { return f.used+n <= maxFiles }

// add puts a new node into a directory, unless the file system is full. The caller holds mu.
func (f *fileSystem) add(dir *node, base string, n *node) error {
	if !f.fits(len(n.data)) {
		return syscall.ENOSPC
	}
	f.put(dir, base, n)
	f.notify(dir, base, filetree.Created)
	return nil
}

// put puts a new node into a directory and counts it.
func (f *fileSystem) put(dir *node, base string, n *node) {
	f.used += len(n.data)
	f.attach(dir, base, n)
}

// attach puts a node that is counted into a directory.
func (f *fileSystem) attach(dir *node, base string, n *node) {
	dir.entries[base] = n
	dir.modified = time.Now()
	if n.links++; n.parent == nil {
		n.parent, n.name = dir, base
	}
}

// detach removes an entry, not what it names.
func (f *fileSystem) detach(dir *node, base string) {
	n := dir.entries[base]
	delete(dir.entries, base)
	dir.modified = time.Now()
	if n.links--; n.parent == dir && n.name == base {
		n.parent, n.name = nil, ""
	}
}

// drop removes an entry, with everything below it. The caller holds mu.
func (f *fileSystem) drop(dir *node, base string) {
	n := dir.entries[base]
	for _, child := range n.names() {
		f.drop(n, child)
		f.notify(n, child, filetree.Removed)
	}
	f.detach(dir, base)
	if n.links == 0 {
		f.used -= len(n.data)
	}
	f.leave(n, filetree.Removed)
}

// names returns the names in a directory in the order of their bytes.
func (n *node) names() []string {
	if len(n.entries) == 0 {
		return nil
	}
	list := make([]string, 0, len(n.entries))
	for base := range n.entries {
		list = append(list, base)
	}
	slices.Sort(list)
	return list
}

// readDir lists a directory, sorted by name.
func (f *fileSystem) readDir(name string) ([]fs.DirEntry, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at, err := f.existing(name, follow)
	if err != nil {
		return nil, err
	}
	if at.node.entries == nil {
		return nil, syscall.ENOTDIR
	}
	list := make([]fs.DirEntry, 0, len(at.node.entries))
	for _, base := range at.node.names() {
		list = append(list, fs.FileInfoToDirEntry(at.node.entries[base].info(base)))
	}
	return list, nil
}

func (n *node) info(base string) fs.FileInfo {
	size := int64(len(n.data) + len(n.target))
	return fileInfo{name: base, size: size, mode: n.mode, modified: n.modified, program: n.program, owner: n.owner, target: n.target, links: n.links, node: n}
}

// fileInfo is the result of stat for a node.
type fileInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
	program  string
	owner    string
	target   string
	links    int
	node     *node // its identity
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.modified }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return i.node }
