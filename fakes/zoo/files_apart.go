package zoo

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/fakes/tree"
	"assay/internal/base/crash"
	"assay/internal/envd/filesystem"
)

// apartFaults returns the faults in which commands and file calls do not see the same files.
func apartFaults() []fault {
	return []fault{
		{Fault{
			ID:     "reads-cached",
			Title:  "A file that was read once is read from a cache, which commands do not clear",
			Breaks: []string{"sandbox.files.command-writes"},
			Source: "gateways with a cache of objects in front of the disk",
		}, onTree(func(next tree.Tree) tree.Tree { return &cachedReads{Tree: next} })},
		{Fault{
			ID:     "uploads-written-back",
			Title:  "Commands see an upload two seconds later, or when the next file call in its folder comes",
			Breaks: []string{"sandbox.files.command-reads", "files.write.process"},
			Source: "storage that is mounted with write-back",
		}, onTree(func(next tree.Tree) tree.Tree { return &writtenBack{next: next} })},
		{Fault{
			ID:     "upload-replaces-link",
			Title:  "An upload to a link replaces the link",
			Breaks: []string{"sandbox.files.link-written"},
			Source: "gateways that write a temporary file and rename it",
		}, onTree(func(next tree.Tree) tree.Tree { return unlinking{next} })},
		{Fault{
			ID:     "entry-mode-fixed",
			Title:  "The mode of every file is 0644",
			Breaks: []string{"sandbox.files.mode-shared"},
			Source: "gateways that keep files in an object store",
		}, onEntry(func(e *filesystem.EntryInfo) {
			if e.GetType() == filesystem.FileType_FILE_TYPE_FILE && e.SymlinkTarget == nil {
				e.Mode, e.Permissions = 0o644, fs.FileMode(0o644).String()
			}
		})},
		{Fault{
			ID:     "link-target-relative",
			Title:  "The target of a link is relative to the directory of the link",
			Breaks: []string{"sandbox.files.link-seen", "filesystem.stat.link"},
			Source: "gateways that return what readlink returns",
		}, onEntry(func(e *filesystem.EntryInfo) {
			if e.SymlinkTarget == nil {
				return
			}
			if to, err := filepath.Rel(path.Dir(e.GetPath()), e.GetSymlinkTarget()); err == nil {
				e.SymlinkTarget = &to
			}
		})},
		{Fault{
			ID:     "entries-cached",
			Title:  "An entry that was asked for once is kept until a file call changes it",
			Breaks: []string{"sandbox.files.removal-shared"},
			Source: "gateways with a cache of attributes",
		}, onTree(func(next tree.Tree) tree.Tree { return &cachedEntries{Tree: next} })},
		{Fault{
			ID:     "watch-own-changes",
			Title:  "A watch reports only what file calls change",
			Breaks: []string{"sandbox.files.watch-sees-commands", "filesystem.watch.process"},
			Source: "gateways that report events from their own handlers",
		}, onTree(func(next tree.Tree) tree.Tree { return &ownChanges{Tree: next} })},
	}
}

// cachedReads keeps the content of files that were read.
type cachedReads struct {
	tree.Tree
	content notes[cachedFile]
}

// cachedFile is a file as it was.
type cachedFile struct {
	*bytes.Reader
	entry tree.Entry
	text  []byte
}

func (f cachedFile) Entry() tree.Entry { return f.entry }
func (f cachedFile) Close() error      { return nil }

func (t *cachedReads) Open(name string) (tree.File, error) {
	kept, ok := t.content.get(name)
	if !ok {
		f, err := t.Tree.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		kept.entry = f.Entry()
		if kept.text, err = io.ReadAll(f); err != nil {
			return nil, err
		}
		t.content.put(name, kept)
	}
	kept.Reader = bytes.NewReader(kept.text)
	return kept, nil
}

// clear forgets everything.
func (t *cachedReads) clear() { t.content.drop(func(string, cachedFile) bool { return true }) }

func (t *cachedReads) Create(name, user string) (tree.Upload, error) {
	u, err := t.Tree.Create(name, user)
	return afterCommit{u, t.clear}, err
}

func (t *cachedReads) Rename(from, to string) error {
	defer t.clear()
	return t.Tree.Rename(from, to)
}

func (t *cachedReads) RemoveAll(name string) error {
	defer t.clear()
	return t.Tree.RemoveAll(name)
}

// afterCommit calls a function after the commit of an upload.
type afterCommit struct {
	tree.Upload
	then func()
}

func (u afterCommit) Commit() error {
	defer u.then()
	return u.Upload.Commit()
}

// cachedEntries keeps the entries that were found.
type cachedEntries struct {
	tree.Tree
	entries notes[tree.Entry]
}

func (t *cachedEntries) Lstat(name string) (tree.Entry, error) {
	if kept, ok := t.entries.get(name); ok {
		return kept, nil
	}
	e, err := t.Tree.Lstat(name)
	if err == nil {
		t.entries.put(name, e)
	}
	return e, err
}

// forget drops a path and everything below it.
func (t *cachedEntries) forget(name string) {
	t.entries.drop(func(kept string, _ tree.Entry) bool { return kept == name || strings.HasPrefix(kept, name+"/") })
}

func (t *cachedEntries) Mkdir(name, user string) error {
	defer t.forget(name)
	return t.Tree.Mkdir(name, user)
}

func (t *cachedEntries) Create(name, user string) (tree.Upload, error) {
	u, err := t.Tree.Create(name, user)
	return afterCommit{u, func() { t.forget(name) }}, err
}

