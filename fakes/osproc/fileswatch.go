//go:build unix

package osproc

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"assay/fakes/tree"
	"assay/internal/base/crash"
)

// maxWatched limits the directories of a recursive watcher.
const maxWatched = 8192

// watcher watches a directory. Its goroutine turns the events of the kernel into ours.
type watcher struct {
	*tree.Queue
	files     *files
	notify    *fsnotify.Watcher
	reported  string // the path that events begin with
	rel       string // the directory
	recursive bool

	// Only the goroutine uses these, once it runs.
	dirs    map[string]bool // what is watched, from the root
	uploads map[string]byte // directories in which an upload is about to get its name
}

func (t *files) Watch(name string, recursive bool) (tree.Watcher, error) {
	at, err := t.existing(name, follow)
	if err == nil && !at.info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, failure("watch", name, err)
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, failure("watch", name, err)
	}
	w := &watcher{
		Queue: &tree.Queue{}, files: t, notify: notify, reported: path.Clean(name), rel: at.rel, recursive: recursive,
		dirs: make(map[string]bool), uploads: make(map[string]byte),
	}
	if err := w.add(at.rel, false); err != nil {
		_ = notify.Close()
		return nil, failure("watch", name, err)
	}
	crash.Go(w.run)
	return w, nil
}

// Close ends the watcher.
func (w *watcher) Close() {
	_ = w.notify.Close()
	w.Queue.Close()
}

// add watches a directory and, if recursive, all below it. With found it reports what the directory holds, which came before the watch.
func (w *watcher) add(rel string, found bool) error {
	if len(w.dirs) >= maxWatched {
		return syscall.ENOSPC
	}
	before, err := w.files.root.Lstat(rel)
	if err != nil {
		return err
	}
	host := w.host(rel)
	if err := w.notify.Add(host); err != nil {
		return err
	}
	// The kernel has followed every link on the way: it must be the same directory.
	if after, err := os.Lstat(host); err != nil || !os.SameFile(before, after) || !after.IsDir() {
		_ = w.notify.Remove(host)
		return syscall.EACCES
	}
	w.dirs[rel] = true
	if !w.recursive {
		return nil
	}
	names, err := w.files.names(rel)
	for _, base := range names {
		below := path.Join(rel, base)
		if found {
			w.report(tree.Created, below)
		}
		info, err := w.files.root.Lstat(below)
		if err != nil || !info.IsDir() {
			continue
		}
		if err := w.add(below, found); errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return err
}

func (w *watcher) host(rel string) string { return filepath.Join(w.files.real, rel) }

// run reads the events of the kernel until the watcher is closed.
func (w *watcher) run() {
	for {
		select {
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.event(e)
		case err, ok := <-w.notify.Errors:
			switch {
			case !ok:
				return
			case errors.Is(err, fsnotify.ErrEventOverflow):
				w.Fail(fmt.Errorf("too many changes: %w", syscall.EOVERFLOW))
			case err != nil:
				w.Fail(err)
			}
		}
	}
}

func (w *watcher) event(e fsnotify.Event) {
	rel, err := filepath.Rel(w.files.real, e.Name)
	if err != nil || e.Name == "" {
		return
	}
	if base := path.Base(rel); isUpload(base) {
		if e.Has(fsnotify.Rename) {
			w.uploads[path.Dir(rel)] = base[len(uploadPrefix)]
		}
		return
	}
	switch {
	case e.Has(fsnotify.Create):
		w.created(rel)
	case e.Has(fsnotify.Write):
		w.report(tree.Written, rel)
	case e.Has(fsnotify.Remove):
		w.forget(rel)
		w.report(tree.Removed, rel)
	case e.Has(fsnotify.Rename):
		w.forget(rel)
		w.report(tree.Renamed, rel)
	case e.Has(fsnotify.Chmod):
		w.report(tree.Changed, rel)
	}
}

// created reports a new entry. The first one after an upload has lost its name is that upload: the kernel locks the directory meanwhile.
func (w *watcher) created(rel string) {
	kind := w.uploads[path.Dir(rel)]
	delete(w.uploads, path.Dir(rel))
	if kind != uploadOver {
		w.report(tree.Created, rel)
	}
	if kind != 0 {
		w.report(tree.Changed, rel)
		if kind != uploadEmpty {
			w.report(tree.Written, rel)
		}
		return
	}
	if !w.recursive {
		return
	}
	if info, err := w.files.root.Lstat(rel); err == nil && info.IsDir() {
		if err := w.add(rel, true); errors.Is(err, syscall.ENOSPC) {
			w.Fail(fmt.Errorf("too many directories: %w", syscall.EOVERFLOW))
		}
	}
}

// forget stops watching a directory that is gone, and all below it.
func (w *watcher) forget(rel string) {
	if !w.dirs[rel] {
		return
	}
	for dir := range w.dirs {
		if dir == rel || strings.HasPrefix(dir, rel+"/") || rel == "." {
			_ = w.notify.Remove(w.host(dir)) // the kernel may have done it
			delete(w.dirs, dir)
		}
	}
}

// report keeps an event for the reader, under the path that was asked for.
func (w *watcher) report(op tree.Op, rel string) {
	name := w.reported
	switch {
	case rel == w.rel:
	case w.rel == ".":
		name = path.Join(name, rel)
	default:
		name = path.Join(name, strings.TrimPrefix(rel, w.rel+"/"))
	}
	w.Add(tree.Event{Op: op, Path: name})
}
