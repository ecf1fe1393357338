//go:build unix

package osproc

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// maxPath is PATH_MAX, with the NUL at the end of a path; maxName is NAME_MAX.
const (
	maxPath = 4096
	maxName = 255
)

// maxLinks is how many links a path may lead through on Linux.
const maxLinks = 40

// ending says what a path means whose last component is a link.
type ending int

const (
	follow ending = iota // what the link names
	itself               // the link; with a slash behind it, what it names
	entry                // the link; with a slash behind it, no directory
)

// place is where a path leads.
type place struct {
	rel   string      // from the root, without links; "." is the root
	info  fs.FileInfo // nil if nothing is there
	slash bool        // a slash follows
	dot   bool        // the path ends in . or ..
}

// walk resolves a path. [os.Root] resolves links as well, but none with an absolute target. A link that is put into the way between walk and the use of
// its result can lead elsewhere below the root, never out of it.
func (t *files) walk(name string, end ending) (place, error) {
	switch {
	case name == "":
		return place{}, syscall.ENOENT
	case len(name) >= maxPath:
		return place{}, syscall.ENAMETOOLONG
	case strings.IndexByte(name, 0) >= 0:
		return place{}, syscall.EINVAL
	}
	if err := t.open(); err != nil {
		return place{}, err
	}
	rest, err := t.below(name)
	if err != nil {
		return place{}, err
	}
	w := walker{files: t, end: end, at: place{rel: "."}, rest: rest}
	for w.rest = strings.TrimLeft(w.rest, "/"); w.rest != ""; w.rest = strings.TrimLeft(w.rest, "/") {
		if done, err := w.step(); done || err != nil {
			return w.at, err
		}
	}
	if w.at.info == nil {
		w.at.info, err = t.root.Lstat(w.at.rel)
	}
	return w.at, err
}

// below returns the part of an absolute path below the root.
func (t *files) below(name string) (string, error) {
	for _, try := range []string{name, path.Clean(name)} {
		for _, base := range []string{t.base, t.real} {
			if rest, ok := cutBase(try, base); ok {
				return rest, nil
			}
		}
	}
	return "", syscall.EACCES
}

// cutBase cuts the components of base off name, which can contain more slashes and dots.
func cutBase(name, base string) (rest string, ok bool) {
	if base == "/" {
		return name, strings.HasPrefix(name, "/")
	}
	rest = name
	for want := range strings.SplitSeq(strings.Trim(base, "/"), "/") {
		part := "."
		for part == "." && rest != "" {
			part, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		}
		if part != want {
			return "", false
		}
	}
	return rest, true
}

// walker is a walk in progress: at is a directory, or the end.
type walker struct {
	*files
	end   ending
	at    place
	rest  string
	links int
}

// step takes one component. done reports an end whose entry is missing.
func (w *walker) step() (done bool, err error) {
	if w.at.info != nil && !w.at.info.IsDir() {
		return false, syscall.ENOTDIR // "file/", "file/."
	}
	part, more, slash := strings.Cut(w.rest, "/")
	switch {
	case part == ".":
		w.at, w.rest = place{rel: w.at.rel, dot: true}, more
		return false, nil
	case part == ".." && w.at.rel == ".":
		return false, w.jump(path.Dir(w.real) + "/" + more)
	case part == "..":
		w.at, w.rest = place{rel: path.Dir(w.at.rel), dot: true}, more
		return false, nil
	case len(part) > maxName:
		return false, syscall.ENAMETOOLONG
	}
	last := strings.TrimLeft(more, "/") == ""
	next := place{rel: path.Join(w.at.rel, part), slash: slash}
	next.info, err = w.root.Lstat(next.rel)
	if errors.Is(err, syscall.ENOENT) || isUpload(part) {
		if !last {
			return false, syscall.ENOENT
		}
		next.info = nil
		w.at = next
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if next.info.Mode()&fs.ModeSymlink != 0 && (!last || w.end == follow || slash && w.end == itself) {
		return false, w.link(next.rel, more, slash)
	}
	if slash && !next.info.IsDir() {
		return false, syscall.ENOTDIR
	}
	w.at, w.rest = next, more
	return false, nil
}

// link replaces a link by its target.
func (w *walker) link(rel, more string, slash bool) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	target, err := w.root.Readlink(rel)
	if err != nil {
		return err
	}
	if slash {
		target += "/" + more
	}
	if strings.HasPrefix(target, "/") {
		return w.jump(target)
	}
	w.at, w.rest = place{rel: w.at.rel}, target
	return nil
}

// jump continues with an absolute path.
func (w *walker) jump(name string) (err error) {
	w.at = place{rel: "."}
	w.rest, err = w.below(name)
	return err
}

// existing resolves a path to what exists.
func (t *files) existing(name string, end ending) (place, error) {
	at, err := t.walk(name, end)
	if err == nil && at.info == nil {
		err = syscall.ENOENT
	}
	return at, err
}