func (t *cachedEntries) Rename(from, to string) error {
	defer t.forget(to)
	defer t.forget(from)
	return t.Tree.Rename(from, to)
}

func (t *cachedEntries) RemoveAll(name string) error {
	defer t.forget(name)
	return t.Tree.RemoveAll(name)
}

// unlinking replaces links by what is uploaded to them.
type unlinking struct{ tree.Tree }

func (t unlinking) Create(name, user string) (tree.Upload, error) {
	if e, err := t.Lstat(name); err != nil || e.Mode&fs.ModeSymlink == 0 {
		return t.Tree.Create(name, user)
	}
	beside := name + ".part"
	u, err := t.Tree.Create(beside, user)
	return replacing{u, func() error {
		if err := t.RemoveAll(name); err != nil {
			return err
		}
		return t.Rename(beside, name)
	}}, err
}

// replacing moves a committed upload to its place.
type replacing struct {
	tree.Upload
	move func() error
}

func (u replacing) Commit() error {
	if err := u.Upload.Commit(); err != nil {
		return err
	}
	return u.move()
}

// writeBack is how long an upload stays unseen.
const writeBack = 2 * time.Second

// writtenBack commits uploads later. Each call commits first what it could see of them, so that the calls see
// each other's changes. Calls elsewhere leave them alone: what others do on the gateway must not hide the fault.
type writtenBack struct {
	next tree.Tree
	mu   sync.Mutex
	late []*lateUpload
}

var _ tree.Tree = (*writtenBack)(nil)

// commit commits the uploads of which seen reports true.
func (t *writtenBack) commit(seen func(*lateUpload) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = slices.DeleteFunc(t.late, func(u *lateUpload) bool {
		if !seen(u) {
			return false
		}
		_ = u.Upload.Commit() // the response has been sent
		return true
	})
}

// at returns the tree for a call about one path: uploads beside and above it are committed.
func (t *writtenBack) at(name string) tree.Tree {
	t.commit(func(u *lateUpload) bool { return within(name, path.Dir(u.name)) })
	return t.next
}

// below returns the tree for a call about a path and everything below it.
func (t *writtenBack) below(name string) tree.Tree {
	t.commit(func(u *lateUpload) bool { return within(u.name, name) })
	return t.at(name)
}

// within reports whether a path is folder or below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

func (t *writtenBack) Home(user string) (string, bool)           { return t.next.Home(user) }
func (t *writtenBack) Lstat(name string) (tree.Entry, error)     { return t.at(name).Lstat(name) }
func (t *writtenBack) Resolve(name string) (string, error)       { return t.at(name).Resolve(name) }
func (t *writtenBack) ReadDir(name string) ([]tree.Entry, error) { return t.below(name).ReadDir(name) }
func (t *writtenBack) Open(name string) (tree.File, error)       { return t.at(name).Open(name) }
func (t *writtenBack) Mkdir(name, user string) error             { return t.at(name).Mkdir(name, user) }
func (t *writtenBack) RemoveAll(name string) error               { return t.below(name).RemoveAll(name) }

func (t *writtenBack) Rename(from, to string) error {
	t.below(from)
	return t.below(to).Rename(from, to)
}

func (t *writtenBack) Watch(name string, recursive bool) (tree.Watcher, error) {
	return t.below(name).Watch(name, recursive)
}

func (t *writtenBack) Create(name, user string) (tree.Upload, error) {
	u, err := t.at(name).Create(name, user)
	if err != nil {
		return nil, err
	}
	return &lateUpload{Upload: u, of: t, name: name}, nil
}

// lateUpload is committed later.
type lateUpload struct {
	tree.Upload
	of        *writtenBack
	name      string
	committed bool
}

func (u *lateUpload) Commit() error {
	u.committed = true
	u.of.mu.Lock()
	defer u.of.mu.Unlock()
	u.of.late = append(u.of.late, u)
	time.AfterFunc(writeBack, func() {
		defer crash.Catch()
		u.of.commit(func(late *lateUpload) bool { return late == u })
	})
	return nil
}

func (u *lateUpload) Abort() {
	if !u.committed {
		u.Upload.Abort()
	}
}

// ownChanges remembers the paths that calls change, and reports only those.
type ownChanges struct {
	tree.Tree
	changed notes[bool]
}

func (t *ownChanges) put(names ...string) {
	for _, name := range names {
		t.changed.put(name, true)
	}
}

// own reports whether a call changed the file, something in it, or moved or removed it with the
// directory that it was in, whose name is put with a slash.
func (t *ownChanges) own(e tree.Event) bool {
	return t.changed.has(func(name string, _ bool) bool {
		return e.Path == name || strings.HasPrefix(name, e.Path+"/") || strings.HasSuffix(name, "/") && strings.HasPrefix(e.Path, name)
	})
}

func (t *ownChanges) Mkdir(name, user string) error {
	t.put(name)
	return t.Tree.Mkdir(name, user)
}

func (t *ownChanges) Create(name, user string) (tree.Upload, error) {
	t.put(name)
	return t.Tree.Create(name, user)
}

func (t *ownChanges) Rename(from, to string) error {
	t.put(from, to, from+"/", to+"/")
	return t.Tree.Rename(from, to)
}

func (t *ownChanges) RemoveAll(name string) error {
	t.put(name, name+"/")
	return t.Tree.RemoveAll(name)
}

func (t *ownChanges) Watch(name string, recursive bool) (tree.Watcher, error) {
	w, err := t.Tree.Watch(name, recursive)
	if err != nil {
		return nil, err
	}
	return someEvents{w, t.own}, nil
}
