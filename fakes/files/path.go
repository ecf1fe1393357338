package files

import (
	"path"
	"strings"

	"connectrpc.com/connect"
)

// absolute returns the path that a user means by name: an absolute one as it is, a
// relative one and ~ below the home of the user, an empty one the working
// directory. ~name is refused, as in the daemon.
func (s *Server) absolute(user, name string) (string, error) {
	home, ok := s.Tree.Home(user)
	if !ok {
		return "", problem(connect.CodeUnauthenticated, "invalid username: '%s'", text(user))
	}
	if name == "" {
		if name = s.Settings.Workdir(); name == "" {
			return home, nil
		}
	}
	switch rest, tilde := strings.CutPrefix(name, "~"); {
	case strings.ContainsRune(name, 0):
		return "", problem(connect.CodeInvalidArgument, "the path has a NUL byte")
	case tilde && rest != "" && rest[0] != '/':
		return "", problem(connect.CodeInvalidArgument, "path %q: the home of another user is not expanded", name)
	case tilde:
		return path.Join(home, rest), nil
	case path.IsAbs(name):
		return name, nil
	default:
		return path.Join(home, name), nil
	}
}

// named is absolute for calls that move or remove an entry: it refuses the paths
// that only a mistake produces. An empty one would mean the whole home.
func (s *Server) named(user, name string) (string, error) {
	full, err := s.absolute(user, name)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return "", problem(connect.CodeInvalidArgument, "the path is empty")
	case path.Clean(full) == "/":
		return "", problem(connect.CodeInvalidArgument, "the root can be neither moved nor removed")
	}
	if last := path.Base(name); last == "." || last == ".." {
		return "", problem(connect.CodeInvalidArgument, "path %q ends in %q", name, last)
	}
	return full, nil
}

// text returns s as UTF-8, the only text that a message can hold.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
