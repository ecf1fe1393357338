//go:build unix

package osproc_test

import (
	"context"
	"errors"
	"io"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"assay/fakes/tree"
	"assay/fakes/virtual"
)

// TestBothKindsKeepATree runs one table of tests on the files in memory and on the disk.
func TestBothKindsKeepATree(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	onDisk := func(t *testing.T) box {
		s, dir, _ := home(t)
		return boxIn(t, s.Files(), kind{start: func(spec virtual.Spec) (process, error) { return s.Start(spec) }}, filepath.Join(dir, "box"), me.Username)
	}
	inMemory := func(t *testing.T) box {
		s := virtual.New(virtual.Options{})
		t.Cleanup(s.KillAll)
		return boxIn(t, s.Files(), kind{start: func(spec virtual.Spec) (process, error) { return s.Start(spec) }}, "/home/user/box", "user")
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, b box)
	}{
		{"a new content is seen as a whole and belongs to its user", newContent},
		{"an upload that is aborted leaves nothing", aborted},
		{"a new content keeps the mode and replaces the metadata", replaced},
		{"a reader keeps the content that it opened", reader},
		{"a content is written through links, also where they lead to nothing", throughLinks},
		{"a directory is listed in the order of bytes, whatever the names", listing},
		{"commands and files see each other", commands},
		{"links are resolved, and a loop is refused", links},
		{"paths that lead nowhere are refused", paths},
		{"a rename moves an entry and replaces only files", renames},
		{"a removal takes everything below, and of a link the link", removals},
		{"events of commands come in order", commandEvents},
		{"events of the tree come in order", treeEvents},
		{"a recursive watch sees new directories, a plain one does not", recursion},
		{"a directory that is moved away reports no more", movedAway},
		{"the watched directory reports its own end", watchedGone},
		{"a watch of a link reports the path of the link", watchedLink},
		{"a closed watcher ends", closedWatcher},
	} {
		t.Run("os/"+c.name, func(t *testing.T) { c.run(t, onDisk(t)) })
		t.Run("virtual/"+c.name, func(t *testing.T) { c.run(t, inMemory(t)) })
	}
}

// boxIn makes the directory of a box, in which a kind of processes runs.
func boxIn(t *testing.T, tr tree.Tree, k kind, dir, owner string) box {
	t.Helper()
	if err := tr.Mkdir(dir, owner); err != nil {
		t.Fatal(err)
	}
	return box{Tree: tr, Dir: dir, User: owner, Shell: func(t *testing.T, text string) string {
		t.Helper()
		return scriptOf(t, k, virtual.Spec{Dir: dir, User: owner}, text)
	}}
}

// box is a tree to test.
type box struct {
	Tree tree.Tree
	// Dir is an empty directory in it.
	Dir string
	// User owns what the test creates.
	User string
	// Shell runs a script of sh in Dir, as User, and returns its stdout.
	Shell func(t *testing.T, script string) string
}

// put gives a file a content.
func (b box) put(t *testing.T, name, text string) {
	t.Helper()
	u, err := b.Tree.Create(b.Dir+"/"+name, b.User)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := io.WriteString(u, text); err != nil {
		t.Fatal(err)
	}
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
}

// text returns the content of a file.
func (b box) text(t *testing.T, name string) string {
	t.Helper()
	f, err := b.Tree.Open(b.Dir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func (b box) entry(t *testing.T, name string) tree.Entry {
	t.Helper()
	e, err := b.Tree.Lstat(b.Dir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// names returns the names in a directory.
func (b box) names(t *testing.T, name string) string {
	t.Helper()
	list, err := b.Tree.ReadDir(b.Dir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// refused checks that an error wraps one of these numbers.
func refused(t *testing.T, what string, err error, want ...syscall.Errno) {
	t.Helper()
	if !slices.ContainsFunc(want, func(no syscall.Errno) bool { return errors.Is(err, no) }) {
		t.Errorf("%s: %v, want one of %q", what, err, want)
	}
}

// watch watches Dir/name.
func (b box) watch(t *testing.T, name string, recursive bool) tree.Watcher {
	t.Helper()
	w, err := b.Tree.Watch(b.Dir+"/"+name, recursive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// until returns the events up to the first one that is last, each as "OP path" with the path below Dir. An event that repeats its predecessor is left out.
func (b box) until(t *testing.T, w tree.Watcher, last string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	for {
		e, err := w.Next(ctx)
		if err != nil {
			t.Fatalf("no event %q after %q: %v", last, got, err)
		}
		line := string(e.Op) + " " + strings.TrimPrefix(strings.TrimPrefix(e.Path, b.Dir), "/")
		if len(got) == 0 || got[len(got)-1] != line {
			got = append(got, line)
		}
		if line == last {
			return got
		}
	}
}
