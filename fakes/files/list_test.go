package files_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/filesystem"
)

func (g *rig) list(name string, depth uint32) ([]string, error) {
	res, err := g.rpc.ListDir(gatewaytest.Deadline(g.t), connect.NewRequest(&envd.ListDirRequest{Path: name, Depth: depth}))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range res.Msg.GetEntries() {
		paths = append(paths, strings.TrimPrefix(e.GetPath(), home+"/"))
	}
	return paths, nil
}

func TestAListingIsDepthFirstByTheBytesOfTheNames(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home+"/b", home+"/B", home+"/.h", home+"/10", home+"/9", home+"/sub/x/deep/er", home+"/sub/a", home+"/a")
	for depth, want := range map[uint32]string{
		0:          ".h 10 9 B a b sub",
		1:          ".h 10 9 B a b sub",
		2:          ".h 10 9 B a b sub sub/a sub/x",
		3:          ".h 10 9 B a b sub sub/a sub/x sub/x/deep",
		4294967295: ".h 10 9 B a b sub sub/a sub/x sub/x/deep sub/x/deep/er",
	} {
		got, err := g.list("", depth)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("depth %d: %v %v, want %s", depth, got, err, want)
		}
	}
	if got, err := g.list("/home//user/./sub", 1); err != nil || !slices.Equal(got, []string{"sub/a", "sub/x"}) {
		t.Errorf("an unclean path: %v %v", got, err)
	}
}

func TestOnlyDirectoriesAreListed(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home + "/f")
	for path, want := range map[string]connect.Code{
		"missing": connect.CodeNotFound, "f": connect.CodeInvalidArgument, "~root": connect.CodeInvalidArgument, "/tmp": 0,
	} {
		_, err := g.list(path, 1)
		wantCode(t, path, err, want)
	}
}

func TestANameThatIsNotTextDoesNotFailTheListing(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home+"/odd\xff\xfename", home+"/z\nnew line", home+"/\u00e9", home+"/e\u0301")
	got, err := g.list("", 1)
	if want := []string{"e\u0301", "odd\ufffdname", "z\nnew line", "\u00e9"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v, want %q", got, err, want)
	}
}

func TestAListingBearsDirectoriesThatComeAndGo(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home + "/stays/")
	stop := make(chan struct{})
	var churn sync.WaitGroup
	churn.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = g.tree.Mkdir(home+"/goes", "user")
			_ = g.tree.RemoveAll(home + "/goes")
		}
	})
	defer churn.Wait()
	defer close(stop)
	for range 100 {
		got, err := g.list("", 2)
		if err != nil || got[len(got)-1] != "stays" {
			t.Fatalf("%v %v", got, err)
		}
	}
}

// A client that does not read its listing holds memory.
func TestALongListingIsRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	dir := home + strings.Repeat("/"+strings.Repeat("d", 250), 14)
	g.has(dir + "/")
	for i := range 4500 { // of 3.8 KB each
		if err := g.tree.Mkdir(fmt.Sprintf("%s/%0250d", dir, i), "user"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := g.list(dir, 1)
	wantCode(t, "17 MB", err, connect.CodeResourceExhausted)
	for i := range 1000 {
		if err := g.tree.RemoveAll(fmt.Sprintf("%s/%0250d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := g.list(dir, 1); err != nil || len(all) != 3500 {
		t.Errorf("13 MB: %d entries, %v", len(all), err)
	}
}
