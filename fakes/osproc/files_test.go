//go:build unix

package osproc_test

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/fakes/osproc"
	"assay/fakes/tree"
	"assay/fakes/virtual"
)

// home returns a system with a home of its own, in a directory with other files.
func home(t *testing.T) (s *osproc.System, dir, outside string) {
	t.Helper()
	outside = t.TempDir()
	dir = filepath.Join(outside, "home")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600), os.Mkdir(filepath.Join(outside, "d"), 0o755)); err != nil {
		t.Fatal(err)
	}
	s = osproc.New(osproc.Options{Home: dir})
	t.Cleanup(s.KillAll)
	return s, dir, outside
}

// script runs a script of sh and returns its stdout.
func script(t *testing.T, s *osproc.System, dir, text string) string {
	t.Helper()
	return scriptOf(t, kind{start: func(spec virtual.Spec) (process, error) { return s.Start(spec) }}, virtual.Spec{Dir: dir}, text)
}

// scriptOf runs a script of sh as a process of a kind.
func scriptOf(t *testing.T, k kind, spec virtual.Spec, text string) string {
	t.Helper()
	got := &screen{}
	spec.Argv, spec.Output = sh(text), got.output
	p, err := k.start(spec)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Drained():
	case <-time.After(patience):
		t.Fatalf("%s does not end", text)
	}
	if got.err.Len() > 0 || p.Status() != (virtual.Status{}) {
		t.Fatalf("%s: %+v, %s", text, p.Status(), got.err.String())
	}
	return got.out.String()
}

// touches are all operations of a tree on a path, as seen from outside.
func touches(tr tree.Tree, name, home string) map[string]error {
	all := make(map[string]error)
	_, all["Lstat"] = tr.Lstat(name)
	_, all["Resolve"] = tr.Resolve(name)
	_, all["ReadDir"] = tr.ReadDir(name)
	_, all["Open"] = tr.Open(name)
	_, all["Create"] = tr.Create(name, "root")
	_, all["Create below"] = tr.Create(name+"/new", "root")
	all["Mkdir"] = tr.Mkdir(name+"/new", "root")
	all["Rename from"] = tr.Rename(name+"/secret", home+"/stolen")
	all["Rename to"] = tr.Rename(home+"/mine", name+"/mine")
	all["RemoveAll"] = tr.RemoveAll(name + "/secret")
	_, all["Watch"] = tr.Watch(name, true)
	return all
}

func TestNothingOutsideTheHomeCanBeReached(t *testing.T) {
	t.Parallel()
	s, dir, outside := home(t)
	script(t, s, dir, `echo mine >mine; mkdir d; ln -s .. up; ln -s "$PWD/.." above; ln -s ../secret file; ln -s / root; ln -s up/secret chain; ln -s ../new dangling; ln -s "$PWD/d" in`)
	tr := s.Files()
	for _, name := range []string{
		"/", "/etc", outside, outside + "/secret", dir + "/..", dir + "/../secret", dir + "/d/../../secret", outside + "/./home/../d",
		dir + "/up", dir + "/above", dir + "/root", dir + "/file", dir + "/chain", dir + "/up/secret", dir + "/root/etc/passwd", dir + "/above/d", dir + "/dangling",
		dir + "x", outside + "/homes", "relative",
	} {
		for what, err := range touches(tr, name, dir) {
			if err == nil || !errors.Is(err, syscall.EACCES) {
				if e, isLink := tr.Lstat(name); what == "Lstat" && isLink == nil && e.Mode&fs.ModeSymlink != 0 {
					continue // the link itself is inside
				}
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	for _, name := range []string{dir, dir + "/in/../d/..", dir + "/up/home", "//" + outside + "/./home/", outside + "/d/../home"} {
		if e, err := tr.Lstat(name + "/mine"); err != nil || e.Size != 5 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if err := tr.RemoveAll(dir); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("remove the home: %v", err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 3 {
		t.Errorf("outside are %v, %v", left, err)
	}
}

// TestALinkThatIsSwappedLeadsNowhere exchanges a directory and a link that leads out while all operations run.
func TestALinkThatIsSwappedLeadsNowhere(t *testing.T) {
	t.Parallel()
	s, dir, outside := home(t)
	script(t, s, dir, "mkdir real; echo in >real/secret; ln -s .. link")
	tr := s.Files()
	name := filepath.Join(dir, "door")
	var stop atomic.Bool
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; !stop.Load(); i++ {
			from := filepath.Join(dir, []string{"real", "link"}[i%2])
			_ = os.Rename(from, name)
			_ = os.Rename(name, from)
		}
	})
	for range 300 {
		if f, err := tr.Open(name + "/secret"); err == nil {
			if b := make([]byte, 6); f.Entry().Size == 6 {
				n, _ := f.Read(b)
				t.Errorf("read outside: %q", b[:n])
			}
			_ = f.Close()
		}
		if u, err := tr.Create(name+"/planted", "root"); err == nil {
			_ = u.Commit()
		}
		_ = tr.Mkdir(name+"/dir", "root")
		_ = tr.Rename(name+"/planted", name+"/renamed")
		_ = tr.RemoveAll(name + "/renamed")
		if w, err := tr.Watch(name, true); err == nil {
			w.Close()
		}
	}
	stop.Store(true)
	swapper.Wait()
	left, err := os.ReadDir(outside)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "home" && e.Name() != "secret" && e.Name() != "d" {
			t.Errorf("%s was created outside", e.Name())
		}
	}
}

func TestSpecialFilesAreListedAndNeverOpened(t *testing.T) {
	t.Parallel()
	s, dir, _ := home(t)
	script(t, s, dir, "mkfifo pipe")
	tr := s.Files()
	name := filepath.Join(dir, "pipe")
	list, err := tr.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Mode.Type() != fs.ModeNamedPipe {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := tr.Open(name); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("open: %v", err)
	}
	if _, err := tr.Create(name, "root"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("create: %v", err)
	}
	if err := tr.RemoveAll(name); err != nil {
		t.Error(err)
	}
}

func TestHomesOfUsers(t *testing.T) {
	t.Parallel()
	s, dir, _ := home(t)
	for name, known := range map[string]bool{"root": true, "user": true, "": false, "no such user": false} {
		if got, ok := s.Files().Home(name); ok != known || ok && got != dir {
			t.Errorf("home of %q: %q, %v", name, got, ok)
		}
	}
	lost := osproc.New(osproc.Options{Home: filepath.Join(dir, "none")})
	if _, err := lost.Files().Lstat(filepath.Join(dir, "none", "x")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("without a home: %v", err)
	}
}

func TestAFileOfAUserOfTheHostBelongsToHim(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root gives files away")
	}
	if _, err := user.Lookup("daemon"); err != nil {
		t.Skip("SKIPPED: no user daemon")
	}
	s, dir, _ := home(t)
	tr := s.Files()
	u, err := tr.Create(dir+"/f", "daemon")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(u.Commit(), tr.Mkdir(dir+"/d", "daemon")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/f", "/d"} {
		if e, err := tr.Lstat(dir + name); err != nil || e.Owner != "daemon" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if got := script(t, s, dir, "stat -c %U:%a f d"); got != "daemon:644\ndaemon:755\n" {
		t.Errorf("a shell sees %q", got)
	}
}
