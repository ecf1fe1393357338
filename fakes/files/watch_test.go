package files_test

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"assay/fakes/files"
	"assay/fakes/gatewaytest"
	"assay/fakes/tree"
	envd "assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
)

// stream is a WatchDir call whose start has been read.
type stream struct {
	t *testing.T
	*connect.ServerStreamForClient[envd.WatchDirResponse]
	cancel context.CancelFunc
}

func (g *rig) watch(m *envd.WatchDirRequest) *stream {
	g.t.Helper()
	ctx, cancel := context.WithCancel(gatewaytest.Deadline(g.t))
	g.t.Cleanup(cancel)
	s, err := g.rpc.WatchDir(ctx, connect.NewRequest(m))
	if err != nil {
		g.t.Fatal(err)
	}
	if !s.Receive() || s.Msg().GetStart() == nil {
		g.t.Fatalf("no start: %v %v", s.Msg(), s.Err())
	}
	return &stream{g.t, s, cancel}
}

// until reads events up to one of a name and a kind, and returns all of them as KIND name.
func (s *stream) until(last string) []*envd.FilesystemEvent {
	s.t.Helper()
	var events []*envd.FilesystemEvent
	for s.Receive() {
		e := s.Msg().GetFilesystem()
		events = append(events, e)
		if brief(e) == last {
			return events
		}
	}
	s.t.Fatalf("the stream ended (%v) after %v, before %s", s.Err(), events, last)
	return nil
}

func brief(e *envd.FilesystemEvent) string {
	return strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_") + " " + e.GetName()
}

// briefs joins events without repetitions.
func briefs(events []*envd.FilesystemEvent) string {
	var out []string
	for _, e := range events {
		if b := brief(e); len(out) == 0 || out[len(out)-1] != b {
			out = append(out, b)
		}
	}
	return strings.Join(out, ", ")
}

