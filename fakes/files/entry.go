package files

import (
	"io/fs"
	"path"

	"google.golang.org/protobuf/types/known/timestamppb"

	"assay/fakes/tree"
	envd "assay/internal/envd/filesystem"
)

// entry describes what is at a path. The path is sent as the client wrote it.
func (s *Server) entry(name string) (*envd.EntryInfo, error) {
	e, err := s.Tree.Lstat(name)
	if err != nil {
		return nil, err
	}
	e.Name = path.Base(name)
	return s.describe(name, e), nil
}

// describe returns the message for an entry at a path. Size, permissions and times
// of a link are those of the link; type and mode are those of its target, and
// absent if there is none.
func (s *Server) describe(name string, e tree.Entry) (info *envd.EntryInfo) {
	info = &envd.EntryInfo{
		Name: text(e.Name), Path: text(name), Size: e.Size, Permissions: e.Mode.String(),
		Owner: text(e.Owner), Group: text(e.Group), ModifiedTime: timestamppb.New(e.Modified),
	}
	defer func() { s.Policy.Entry(info) }()
	target, exists := e, true
	if e.Mode&fs.ModeSymlink != 0 {
		var at string
		at, target, exists = s.follow(name)
		at = text(at)
		info.SymlinkTarget = &at
	}
	if !exists {
		return info
	}
	info.Mode = uint32(target.Mode.Perm())
	switch {
	case target.Mode.IsRegular():
		info.Type = envd.FileType_FILE_TYPE_FILE
	case target.Mode.IsDir():
		info.Type = envd.FileType_FILE_TYPE_DIRECTORY
	}
	for k, v := range target.Metadata {
		if info.Metadata == nil {
			info.Metadata = map[string]string{}
		}
		info.Metadata[text(k)] = text(v)
	}
	return info
}

// follow returns where a link leads; a link that leads nowhere leads to itself.
func (s *Server) follow(name string) (at string, e tree.Entry, exists bool) {
	at, err := s.Tree.Resolve(name)
	if err == nil {
		e, err = s.Tree.Lstat(at)
	}
	if err != nil {
		return name, tree.Entry{}, false
	}
	return at, e, true
}

// directory returns the path without links of what must be a directory.
func (s *Server) directory(name string) (at string, err error) {
	if at, err = s.Tree.Resolve(name); err != nil {
		return "", err
	}
	e, err := s.Tree.Lstat(at)
	if err != nil {
		return "", err
	}
	if !e.Mode.IsDir() {
		return "", errNotDirectory(name)
	}
	return at, nil
}
