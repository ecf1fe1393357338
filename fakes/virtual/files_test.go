package virtual

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	filetree "assay/fakes/tree"
)

func TestAFullSandboxRefusesContentAndKeepsTheOld(t *testing.T) {
	t.Parallel()
	s := system(t)
	tr := s.Files()
	put := func(name, text string) error {
		u, err := tr.Create(name, "user")
		if err != nil {
			t.Fatal(err)
		}
		defer u.Abort()
		if _, err := io.WriteString(u, text); err != nil {
			return err
		}
		return u.Commit()
	}
	if err := put("/tmp/a", "old"); err != nil {
		t.Fatal(err)
	}
	s.fs.used += maxFiles - 100
	for _, name := range []string{"/tmp/a", "/tmp/b"} {
		if err := put(name, strings.Repeat("x", 200)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := run(t, s, Spec{Argv: sh("cat /tmp/a; seq 1 100 >/tmp/a")}, ""); got.stdout != "old" || got.status.Code != 1 {
		t.Errorf("%+v", got)
	}
	s.fs.used -= maxFiles - 100
	if err := errors.Join(put("/tmp/a", "new"), tr.RemoveAll("/tmp/a")); err != nil {
		t.Fatal(err)
	}
	filesAreCounted(t, s.fs)
}

func TestTheRootAndDevicesStay(t *testing.T) {
	t.Parallel()
	tr := system(t).Files()
	for _, name := range []string{"/", "/dev", "/dev/", "/tmp/.."} {
		if err := tr.RemoveAll(name); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("remove %s: %v", name, err)
		}
		if err := tr.Rename(name, "/tmp/x"); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("move %s: %v", name, err)
		}
	}
	if err := tr.RemoveAll("/home/user"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"/dev/null", "/dev/zero"} {
		if _, err := tr.Open(name); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("open %s: %v", name, err)
		}
		if _, err := tr.Create(name, "user"); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("create %s: %v", name, err)
		}
	}
}

func TestUsersHaveHomesAndOwnTheirFiles(t *testing.T) {
	t.Parallel()
	s := system(t)
	tr := s.Files()
	for user, home := range map[string]string{"root": "/root", "user": "/home/user"} {
		if got, ok := tr.Home(user); got != home || !ok {
			t.Errorf("home of %s: %q, %v", user, got, ok)
		}
		run(t, s, Spec{Argv: sh("touch f; mkdir d; ln -s f l; touch g"), User: user}, "")
		list, err := tr.ReadDir(home)
		if err != nil || len(list) != 4 {
			t.Errorf("%d entries, %v", len(list), err)
		}
		for _, e := range list {
			if e.Owner != user || e.Group != user {
				t.Errorf("%+v", e)
			}
		}
	}
	for _, user := range []string{"", "nobody", "root/x"} {
		if dir, ok := tr.Home(user); ok {
			t.Errorf("%q has the home %q", user, dir)
		}
	}
	if e, err := tr.Lstat("/"); err != nil || e.Name != "/" || e.Owner != "root" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := tr.Lstat("/tmp"); err != nil || e.Mode != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestWatchersAreBoundedAndCostNothingOnceClosed(t *testing.T) {
	t.Parallel()
	s := system(t)
	tr := s.Files()
	var open []filetree.Watcher
	for range maxWatchers {
		w, err := tr.Watch("/tmp", true)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, w)
	}
	if _, err := tr.Watch("/root", false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("one too many: %v", err)
	}
	run(t, s, Spec{Argv: sh("touch /tmp/f")}, "")
	for _, w := range open {
		if got := w.Pending(); len(got) != 2 {
			t.Fatalf("%+v", got)
		}
		w.Close()
	}
	if len(s.fs.watchers) != 0 {
		t.Errorf("%d directories are still watched", len(s.fs.watchers))
	}
}

func TestAWatcherThatNobodyReadsOverflows(t *testing.T) {
	t.Parallel()
	s := system(t)
	w, err := s.Files().Watch("/tmp", false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range filetree.MaxEvents/2 + 1 {
		name := "/tmp/" + []string{"a", "b"}[i%2]
		if err := errors.Join(s.fs.mkdir(name, "user"), s.fs.remove(name, true)); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Pending(); len(got) != filetree.MaxEvents {
		t.Errorf("%d events are kept", len(got))
	}
	if _, err := w.Next(t.Context()); !errors.Is(err, syscall.EOVERFLOW) {
		t.Error(err)
	}
}
