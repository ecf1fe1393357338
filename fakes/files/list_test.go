package files_test

import (
	"fmt"
	"strings"
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
