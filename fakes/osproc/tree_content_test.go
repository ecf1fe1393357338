//go:build unix

package osproc_test

import (
	"io"
	"io/fs"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newContent(t *testing.T, b box) {
	u, err := b.Tree.Create(b.Dir+"/new", b.User)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := io.WriteString(u, "part\n"); err != nil {
			t.Fatal(err)
		}
	}
	u.SetMetadata(map[string]string{"k": "v"})
	if got := b.names(t, ""); got != "" {
		t.Errorf("before Commit the directory holds %q", got)
	}
	if err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	u.Abort() // does nothing
	e := b.entry(t, "new")
	if e.Name != "new" || e.Size != 15 || e.Mode != 0o644 || e.Owner != b.User || e.Group == "" || e.Metadata["k"] != "v" || len(e.Metadata) != 1 {
		t.Errorf("%+v", e)
	}
	if age := time.Since(e.Modified); age < -time.Minute || age > time.Hour {
		t.Errorf("modified %v", e.Modified)
	}
	if got := b.text(t, "new"); got != "part\npart\npart\n" {
		t.Errorf("content %q", got)
	}
	if err := u.Commit(); err == nil {
		t.Error("a second Commit succeeds")
	}
	if _, err := u.Write([]byte("x")); err == nil {
		t.Error("a Write after Commit succeeds")
	}
}

func aborted(t *testing.T, b box) {
	b.put(t, "old", "old")
	for _, name := range []string{"old", "new"} {
		u, err := b.Tree.Create(b.Dir+"/"+name, b.User)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(u, "half")
		u.Abort()
		if err := u.Commit(); err == nil {
			t.Error("Commit after Abort succeeds")
		}
	}
	if got := b.names(t, "") + " " + b.Shell(t, "ls -A; cat old"); got != "old old\nold" {
		t.Errorf("left: %q", got)
	}
}

func replaced(t *testing.T, b box) {
	b.Shell(t, "echo first >a; chmod 750 a")
	for _, pairs := range []map[string]string{{"one": "1", "two": "a b"}, {"two": "2"}, nil} {
		u, err := b.Tree.Create(b.Dir+"/a", b.User)
		if err != nil {
			t.Fatal(err)
		}
		u.SetMetadata(pairs)
		_, _ = io.WriteString(u, "next")
		if err := u.Commit(); err != nil {
			t.Fatal(err)
		}
		if e := b.entry(t, "a"); e.Mode != 0o750 || !maps.Equal(e.Metadata, pairs) {
			t.Errorf("with metadata %v: %+v", pairs, e)
		}
	}
	if got := b.Shell(t, "cat a; ls"); got != "nexta\n" {
		t.Errorf("a shell sees %q", got)
	}
}

func reader(t *testing.T, b box) {
	b.put(t, "a", "0123456789")
	f, err := b.Tree.Open(b.Dir + "/a")
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, "a", "new")
	if at, err := f.Seek(-4, io.SeekEnd); at != 6 || err != nil {
		t.Errorf("Seek: %d, %v", at, err)
	}
	if got, err := io.ReadAll(f); string(got) != "6789" || err != nil || f.Entry().Size != 10 {
		t.Errorf("%q, %v, %+v", got, err, f.Entry())
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("a negative offset is accepted")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Read(make([]byte, 1)); err == nil {
		t.Error("a closed file can be read")
	}
}

func throughLinks(t *testing.T, b box) {
	b.Shell(t, "mkdir d; echo old >d/file; ln -s d/file one; ln -s one two; ln -s d/none dangling; ln -s d way; ln -s $PWD/d/file absolute")
	for _, name := range []string{"two", "dangling", "way/other", "absolute"} {
		b.put(t, name, "by "+name)
	}
	want := "d/file: by absolute d/none: by dangling d/other: by way/other link <none> "
	got := b.Shell(t, `for f in file none other; do echo -n "d/$f: "; cat d/$f; echo -n " "; done; [ -L one ] && echo -n "link "; [ -L dangling ] && echo -n "<none> "`)
	if got != want {
		t.Errorf("a shell sees %q, want %q", got, want)
	}
	for name, no := range map[string]syscall.Errno{"way": syscall.EISDIR, "d": syscall.EISDIR, "no/file": syscall.ENOENT, "d/file/x": syscall.ENOTDIR, "new/": syscall.EISDIR} {
		_, err := b.Tree.Create(b.Dir+"/"+name, b.User)
		refused(t, "create "+name, err, no)
	}
	if got := b.names(t, "d"); got != "file none other" {
		t.Errorf("left: %q", got)
	}
}

func listing(t *testing.T, b box) {
	names := []string{"é", "a\nb", ".h", "B", "a", "10", "9", "e\u0301", "q'\"\\", "\u2028", "\xff\xfe", strings.Repeat("n", 255)}
	for _, name := range names {
		b.put(t, name, "x")
	}
	if err := b.Tree.Mkdir(b.Dir+"/sub", b.User); err != nil {
		t.Fatal(err)
	}
	b.put(t, "sub/below", "x")
	want := []string{".h", "10", "9", "B", "a", "a\nb", "e\u0301", strings.Repeat("n", 255), "q'\"\\", "sub", "é", "\u2028", "\xff\xfe"}
	list, err := b.Tree.ReadDir(b.Dir)
	if err != nil || len(list) != len(want) {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	for i, e := range list {
		if e.Name != want[i] {
			t.Errorf("entry %d is %q, want %q", i, e.Name, want[i])
		}
		if dir := e.Name == "sub"; dir != e.Mode.IsDir() || !dir && (e.Size != 1 || e.Owner != b.User) {
			t.Errorf("%+v", e)
		}
	}
	b.Shell(t, "ln -s sub way")
	if got := b.names(t, "way") + b.names(t, "way/"); got != "belowbelow" {
		t.Errorf("through a link: %q", got)
	}
	_, err = b.Tree.ReadDir(b.Dir + "/a")
	refused(t, "list a file", err, syscall.ENOTDIR)
	_, err = b.Tree.ReadDir(b.Dir + "/none")
	refused(t, "list nothing", err, syscall.ENOENT)
}

func commands(t *testing.T, b box) {
	b.Shell(t, "echo by command >c; mkdir -p x/y; chmod 640 c; ln -s c l; ln c hard")
	if got := b.text(t, "c") + b.text(t, "l") + b.text(t, "hard"); got != "by command\nby command\nby command\n" {
		t.Errorf("content %q", got)
	}
	if e := b.entry(t, "c"); e.Mode != 0o640 || e.Owner != b.User {
		t.Errorf("%+v", e)
	}
	if e := b.entry(t, "l"); e.Mode.Type() != fs.ModeSymlink || e.Size != 1 {
		t.Errorf("%+v", e)
	}
	b.put(t, "x/y/f", "by tree")
	if got := b.Shell(t, "cat x/y/f; wc -c <x/y/f; rm -r x c; ls"); got != "by tree7\nhard\nl\n" {
		t.Errorf("a shell sees %q", got)
	}
	if got := b.text(t, "hard"); got != "by command\n" {
		t.Errorf("a second link holds %q", got)
	}
	if _, err := b.Tree.Open(b.Dir + "/l"); err == nil {
		t.Error("a link to a removed file can be opened")
	}
}
