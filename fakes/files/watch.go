package files

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/fakes/strict"
	"assay/fakes/tree"
	"assay/internal/base/crash"
	envd "assay/internal/envd/filesystem"
)

// errIdle ends the wait for an event when a keepalive is due.
var errIdle = errors.New("idle")

// eventTypes are the types of the kinds of changes.
var eventTypes = map[tree.Op]envd.EventType{
	tree.Created: envd.EventType_EVENT_TYPE_CREATE,
	tree.Written: envd.EventType_EVENT_TYPE_WRITE,
	tree.Removed: envd.EventType_EVENT_TYPE_REMOVE,
	tree.Renamed: envd.EventType_EVENT_TYPE_RENAME,
	tree.Changed: envd.EventType_EVENT_TYPE_CHMOD,
}

// watchRequest is a WatchDirRequest or a CreateWatcherRequest.
type watchRequest interface {
	GetPath() string
	GetRecursive() bool
	GetIncludeEntry() bool
}

// watch is one watched directory.
type watch struct {
	tree.Watcher
	server  *Server
	name    string // as the client wrote it
	at      string // without links
	entries bool   // events have the entry
}

// watch begins to watch a directory for a client.
func (s *service) watch(ctx context.Context, req watchRequest) (*watch, error) {
	if !s.has(FeatureWatch) {
		return nil, problem(connect.CodeUnimplemented, "directories are not watched")
	}
	name, err := s.absolute(s.Caller(ctx), req.GetPath())
	if err != nil {
		return nil, err
	}
	at, err := s.directory(name)
	if err != nil {
		return nil, rpcError("watch", name, err)
	}
	w, err := s.Tree.Watch(at, req.GetRecursive())
	if err != nil {
		return nil, rpcError("watch", name, err)
	}
	return &watch{Watcher: w, server: s.Server, name: name, at: at, entries: req.GetIncludeEntry()}, nil
}

// event returns the message for a change. Its name is relative to the watched
// directory, which itself is ".".
func (w *watch) event(e tree.Event) *envd.FilesystemEvent {
	name := "."
	if rest, below := strings.CutPrefix(e.Path, strings.TrimSuffix(w.at, "/")+"/"); below && rest != "" {
		name = rest
	}
	m := &envd.FilesystemEvent{Name: text(name), Type: eventTypes[e.Op]}
	if w.entries && e.Op != tree.Removed && e.Op != tree.Renamed {
		if info, err := w.server.entry(path.Join(w.name, name)); err == nil {
			m.Entry = info
		}
	}
	return m
}

// next waits for changes and returns all that there are; none if there were none
// for the time of idle.
func (w *watch) next(ctx context.Context, idle time.Duration) ([]tree.Event, error) {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := w.server.AfterFunc(idle, func() {
		defer crash.Catch()
		cancel(errIdle)
	})
	defer stop()
	first, err := w.Next(wait)
	switch {
	case err == nil:
		return append([]tree.Event{first}, w.Pending()...), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(context.Cause(wait), errIdle):
		return nil, nil
	default:
		return nil, err
	}
}

// WatchDir streams the changes of a directory until the client goes or the
// deadline passes.
func (s *service) WatchDir(ctx context.Context, req *connect.Request[envd.WatchDirRequest], out *connect.ServerStream[envd.WatchDirResponse]) error {
	w, err := s.watch(ctx, req.Msg)
	if err != nil {
		return err
	}
	defer w.Close()
	idle := s.Keepalive(req.Header())
	if err := out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Start{Start: &envd.WatchDirResponse_StartEvent{}}}); err != nil {
		return err
	}
	for {
		events, err := w.next(ctx, idle)
		if err != nil {
			return rpcError("watch", w.name, err)
		}
		if len(events) == 0 {
			if err := out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Keepalive{Keepalive: &envd.WatchDirResponse_KeepAlive{}}}); err != nil {
				return err
			}
		}
		for i, e := range events {
			strict.HoldFlush(ctx, i < len(events)-1)
			if err := out.Send(&envd.WatchDirResponse{Event: &envd.WatchDirResponse_Filesystem{Filesystem: w.event(e)}}); err != nil {
				return err
			}
		}
	}
}

// CreateWatcher begins to watch a directory for clients that poll.
func (s *service) CreateWatcher(ctx context.Context, req *connect.Request[envd.CreateWatcherRequest]) (*connect.Response[envd.CreateWatcherResponse], error) {
	w, err := s.watch(ctx, req.Msg)
	if err != nil {
		return nil, err
	}
	id, ok := s.watchers.add(w)
	if !ok {
		w.Close()
		return nil, problem(connect.CodeUnavailable, "the sandbox is closing")
	}
	return connect.NewResponse(&envd.CreateWatcherResponse{WatcherId: id}), nil
}

// GetWatcherEvents returns the changes since the last call.
func (s *service) GetWatcherEvents(_ context.Context, req *connect.Request[envd.GetWatcherEventsRequest]) (*connect.Response[envd.GetWatcherEventsResponse], error) {
	w, err := s.watchers.find(req.Msg.GetWatcherId())
	if err != nil {
		return nil, err
	}
	out := &envd.GetWatcherEventsResponse{}
	for _, e := range w.Pending() {
		out.Events = append(out.Events, w.event(e))
	}
	return connect.NewResponse(out), nil
}

// RemoveWatcher ends a polled watcher.
func (s *service) RemoveWatcher(_ context.Context, req *connect.Request[envd.RemoveWatcherRequest]) (*connect.Response[envd.RemoveWatcherResponse], error) {
	w, err := s.watchers.remove(req.Msg.GetWatcherId())
	if err != nil {
		return nil, err
	}
	w.Close()
	return connect.NewResponse(&envd.RemoveWatcherResponse{}), nil
}
