package files

import (
	"context"

	"connectrpc.com/connect"

	envd "assay/internal/envd/filesystem"
	"assay/internal/envd/filesystem/filesystemconnect"
)

// service is filesystem.Filesystem.
type service struct{ *Server }

var _ filesystemconnect.FilesystemHandler = (*service)(nil)

// Stat describes one entry, of a link the link.
func (s *service) Stat(ctx context.Context, req *connect.Request[envd.StatRequest]) (*connect.Response[envd.StatResponse], error) {
	name, err := s.absolute(s.Caller(ctx), req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	info, err := s.entry(name)
	if err != nil {
		return nil, rpcError("stat", name, err)
	}
	return connect.NewResponse(&envd.StatResponse{Entry: info}), nil
}

// MakeDir creates a directory and its parents.
func (s *service) MakeDir(ctx context.Context, req *connect.Request[envd.MakeDirRequest]) (*connect.Response[envd.MakeDirResponse], error) {
	user := s.Caller(ctx)
	name, err := s.absolute(user, req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if err := s.makeDir(user, name); err != nil {
		return nil, rpcError("make directory", name, err)
	}
	info, err := s.entry(name)
	if err != nil {
		return nil, rpcError("make directory", name, err)
	}
	return connect.NewResponse(&envd.MakeDirResponse{Entry: info}), nil
}

// Move renames an entry and creates the parents of the destination.
func (s *service) Move(ctx context.Context, req *connect.Request[envd.MoveRequest]) (*connect.Response[envd.MoveResponse], error) {
	user := s.Caller(ctx)
	from, err := s.named(user, req.Msg.GetSource())
	if err != nil {
		return nil, err
	}
	to, err := s.named(user, req.Msg.GetDestination())
	if err != nil {
		return nil, err
	}
	if err := s.move(user, from, to); err != nil {
		return nil, rpcError("move "+from+" to", to, err)
	}
	info, err := s.entry(to)
	if err != nil {
		return nil, rpcError("move to", to, err)
	}
	return connect.NewResponse(&envd.MoveResponse{Entry: info}), nil
}

// Remove removes an entry with everything below it. A missing entry is no error.
func (s *service) Remove(ctx context.Context, req *connect.Request[envd.RemoveRequest]) (*connect.Response[envd.RemoveResponse], error) {
	name, err := s.named(s.Caller(ctx), req.Msg.GetPath())
	if err != nil {
		return nil, err
	}
	if err := s.remove(name); err != nil {
		return nil, rpcError("remove", name, err)
	}
	return connect.NewResponse(&envd.RemoveResponse{}), nil
}
