package files_test

import (
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/gatewaytest"
	envd "assay/internal/envd/filesystem"
)

func TestWatchersAreLimited(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	ctx := gatewaytest.Deadline(t)
	var ids []string
	for {
		w, err := g.rpc.CreateWatcher(ctx, connect.NewRequest(&envd.CreateWatcherRequest{}))
		if err != nil {
			wantCode(t, "one too many", err, connect.CodeResourceExhausted)
			break
		}
		if ids = append(ids, w.Msg.GetWatcherId()); len(ids) > 5000 {
			t.Fatal("there is no limit")
		}
	}
	if _, err := g.rpc.RemoveWatcher(ctx, connect.NewRequest(&envd.RemoveWatcherRequest{WatcherId: ids[0]})); err != nil {
		t.Fatal(err)
	}
	if _, err := g.rpc.CreateWatcher(ctx, connect.NewRequest(&envd.CreateWatcherRequest{})); err != nil {
		t.Errorf("after one was removed: %v", err)
	}
}
