package virtual

import (
	"path"
	"slices"
	"strings"
	"syscall"

	filetree "assay/fakes/tree"
)

// maxWatchers limits the watchers of a system. Linux allows 128 inotify instances for a user.
const maxWatchers = 1024

// watcher watches a directory, as inotify does: the node, wherever it is moved to, under the path that it had. It needs no goroutine.
type watcher struct {
	*filetree.Queue
	fs        *fileSystem
	node      *node
	path      string
	recursive bool
}

// watch starts a watcher.
func (f *fileSystem) watch(name string, recursive bool) (*watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.existing(name, follow)
	if err != nil {
		return nil, err
	}
	if at.node.entries == nil {
		return nil, syscall.ENOTDIR
	}
	n := 0
	for _, list := range f.watchers {
		n += len(list)
	}
	if n >= maxWatchers {
		return nil, syscall.ENOSPC
	}
	w := &watcher{Queue: &filetree.Queue{}, fs: f, node: at.node, path: path.Clean(name), recursive: recursive}
	f.watchers[at.node] = append(f.watchers[at.node], w)
	return w, nil
}

// Close ends the watcher.
func (w *watcher) Close() {
	w.fs.mu.Lock()
	rest := slices.DeleteFunc(w.fs.watchers[w.node], func(other *watcher) bool { return other == w })
	if w.fs.watchers[w.node] = rest; len(rest) == 0 {
		delete(w.fs.watchers, w.node)
	}
	w.fs.mu.Unlock()
	w.Queue.Close()
}

// notify reports a change of an entry to the watchers of its directory and to the recursive ones above. The caller holds mu.
func (f *fileSystem) notify(dir *node, base string, op filetree.Op) {
	if len(f.watchers) == 0 {
		return
	}
	names := []string{base} // from the entry up: a text for each directory above would take long
	for at, n := dir, len(base); at != nil && n < maxPath; at, n = at.parent, n+1+len(at.name) {
		if watchers := f.watchers[at]; len(watchers) > 0 {
			down := slices.Clone(names)
			slices.Reverse(down)
			name := strings.Join(down, "/")
			for _, w := range watchers {
				if at == dir || w.recursive {
					w.Add(filetree.Event{Op: op, Path: join(w.path, name)})
				}
			}
		}
		names = append(names, at.name)
	}
}

// changed reports a change of what a path names, to the watchers of a directory itself as well.
func (f *fileSystem) changed(at place, op filetree.Op) {
	for _, w := range f.watchers[at.node] {
		w.Add(filetree.Event{Op: op, Path: w.path})
	}
	f.wrote(at.node, at.dir, at.base, op)
}

// wrote reports a change of a node that was found as that entry. If the entry has moved, the one that the node has now counts.
func (f *fileSystem) wrote(n, dir *node, base string, op filetree.Op) {
	if len(f.watchers) == 0 {
		return
	}
	if dir == nil || dir.entries[base] != n {
		dir, base = n.parent, n.name
	}
	if dir != nil {
		f.notify(dir, base, op)
	}
}

// leave tells the watchers of a directory that it was removed or moved. They stay silent from then on.
func (f *fileSystem) leave(n *node, op filetree.Op) {
	for _, w := range f.watchers[n] {
		w.Add(filetree.Event{Op: op, Path: w.path})
	}
	delete(f.watchers, n)
}
