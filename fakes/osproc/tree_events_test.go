//go:build unix

package osproc_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
)

// check compares events, of which those about other paths are left out.
func check(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

func commandEvents(t *testing.T, b box) {
	b.Shell(t, "mkdir w outside; echo x >w/old; echo x >outside/in")
	for _, recursive := range []bool{false, true} {
		w := b.watch(t, "w", recursive)
		b.Shell(t, `cd w; : >new; echo x >old; echo y >>old; chmod 600 old; cat old >../read; mkdir d; ln -s old l; ln old h
			mv new moved; mv old moved; mv moved ../out; mv ../outside/in in; rm in l h; rm -r d; rm -f ../outside/in; mv ../out old; mkdir ../outside/x; : >end; rm end`)
		check(t, b.until(t, w, "remove w/end"), []string{
			"create w/new", "write w/old", "chmod w/old", "create w/d", "create w/l", "create w/h",
			"rename w/new", "create w/moved", "rename w/old", "create w/moved", "rename w/moved", "create w/in",
			"remove w/in", "remove w/l", "remove w/h", "remove w/d", "create w/old", "create w/end", "remove w/end",
		})
		if recursive {
			break
		}
		w.Close()
		b.Shell(t, "chmod 644 w/old; rm -r outside/x; echo x >outside/in")
	}
}

func treeEvents(t *testing.T, b box) {
	b.Shell(t, "mkdir w; echo x >w/old")
	w := b.watch(t, "w", false)
	b.put(t, "w/new", "content")
	b.put(t, "w/old", "content")
	if err := errors.Join(b.Tree.Rename(b.Dir+"/w/new", b.Dir+"/w/moved"), b.Tree.RemoveAll(b.Dir+"/w/old"), b.Tree.Mkdir(b.Dir+"/w/end", b.User)); err != nil {
		t.Fatal(err)
	}
	check(t, b.until(t, w, "create w/end"), []string{
		"create w/new", "chmod w/new", "write w/new", "chmod w/old", "write w/old", "rename w/new", "create w/moved", "remove w/old", "create w/end",
	})
	for _, e := range w.Pending() {
		if e.Path != b.Dir+"/w/end" {
			t.Errorf("%+v", e)
		}
	}
}

func recursion(t *testing.T, b box) {
	b.Shell(t, "mkdir -p w/deep/er")
	deep, flat := b.watch(t, "w", true), b.watch(t, "w", false)
	b.Shell(t, "echo x >w/deep/er/f; mkdir w/d")
	got := b.until(t, deep, "create w/d")
	check(t, got, []string{"create w/deep/er/f", "write w/deep/er/f", "create w/d"})
	b.Shell(t, "mkdir -p w/d/e/g; : >w/d/e/g/first")
	seen := b.until(t, deep, "create w/d/e/g/first")
	for _, want := range []string{"create w/d/e", "create w/d/e/g"} {
		if !slices.Contains(seen, want) {
			t.Errorf("no %q in %q", want, seen)
		}
	}
	b.Shell(t, "echo x >w/d/e/g/first; rm w/d/e/g/first; : >w/end")
	if got := b.until(t, deep, "remove w/d/e/g/first"); !slices.Contains(got, "write w/d/e/g/first") {
		t.Errorf("no write in %q", got)
	}
	check(t, b.until(t, flat, "create w/end"), []string{"create w/d", "create w/end"})
}

func movedAway(t *testing.T, b box) {
	b.Shell(t, "mkdir -p w/d/sub")
	w := b.watch(t, "w", true)
	b.Shell(t, "mv w/d away")
	b.until(t, w, "rename w/d")
	b.Shell(t, ": >w/barrier")
	b.until(t, w, "create w/barrier")
	b.Shell(t, ": >away/f; : >away/sub/f; : >w/end")
	check(t, b.until(t, w, "create w/end"), []string{"create w/end"})
	b.Shell(t, "mv away w/back")
	b.until(t, w, "create w/back")
	b.Shell(t, ": >w/barrier2")
	b.until(t, w, "create w/barrier2")
	b.Shell(t, ": >w/back/sub/g")
	b.until(t, w, "create w/back/sub/g")
}

func watchedGone(t *testing.T, b box) {
	for _, recursive := range []bool{false, true} {
		b.Shell(t, "mkdir one two; : >one/f")
		one, two := b.watch(t, "one", recursive), b.watch(t, "two", recursive)
		b.Shell(t, "rm -r one; mv two three")
		check(t, b.until(t, one, "remove one"), []string{"remove one/f", "remove one"})
		check(t, b.until(t, two, "rename two"), []string{"rename two"})
		b.Shell(t, "rm -r three")
	}
}

func watchedLink(t *testing.T, b box) {
	b.Shell(t, "mkdir d; ln -s d way; : >file")
	w := b.watch(t, "way", true)
	b.Shell(t, "mkdir d/sub; : >d/f")
	b.until(t, w, "create way/f")
	if _, err := b.Tree.Watch(b.Dir+"/file", false); err == nil {
		t.Error("a file can be watched")
	}
}

func closedWatcher(t *testing.T, b box) {
	w := b.watch(t, "", true)
	w.Close()
	w.Close()
	if _, err := w.Next(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Next: %v", err)
	}
	b.put(t, "f", "x")
	if got := w.Pending(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
