//go:build unix

package osproc_test

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"assay/fakes/tree"
)

// calls are all operations that take one path.
func calls(tr tree.Tree) map[string]func(name string) error {
	return map[string]func(name string) error{
		"Lstat":   func(name string) error { _, err := tr.Lstat(name); return err },
		"Resolve": func(name string) error { _, err := tr.Resolve(name); return err },
		"ReadDir": func(name string) error { _, err := tr.ReadDir(name); return err },
		"Open":    func(name string) error { _, err := tr.Open(name); return err },
		"Create":  func(name string) error { _, err := tr.Create(name, "root"); return err },
		"Mkdir":   func(name string) error { return tr.Mkdir(name, "root") },
		"Rename":  func(name string) error { return tr.Rename(name, name+"x") },
		"Watch":   func(name string) error { _, err := tr.Watch(name, true); return err },
	}
}

func paths(t *testing.T, b box) {
	b.Shell(t, "echo x >file; mkdir d; ln -s loop loop; ln -s none dangling")
	for _, c := range []struct {
		path string
		want syscall.Errno
	}{
		{b.Dir + "/none/below", syscall.ENOENT},
		{b.Dir + "/file/below", syscall.ENOTDIR},
		{b.Dir + "/file/..", syscall.ENOTDIR},
		{b.Dir + "/loop/below", syscall.ELOOP},
		{b.Dir + "/dangling/below", syscall.ENOENT},
		{b.Dir + "/a\x00b", syscall.EINVAL},
		{b.Dir + "/" + strings.Repeat("n", 256), syscall.ENAMETOOLONG},
		{b.Dir + strings.Repeat("/n", 2500), syscall.ENAMETOOLONG},
		{b.Dir + strings.Repeat("/.", 2500), syscall.ENAMETOOLONG},
	} {
		for name, call := range calls(b.Tree) {
			refused(t, name+" "+c.path[len(b.Dir):min(len(c.path), len(b.Dir)+20)], call(c.path), c.want)
		}
		if c.want != syscall.ENOENT {
			refused(t, "RemoveAll", b.Tree.RemoveAll(c.path), c.want)
		}
	}
	for _, odd := range []string{"//d", "/./d", "/d/", "/d/.", "/d/../d", "//.//d//"} {
		if e, err := b.Tree.Lstat(b.Dir + odd); err != nil || !e.Mode.IsDir() {
			t.Errorf("%s: %+v, %v", odd, e, err)
		}
	}
	for name, want := range map[string]syscall.Errno{"file": syscall.EEXIST, "d": syscall.EEXIST, "d/": syscall.EEXIST, "d/.": syscall.EEXIST, "loop": syscall.EEXIST, "dangling": syscall.EEXIST} {
		refused(t, "mkdir "+name, b.Tree.Mkdir(b.Dir+"/"+name, b.User), want)
	}
	if err := b.Tree.Mkdir(b.Dir+"/new/", b.User); err != nil {
		t.Error(err)
	}
	if e := b.entry(t, "new"); e.Mode != fs.ModeDir|0o755 || e.Owner != b.User {
		t.Errorf("%+v", e)
	}
}

