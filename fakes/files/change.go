package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"connectrpc.com/connect"
)

// errNotDirectory refuses a path that is not that of a directory.
func errNotDirectory(name string) error {
	return problem(connect.CodeInvalidArgument, "path is not a directory: %s", text(name))
}

// makeDir creates a directory with its parents.
func (s *Server) makeDir(user, name string) error {
	name = path.Clean(name)
	_, err := s.directory(name)
	switch {
	case err == nil:
		return errExists(name)
	case isErrno(err, syscall.ENOTDIR):
		return problem(connect.CodeInvalidArgument, "a parent of %s is not a directory", text(name))
	case !isErrno(err, syscall.ENOENT):
		return err
	}
	if e, err := s.Tree.Lstat(name); err == nil && e.Mode&fs.ModeSymlink != 0 {
		return problem(connect.CodeFailedPrecondition, "a link to nothing is in the way: %s", text(name))
	}
	made, err := s.makeParents(user, name)
	if err != nil {
		return err
	}
	if err = s.Tree.Mkdir(name, user); isErrno(err, syscall.EEXIST) {
		err = errExists(name) // another call was faster
	}
	if err != nil {
		s.undo(made)
	}
	return err
}

// errExists refuses to create a directory again.
func errExists(name string) error {
	return problem(connect.CodeAlreadyExists, "directory already exists: %s", text(name))
}

// makeParents creates the missing directories above a path and returns them, the
// topmost first. If it fails, it leaves none.
func (s *Server) makeParents(user, name string) (made []string, err error) {
	missing, err := s.missingParents(name)
	if err != nil {
		return nil, err
	}
	for _, dir := range missing {
		switch err := s.Tree.Mkdir(dir, user); {
		case err == nil:
			made = append(made, dir)
		case !isErrno(err, syscall.EEXIST):
			s.undo(made)
			return nil, parentError(dir, err)
		}
	}
	return made, nil
}

// missingParents returns the directories above a clean path that do not exist, the
// topmost first.
func (s *Server) missingParents(name string) (dirs []string, err error) {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		_, err := s.directory(dir)
		if err == nil {
			slices.Reverse(dirs)
			return dirs, nil
		}
		if !isErrno(err, syscall.ENOENT) || dir == "/" {
			return nil, parentError(dir, err)
		}
		dirs = append(dirs, dir)
	}
}

// parentError describes why a parent cannot be created.
func parentError(name string, err error) error {
	if isErrno(err, syscall.ENOENT, syscall.ENOTDIR) {
		return problem(connect.CodeFailedPrecondition, "%s is not a directory", text(name))
	}
	return err
}

// undo removes created directories in which nothing has been created since.
func (s *Server) undo(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		if entries, err := s.Tree.ReadDir(made[i]); err != nil || len(entries) > 0 {
			return
		}
		if s.Tree.RemoveAll(made[i]) != nil {
			return
		}
	}
}

// move renames an entry. Moving an entry onto itself changes nothing.
func (s *Server) move(user, from, to string) error {
	if s.Policy.ParentsFirst {
		if _, err := s.makeParents(user, path.Clean(to)); err != nil {
			return err
		}
	}
	old, err := s.Tree.Lstat(from)
	if err != nil {
		return err
	}
	from, to = path.Clean(from), path.Clean(to)
	if from == to {
		return nil
	}
	if old.Mode.IsDir() && strings.HasPrefix(to, from+"/") {
		return problem(connect.CodeInvalidArgument, "cannot move %s into itself", text(from))
	}
	target, err := s.Tree.Lstat(to)
	if err == nil && (old.Mode.IsDir() || target.Mode.IsDir()) {
		return problem(connect.CodeFailedPrecondition, "destination exists: %s", text(to))
	}
	var made []string
	if err != nil && !s.Policy.MoveIntoVoid {
		if made, err = s.makeParents(user, to); err != nil {
			return err
		}
	}
	if err := s.Tree.Rename(from, to); err != nil {
		s.undo(made)
		return moveError(to, err)
	}
	return nil
}

// moveError describes a failed rename: what is in the way is a matter of the state
// of the tree.
func moveError(to string, err error) error {
	if isErrno(err, syscall.EEXIST, syscall.ENOTEMPTY, syscall.EISDIR, syscall.ENOTDIR) {
		return problem(connect.CodeFailedPrecondition, "cannot replace %s", text(to))
	}
	return err
}

// remove removes an entry with everything below it.
func (s *Server) remove(name string) error {
	err := s.Tree.RemoveAll(strings.TrimRight(name, "/"))
	switch {
	case errors.Is(err, syscall.ENOENT):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return problem(connect.CodeInvalidArgument, "a parent of %s is not a directory", text(name))
	}
	return err
}
