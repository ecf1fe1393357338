package treetest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/fakes/tree"
)

// patience limits the wait for an event; it expires only when something is broken.
const patience = 30 * time.Second

// Box is a tree to test.
type Box struct {
	Tree tree.Tree
	// Dir is an empty directory in it.
	Dir string
	// User owns what the test creates.
	User string
	// Shell runs a script of sh in Dir, as User, and returns its stdout.
	Shell func(t *testing.T, script string) string
}

// put gives a file a content.
func (b Box) put(t *testing.T, name, text string) {
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
func (b Box) text(t *testing.T, name string) string {
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

func (b Box) entry(t *testing.T, name string) tree.Entry {
	t.Helper()
	e, err := b.Tree.Lstat(b.Dir + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// names returns the names in a directory.
func (b Box) names(t *testing.T, name string) string {
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
func (b Box) watch(t *testing.T, name string, recursive bool) tree.Watcher {
	t.Helper()
	w, err := b.Tree.Watch(b.Dir+"/"+name, recursive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// until returns the events up to the first one that is last, each as "OP path" with the path below Dir. An event that repeats its predecessor is left out.
func (b Box) until(t *testing.T, w tree.Watcher, last string) []string {
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
