//go:build unix

package osproc_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/fakes/tree"
	"assay/fakes/virtual"
)

// twin is one of two trees that must agree.
type twin struct {
	tree.Tree
	dir string
}

// twins returns a virtual and a real tree with the same files and links.
func twins(t *testing.T) [2]twin {
	t.Helper()
	const text = `mkdir -p a/b c; echo 1 >a/f; echo 22 >f; ln -s a l; ln -s ../f a/up; ln -s b/../f a/b2; ln -s m n; ln -s n m; ln -s none x; ln -s l/b deep`
	v := virtual.New(virtual.Options{})
	t.Cleanup(v.KillAll)
	const dir = "/home/user/box"
	if err := v.Files().Mkdir(dir, "root"); err != nil {
		t.Fatal(err)
	}
	p, err := v.Start(virtual.Spec{Argv: []string{"sh", "-c", text}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Drained()
	s, home, _ := home(t)
	box := filepath.Join(home, "box")
	if err := s.Files().Mkdir(box, "root"); err != nil {
		t.Fatal(err)
	}
	script(t, s, box, text)
	return [2]twin{{v.Files(), dir}, {s.Files(), box}}
}

// errno returns the number of an error.
func errno(err error) string {
	var no syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return no.Error()
	}
	return err.Error()
}

// do runs the operation that a number names, and returns what came of it.
func (w twin) do(op int, from, to string) string {
	from, to = w.dir+"/"+from, w.dir+"/"+to
	switch op {
	case 0:
		e, err := w.Lstat(from)
		size := e.Size
		if e.Mode.IsDir() {
			size = 0
		}
		return fmt.Sprint("lstat ", e.Mode, size, errno(err))
	case 1:
		at, err := w.Resolve(from)
		dir, _ := w.Resolve(w.dir)
		return "resolve " + strings.TrimPrefix(at, dir) + errno(err)
	case 2:
		list, err := w.ReadDir(from)
		var b strings.Builder
		for _, e := range list {
			fmt.Fprint(&b, e.Name, e.Mode, " ")
		}
		return "list " + b.String() + errno(err)
	case 3:
		f, err := w.Open(from)
		if err != nil {
			return "open " + errno(err)
		}
		defer func() { _ = f.Close() }()
		text, err := io.ReadAll(f)
		return "open " + string(text) + errno(err)
	case 4:
		return "mkdir " + errno(w.Mkdir(from, "root"))
	case 5:
		u, err := w.Create(from, "root")
		if err != nil {
			return "create " + errno(err)
		}
		_, _ = io.WriteString(u, to[len(w.dir):])
		return "create " + errno(u.Commit())
	case 6, 7, 8:
		return "rename " + errno(w.Rename(from, to))
	}
	return "remove " + errno(w.RemoveAll(from))
}

// some are the components of random paths.
var some = []string{"a", "b", "c", "f", "l", "up", "b2", "m", "x", "deep", "..", ".", "", "new", "g"}

func randomPath(rnd *rand.Rand) string {
	parts := make([]string, 1+rnd.IntN(4))
	for i := range parts {
		parts[i] = some[rnd.IntN(len(some))]
	}
	// It stays below the directory: what is above differs.
	depth := 0
	for i, p := range parts {
		if p == ".." {
			if depth == 0 {
				parts[i] = "a"
			}
			depth--
		} else if p != "." && p != "" && p != "l" && p != "deep" {
			depth++
		}
		depth = max(0, depth)
	}
	return strings.Join(parts, "/")
}

// TestBothTreesAgree does the same at random in memory and on the disk.
func TestBothTreesAgree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable
		both := twins(t)
		for i := range 200 {
			op, from, to := rnd.IntN(10), randomPath(rnd), randomPath(rnd)
			a, b := both[0].do(op, from, to), both[1].do(op, from, to)
			if a != b {
				t.Fatalf("seed %d, step %d: %q, %q\nvirtual %s\nreal    %s", seed, i, from, to, a, b)
			}
		}
	}
}
