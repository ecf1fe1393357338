package zoo

import (
	"math"
	"path"

	"connectrpc.com/connect"

	"assay/fakes/tree"
	"assay/internal/envd/filesystem"
)

// filesystemCallFaults returns the faults in the calls of the filesystem service.
func filesystemCallFaults() []fault {
	return []fault{
		{Fault{
			ID:     "list-depth-zero-unlimited",
			Title:  "Depth 0 lists the whole tree",
			Breaks: []string{"filesystem.list.depth"},
			Source: "OpenE2B",
		}, onFilesystem(func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
			if m, ok := m.(*filesystem.ListDirRequest); ok && m.GetDepth() == 0 {
				m.Depth = math.MaxUint32
			}
			return call()
		})},
		{Fault{
			ID:     "stat-missing-internal",
			Title:  "A missing entry is an internal error",
			Breaks: []string{"filesystem.stat.missing"},
			Source: "gateways that do not tell the errors of the file system apart",
		}, onFilesystem(func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
			res, err := call()
			if _, stat := m.(*filesystem.StatRequest); stat && connect.CodeOf(err) == connect.CodeNotFound {
				err = recode(err, connect.CodeInternal)
			}
			return res, err
		})},
		{Fault{
			ID:     "make-existing-ok",
			Title:  "MakeDir of an existing directory succeeds",
			Breaks: []string{"filesystem.make.exists", "filesystem.make.once"},
			Source: "OpenE2B",
		}, onFilesystem(func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
			res, err := call()
			made, ok := m.(*filesystem.MakeDirRequest)
			if !ok || connect.CodeOf(err) != connect.CodeAlreadyExists {
				return res, err
			}
			return connect.NewResponse(&filesystem.MakeDirResponse{Entry: &filesystem.EntryInfo{
				Name: path.Base(made.GetPath()), Path: made.GetPath(), Type: filesystem.FileType_FILE_TYPE_DIRECTORY, Mode: 0o755, Permissions: "drwxr-xr-x",
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
		}, onFilesystem(func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
			res, err := call()
			if _, ok := m.(*filesystem.RemoveWatcherRequest); ok && connect.CodeOf(err) == connect.CodeNotFound {
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
		}, onFileStream(func(m *filesystem.WatchDirResponse) bool { return m.GetStart() == nil })},
		{Fault{
			ID:     "watch-mute",
			Title:  "The stream of a watched directory sends nothing",
			Breaks: []string{"filesystem.watch.start"},
			Source: "gateways with a stub for calls that they do not support",
		}, onFileStream(func(*filesystem.WatchDirResponse) bool { return false })},
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
	onFilesystem(func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
		switch m := m.(type) {
		case *filesystem.StatRequest:
			below(&m.Path)
		case *filesystem.ListDirRequest:
			below(&m.Path)
		case *filesystem.RemoveRequest:
			below(&m.Path)
		}
		return call()
	})(b)
}

// onFileCalls puts an interceptor around the others of the filesystem service.
func onFileCalls(i interceptor) func(*build) {
	return func(b *build) { b.Seams.Filesystem = append([]connect.Interceptor{i}, b.Seams.Filesystem...) }
}

// onFilesystem puts a function around the calls of the filesystem service.
func onFilesystem(run func(m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error)) func(*build) {
	return onFileCalls(interceptor{run: func(_ string, m any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
		return run(m, call)
	}})
}

// onFileStream changes the messages of a watched directory, or drops them.
func onFileStream(send func(m *filesystem.WatchDirResponse) bool) func(*build) {
	return onFileCalls(interceptor{send: func(m any) bool {
		w, ok := m.(*filesystem.WatchDirResponse)
		return !ok || send(w)
	}})
}

// onFileEvents changes the events of files, on streams and in polls.
func onFileEvents(change func(e *filesystem.FilesystemEvent)) func(*build) {
	return func(b *build) {
		onFilesystem(func(_ any, call func() (connect.AnyResponse, error)) (connect.AnyResponse, error) {
			res, err := call()
			if err != nil || res == nil {
				return res, err
			}
			if m, ok := res.Any().(*filesystem.GetWatcherEventsResponse); ok {
				for _, e := range m.GetEvents() {
					change(e)
				}
			}
			return res, nil
		})(b)
		onFileStream(func(m *filesystem.WatchDirResponse) bool {
			if e := m.GetFilesystem(); e != nil {
				change(e)
			}
			return true
		})(b)
	}
}