func links(t *testing.T, b box) {
	b.Shell(t, `mkdir -p d/e; echo x >d/f; ln -s d way; ln -s ../f d/e/up; ln -s "$PWD/d/e" abs; ln -s none dangling; ln -s b a; ln -s a b
		i=0; to=d/f; while [ $i -lt 45 ]; do ln -s $to l$i; to=l$i; i=$((i+1)); done`)
	dir, err := b.Tree.Resolve(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"": "", "way": "/d", "way/": "/d", "way/f": "/d/f", "way/e/up": "/d/f", "abs": "/d/e", "abs/up": "/d/f", "abs/..": "/d", "way/..": "", "d/./e/../f": "/d/f", "l39": "/d/f",
	} {
		if got, err := b.Tree.Resolve(b.Dir + "/" + name); err != nil || got != dir+want {
			t.Errorf("%s resolves to %q, %v, want %q", name, got, err, dir+want)
		}
	}
	for name, want := range map[string]syscall.Errno{"dangling": syscall.ENOENT, "a": syscall.ELOOP, "a/x": syscall.ELOOP, "l44": syscall.ELOOP} {
		_, err := b.Tree.Resolve(b.Dir + "/" + name)
		refused(t, "resolve "+name, err, want)
		_, err = b.Tree.Open(b.Dir + "/" + name)
		refused(t, "open "+name, err, want)
	}
	for _, name := range []string{"way", "a", "dangling", "l44"} {
		if e := b.entry(t, name); e.Mode.Type() != fs.ModeSymlink {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if e := b.entry(t, "way/"); !e.Mode.IsDir() {
		t.Errorf("way/: %+v", e)
	}
}

func renames(t *testing.T, b box) {
	b.Shell(t, "echo 1 >f; echo 2 >g; mkdir -p d/sub e; echo x >e/x; ln -s d way")
	for _, c := range []struct {
		from, to string
		want     []syscall.Errno
	}{
		{"none", "x", []syscall.Errno{syscall.ENOENT}},
		{"f", "none/x", []syscall.Errno{syscall.ENOENT}},
		{"f", "g/x", []syscall.Errno{syscall.ENOTDIR}},
		{"f", "d", []syscall.Errno{syscall.EISDIR}},
		{"d", "f", []syscall.Errno{syscall.ENOTDIR}},
		{"d", "e", []syscall.Errno{syscall.ENOTEMPTY}},
		{"e", "d/sub", []syscall.Errno{syscall.EEXIST}},
		{"d", "d/sub/x", []syscall.Errno{syscall.EINVAL}},
		{"d", "d/x", []syscall.Errno{syscall.EINVAL}},
		{"d", "way/x", []syscall.Errno{syscall.EINVAL}},
		{"f", "x/", []syscall.Errno{syscall.ENOTDIR}},
		{"f/", "x", []syscall.Errno{syscall.ENOTDIR}},
		{"d/.", "x", []syscall.Errno{syscall.EBUSY, syscall.EINVAL}},
	} {
		refused(t, c.from+" to "+c.to, b.Tree.Rename(b.Dir+"/"+c.from, b.Dir+"/"+c.to), c.want...)
	}
	for _, c := range [][2]string{{"f", "f"}, {"d", "d"}, {"f", "g"}, {"way", "link"}, {"e", "way/sub/e"}, {"g", "d/new"}, {"d", "moved/"}} {
		dir := strings.Contains(c[1], "way/sub")
		if dir {
			b.Shell(t, "ln -s d way")
		}
		if err := b.Tree.Rename(b.Dir+"/"+c[0], b.Dir+"/"+c[1]); err != nil {
			t.Errorf("%s to %s: %v", c[0], c[1], err)
		}
	}
	if got := b.Shell(t, "rm way; ls; cat moved/new moved/sub/e/x; [ -L link ] && echo is a link"); got != "link\nmoved\n1\nx\nis a link\n" {
		t.Errorf("a shell sees %q", got)
	}
}

func removals(t *testing.T, b box) {
	b.Shell(t, "mkdir -p d/e/f; echo x >d/e/x; echo y >keep; ln -s d way; ln -s ../keep d/out; ln -s none dangling")
	for _, name := range []string{"way/", "dangling", "none", "none/below", "none/"} {
		if err := b.Tree.RemoveAll(b.Dir + "/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := b.names(t, "") + b.names(t, "d"); got != "d keepe out" {
		t.Errorf("left: %q", got)
	}
	for name, want := range map[string]syscall.Errno{"keep/x": syscall.ENOTDIR, "d/.": syscall.EINVAL, "d/e/..": syscall.EINVAL} {
		refused(t, "remove "+name, b.Tree.RemoveAll(b.Dir+"/"+name), want)
	}
	if err := b.Tree.RemoveAll(b.Dir + "/d/"); err != nil {
		t.Error(err)
	}
	if got := b.names(t, "") + b.text(t, "keep"); got != "keepy\n" {
		t.Errorf("left: %q", got)
	}
	for _, name := range []string{"/", "/../", "/dev"} {
		refused(t, "remove "+name, b.Tree.RemoveAll(name), syscall.EBUSY, syscall.EACCES)
		refused(t, "move "+name, b.Tree.Rename(name, b.Dir+"/x"), syscall.EBUSY, syscall.EACCES)
	}
}
