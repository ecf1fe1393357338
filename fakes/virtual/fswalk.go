package virtual

import (
	"strings"
	"syscall"
)

// maxPath is Linux's PATH_MAX, with the NUL at the end of a path.
const maxPath = 4096

// maxName is Linux's NAME_MAX.
const maxName = 255

// maxLinks is how many links a path may lead through on Linux.
const maxLinks = 40

// ending says what a path means whose last component is a link.
type ending int

const (
	follow ending = iota // what the link names
	itself               // the link; with a slash behind it, what it names
	entry                // the link; with a slash behind it, no directory
)

// place is where a path leads: an entry of a directory, which may be missing.
type place struct {
	node  *node // nil if the entry is missing
	dir   *node // nil for the root and for a path that ends in . or ..
	base  string
	slash bool // a slash follows
	made  bool // it did not exist before
}

// walk follows a path from the root. The last component may be missing. The caller holds mu.
func (f *fileSystem) walk(name string, end ending) (place, error) {
	switch {
	case name == "":
		return place{}, syscall.ENOENT
	case len(name) >= maxPath:
		return place{}, syscall.ENAMETOOLONG
	case strings.IndexByte(name, 0) >= 0:
		return place{}, syscall.EINVAL
	}
	at, links := place{node: f.root}, 0
	for rest := strings.TrimLeft(name, "/"); rest != ""; rest = strings.TrimLeft(rest, "/") {
		part, more, slash := strings.Cut(rest, "/")
		last := strings.TrimLeft(more, "/") == ""
		dir := at.node
		next, err := dir.step(part, slash)
		if err != nil {
			return place{}, err
		}
		if next.node == nil && !last {
			return place{}, syscall.ENOENT
		}
		if next.node == nil {
			return next, nil
		}
		if next.node.target != "" && (!last || end == follow || slash && end == itself) {
			if links++; links > maxLinks {
				return place{}, syscall.ELOOP
			}
			rest = next.node.target
			if slash {
				rest += "/" + more
			}
			if at = (place{node: dir}); rest[0] == '/' {
				at.node = f.root
			}
			continue
		}
		if slash && next.node.entries == nil {
			return place{}, syscall.ENOTDIR // also for "file/" and "file/."
		}
		at, rest = next, more
	}
	return at, nil
}

// step finds one component in a directory.
func (n *node) step(part string, slash bool) (place, error) {
	switch {
	case n.entries == nil:
		return place{}, syscall.ENOTDIR
	case part == "." || part == ".." && n.parent == nil:
		return place{node: n}, nil
	case part == "..":
		return place{node: n.parent}, nil
	case len(part) > maxName:
		return place{}, syscall.ENAMETOOLONG
	}
	return place{node: n.entries[part], dir: n, base: part, slash: slash}, nil
}

// existing follows a path to what exists.
func (f *fileSystem) existing(name string, end ending) (place, error) {
	at, err := f.walk(name, end)
	if err == nil && at.node == nil {
		err = syscall.ENOENT
	}
	return at, err
}

// path returns the path of a place without links, . and ...
func (at place) path() string {
	if at.dir == nil {
		return at.node.path()
	}
	return join(at.dir.path(), at.base)
}

// path returns the path of a directory.
func (n *node) path() string {
	if n.parent == nil {
		return "/"
	}
	return join(n.parent.path(), n.name)
}

func join(dir, base string) string {
	if dir == "/" {
		return dir + base
	}
	return dir + "/" + base
}
