package zoo

import (
	"context"
	"errors"
	"math"
	"path"

	"connectrpc.com/connect"

	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
)

// filesystemCallFaults returns the faults in the calls of the filesystem service.
func filesystemCallFaults() []fault {
	return []fault{
		{Fault{
			ID:     "list-depth-zero-unlimited",
			Title:  "Depth 0 lists the whole tree",
			Breaks: []string{"filesystem.list.depth"},
			Source: "OpenE2B",
		}, onFilesystem(func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
			if m, ok := req.Any().(*filesystem.ListDirRequest); ok && m.GetDepth() == 0 {
				m.Depth = math.MaxUint32
			}
			return next(ctx, req)
		})},
		{Fault{
			ID:     "stat-missing-internal",
			Title:  "A missing entry is an internal error",
			Breaks: []string{"filesystem.stat.missing"},
			Source: "gateways that do not tell the errors of the file system apart",
		}, onFilesystem(func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			if connect.CodeOf(err) == connect.CodeNotFound && req.Spec().Procedure == filesystemconnect.FilesystemStatProcedure {
				err = recode(err, connect.CodeInternal)
			}
			return res, err
		})},
		{Fault{
			ID:     "make-existing-ok",
			Title:  "MakeDir of an existing directory succeeds",
			Breaks: []string{"filesystem.make.exists", "filesystem.make.once"},
			Source: "OpenE2B",
		}, onFilesystem(func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			m, ok := req.Any().(*filesystem.MakeDirRequest)
			if !ok || connect.CodeOf(err) != connect.CodeAlreadyExists {
				return res, err
			}
			return connect.NewResponse(&filesystem.MakeDirResponse{Entry: &filesystem.EntryInfo{
				Name: path.Base(m.GetPath()), Path: m.GetPath(), Type: filesystem.FileType_FILE_TYPE_DIRECTORY, Mode: 0o755, Permissions: "drwxr-xr-x",
			}}), nil
		})},
		{Fault{
			ID:     "files-user-ignored",
			Title:  "Stat, ListDir and Remove look for a relative path below the home of user, whoever asks",
			Breaks: []string{"filesystem.user.home", "filesystem.path.relative"},
			Source: "CubeSandbox#1126, #1261",
		}, ignoreUser},
		{Fault{
			ID:     "watcher-unknown-removed",
			Title:  "RemoveWatcher of an unknown watcher succeeds",
			Breaks: []string{"filesystem.watcher.removed"},
			Source: "Dormice",
		}, onFilesystem(func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			if _, ok := req.Any().(*filesystem.RemoveWatcherRequest); ok && connect.CodeOf(err) == connect.CodeNotFound {
				return connect.NewResponse(&filesystem.RemoveWatcherResponse{}), nil
			}
			return res, err
		})},
		{Fault{
			ID:     "watch-without-entry",
			Title:  "Events have no entry, whatever the client asks for",
			Breaks: []string{"filesystem.watch.entry"},
			Source: "Dormice",
		}, onFileEvents(func(e *filesystem.FilesystemEvent) { e.Entry = nil })},
		{Fault{
			ID:     "watch-without-start",
			Title:  "The stream of a watched directory has no start event",
			Breaks: []string{"filesystem.watch.start"},
			Source: "gateways that send only what changes; the SDK waits for it",
		}, fileStream{send: func(m *filesystem.WatchDirResponse) bool { return m.GetStart() == nil }}.install},
		{Fault{
			ID:     "watch-mute",
			Title:  "The stream of a watched directory sends nothing",
			Breaks: []string{"filesystem.watch.start"},
			Source: "gateways with a stub for calls that they do not support",
		}, fileStream{send: func(*filesystem.WatchDirResponse) bool { return false }}.install},
		{Fault{
			ID:     "watch-rename-as-remove",
			Title:  "A renamed file is reported as removed",
			Breaks: []string{"filesystem.watch.rename", "filesystem.watch.moved-out"},
			Source: "gateways that compare listings",
		}, onFileEvents(func(e *filesystem.FilesystemEvent) {
			if e.GetType() == filesystem.EventType_EVENT_TYPE_RENAME {
				e.Type = filesystem.EventType_EVENT_TYPE_REMOVE
			}
		})},
		{Fault{
			ID:     "watch-no-chmod",
			Title:  "Changes of mode and owner are not reported",
			Breaks: []string{"filesystem.watch.chmod"},
			Source: "gateways that ask inotify only for IN_CREATE, IN_MODIFY, IN_DELETE and IN_MOVE",
		}, onWatch(func(next tree.Watcher) tree.Watcher {
			return someEvents{next, func(e tree.Event) bool { return e.Op != tree.Changed }}
		})},
	}
}

// ignoreUser makes relative paths of some calls absolute, below one home.
func ignoreUser(b *build) {
	var home string
	onTree(func(next tree.Tree) tree.Tree {
		home, _ = next.Home("user")
		return next
	})(b)
	below := func(name *string) {
		if *name != "" && !path.IsAbs(*name) && (*name)[0] != '~' {
			*name = path.Join(home, *name)
		}
	}
	onFilesystem(func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
		switch m := req.Any().(type) {
		case *filesystem.StatRequest:
			below(&m.Path)
		case *filesystem.ListDirRequest:
			below(&m.Path)
		case *filesystem.RemoveRequest:
			below(&m.Path)
		}
		return next(ctx, req)
	})(b)
}

// fileCall runs a unary call of the filesystem service.
type fileCall func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error)

// onFilesystem puts a function around the unary calls of the filesystem service.
func onFilesystem(run fileCall) func(*build) { return fileStream{call: run}.install }

// fileStream changes the calls of the filesystem service: unary ones, and which
// messages a stream sends.
type fileStream struct {
	call fileCall
	send func(m *filesystem.WatchDirResponse) bool
}

var _ connect.Interceptor = fileStream{}

func (f fileStream) install(b *build) {
	b.Seams.Filesystem = append([]connect.Interceptor{f}, b.Seams.Filesystem...)
}

// onFileEvents changes the events of files, on streams and in polls.
func onFileEvents(change func(e *filesystem.FilesystemEvent)) func(*build) {
	return fileStream{
		call: func(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			if err != nil {
				return res, err
			}
			if m, ok := res.Any().(*filesystem.GetWatcherEventsResponse); ok {
				for _, e := range m.GetEvents() {
					change(e)
				}
			}
			return res, nil
		},
		send: func(m *filesystem.WatchDirResponse) bool {
			if e := m.GetFilesystem(); e != nil {
				change(e)
			}
			return true
		},
	}.install
}

// WrapUnary intercepts unary calls.
func (f fileStream) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	if f.call == nil {
		return next
	}
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		return f.call(ctx, req, next)
	}
}

// WrapStreamingHandler intercepts streams.
func (f fileStream) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	if f.send == nil {
		return next
	}
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return next(ctx, fileConn{conn, f.send})
	}
}

// WrapStreamingClient does nothing: a gateway makes no calls.
func (fileStream) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// fileConn drops some messages of a stream.
type fileConn struct {
	connect.StreamingHandlerConn
	send func(m *filesystem.WatchDirResponse) bool
}

// Send sends one message.
func (c fileConn) Send(m any) error {
	w, ok := m.(*filesystem.WatchDirResponse)
	if !ok {
		return errors.New("the filesystem service has another stream")
	}
	if !c.send(w) {
		return nil
	}
	return c.StreamingHandlerConn.Send(m)
}