func TestAStreamReportsTheChangesOfADirectory(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home+"/d/sub/", home+"/outside")
	s := g.watch(&envd.WatchDirRequest{Path: "d"})
	g.has(home+"/d/sub/unseen", home+"/d/f")
	for _, move := range [][2]string{{"/d/f", "/d/g"}, {"/d/g", "/away"}, {"/outside", "/d/in"}} {
		if err := g.tree.Rename(home+move[0], home+move[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.tree.RemoveAll(home + "/d/in"); err != nil {
		t.Fatal(err)
	}
	got := briefs(s.until("REMOVE in"))
	if want := "CREATE f, CHMOD f, WRITE f, RENAME f, CREATE g, RENAME g, CREATE in, REMOVE in"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestARecursiveStreamReportsRelativePaths(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home + "/d/")
	s := g.watch(&envd.WatchDirRequest{Path: "d", Recursive: true})
	g.has(home + "/d/a/b/f")
	if got := briefs(s.until("WRITE a/b/f")); !strings.HasPrefix(got, "CREATE a, ") || !strings.Contains(got, "CREATE a/b/f") {
		t.Errorf("%s", got)
	}
	if err := g.tree.RemoveAll(home + "/d"); err != nil {
		t.Fatal(err)
	}
	s.until("REMOVE .")
}

func TestEntriesComeWithTheEventsOnRequest(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	for _, wanted := range []bool{true, false} {
		s := g.watch(&envd.WatchDirRequest{Path: "", IncludeEntry: wanted})
		g.has(home + "/f")
		for _, e := range s.until("WRITE f") {
			if e.GetEntry().GetPath() != home+"/f" && wanted || e.Entry != nil && !wanted {
				t.Errorf("wanted %v: %v", wanted, e)
			}
		}
		if err := g.tree.RemoveAll(home + "/f"); err != nil {
			t.Fatal(err)
		}
		if events := s.until("REMOVE f"); events[len(events)-1].Entry != nil {
			t.Errorf("an entry of what is gone: %v", events)
		}
		s.cancel()
	}
}

func TestSilenceIsBrokenByAKeepalive(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	s := g.watch(&envd.WatchDirRequest{})
	for range 2 {
		(<-g.keepalives)()
		if !s.Receive() || s.Msg().GetKeepalive() == nil {
			t.Fatalf("%v %v, want a keepalive", s.Msg(), s.Err())
		}
	}
	g.has(home + "/f")
	s.until("CREATE f")
}

func TestWatchingNeedsADirectory(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	g.has(home + "/f")
	for path, want := range map[string]connect.Code{"missing": connect.CodeNotFound, "f": connect.CodeInvalidArgument, "~root": connect.CodeInvalidArgument} {
		s, err := g.rpc.WatchDir(gatewaytest.Deadline(t), connect.NewRequest(&envd.WatchDirRequest{Path: path}))
		if err != nil {
			t.Fatal(err)
		}
		for s.Receive() {
			t.Errorf("%s: %v", path, s.Msg())
		}
		wantCode(t, "watch "+path, s.Err(), want)
		_, err = g.rpc.CreateWatcher(gatewaytest.Deadline(t), connect.NewRequest(&envd.CreateWatcherRequest{Path: path}))
		wantCode(t, "create a watcher of "+path, err, want)
	}
}

func TestAPolledWatcherIsDrainedByEachCall(t *testing.T) {
	t.Parallel()
	g := newRig(t, settings{})
	ctx := gatewaytest.Deadline(t)
	w, err := g.rpc.CreateWatcher(ctx, connect.NewRequest(&envd.CreateWatcherRequest{IncludeEntry: true}))
	if err != nil {
		t.Fatal(err)
	}
	poll := connect.NewRequest(&envd.GetWatcherEventsRequest{WatcherId: w.Msg.GetWatcherId()})
	g.has(home + "/f")
	res, err := g.rpc.GetWatcherEvents(ctx, poll)
	if err != nil || briefs(res.Msg.GetEvents()) != "CREATE f, CHMOD f, WRITE f" || res.Msg.GetEvents()[0].GetEntry().GetName() != "f" {
		t.Errorf("%v %v", res, err)
	}
	if res, err = g.rpc.GetWatcherEvents(ctx, poll); err != nil || len(res.Msg.GetEvents()) != 0 {
		t.Errorf("%v %v, want no event twice", res, err)
	}
	remove := connect.NewRequest(&envd.RemoveWatcherRequest{WatcherId: w.Msg.GetWatcherId()})
	if _, err := g.rpc.RemoveWatcher(ctx, remove); err != nil {
		t.Error(err)
	}
	_, err = g.rpc.RemoveWatcher(ctx, remove)
	wantCode(t, "remove again", err, connect.CodeNotFound)
	_, err = g.rpc.GetWatcherEvents(ctx, poll)
	wantCode(t, "poll a removed one", err, connect.CodeNotFound)
}

// closing reports when a watcher of a tree is closed.
type closing struct {
	tree.Tree
	closed chan struct{}
}

func (c closing) Watch(name string, recursive bool) (tree.Watcher, error) {
	w, err := c.Tree.Watch(name, recursive)
	return closingWatcher{w, c.closed}, err
}

type closingWatcher struct {
	tree.Watcher
	closed chan struct{}
}

func (w closingWatcher) Close() {
	w.Watcher.Close()
	w.closed <- struct{}{}
}

func TestAStreamEndsWithItsClientAndItsDeadline(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 10)
	g := newRig(t, settings{}, func(o *files.Options) { o.Tree = closing{o.Tree, closed} })
	g.watch(&envd.WatchDirRequest{}).cancel()
	<-closed

	a := g.do("POST", filesystemconnect.FilesystemWatchDirProcedure, string(gatewaytest.Envelope(0, "{}")),
		"Content-Type: application/connect+json", "Connect-Timeout-Ms: 50")
	if !strings.Contains(a.body, `"code":"deadline_exceeded"`) {
		t.Errorf("the deadline: %q", a.body)
	}
	<-closed
}

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
