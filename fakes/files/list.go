package files

import (
	"context"
	"path"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"assay/fakes/tree"
	envd "assay/internal/envd/filesystem"
)

// The bounds of a listing. An entry takes some 120 bytes, but up to 8 KB where the path is long. A message in JSON is larger.
const (
	maxEntries = 100_000
	maxListing = 16 << 20 // bytes of the entries
)

// ListDir lists a directory, depth-first and by the bytes of the names. Links are
// listed and not entered.
func (s *service) ListDir(ctx context.Context, req *connect.Request[envd.ListDirRequest]) (*connect.Response[envd.ListDirResponse], error) {
	name, err := s.absolute(s.Caller(ctx), req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if _, err := s.directory(name); err != nil {
		return nil, rpcError("list", name, err)
	}
	l := listing{Server: s.Server, ctx: ctx}
	if err := l.add(name, max(1, req.Msg.GetDepth())); err != nil {
		return nil, rpcError("list", name, err)
	}
	return connect.NewResponse(&envd.ListDirResponse{Entries: l.entries}), nil
}

// listing collects the entries of one ListDir.
type listing struct {
	*Server
	ctx     context.Context
	entries []*envd.EntryInfo
	size    int // of the entries
}

// add adds the entries of a directory, down to a depth. A directory that goes away
// meanwhile is one that the listing came too late for.
func (l *listing) add(dir string, depth uint32) error {
	entries, err := l.Tree.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if len(l.entries) == maxEntries {
			return problem(connect.CodeResourceExhausted, "%s has more than %d entries: list less of it", text(dir), maxEntries)
		}
		name := path.Join(dir, e.Name)
		info := l.describe(name, e)
		if l.size += proto.Size(info); l.size > maxListing {
			return problem(connect.CodeResourceExhausted, "the entries of %s have more than %d bytes: list less of it", text(dir), maxListing)
		}
		l.entries = append(l.entries, info)
		if depth == 1 || !l.enters(name, e) {
			continue
		}
		err := l.add(name, depth-1)
		if err != nil && !isErrno(err, syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.ENAMETOOLONG) {
			return err
		}
	}
	return nil
}

// enters reports whether a listing descends into an entry.
func (l *listing) enters(name string, e tree.Entry) bool {
	if e.Mode.IsDir() || !l.Policy.EnterLinks {
		return e.Mode.IsDir()
	}
	_, err := l.directory(name)
	return err == nil
}
