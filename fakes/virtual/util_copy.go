package virtual

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// cpProgram is cp [-rRaPpf] FROM… TO.
func cpProgram(t *task) int {
	flags, names, ok := t.letters("rRaPpfdT")
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return t.fail("missing file operand")
	}
	to := t.abs(names[len(names)-1])
	names = names[:len(names)-1]
	if info, err := t.p.sys.fs.stat(to); len(names) > 1 && (err != nil || !info.IsDir()) {
		return t.fail("target '%s' is not a directory", to)
	}
	recursive := strings.ContainsAny(flags, "rRa")
	return t.each(names, func(name string) error {
		from, dest := t.abs(name), t.into(to, name)
		info, err := t.p.sys.fs.stat(from)
		switch {
		case err != nil && !recursive:
			return err
		case !recursive && info.IsDir():
			return syscall.EISDIR
		case !recursive:
			return t.copyFile(from, dest, info.Mode())
		}
		if path.Clean(dest) == path.Clean(from) || strings.HasPrefix(path.Clean(dest), path.Clean(from)+"/") {
			return syscall.EINVAL
		}
		return t.walkFiles(from, 0, func(at visit) error { return t.copyEntry(at, dest+at.name[min(len(from), len(at.name)):]) })
	})
}

// copyEntry copies one entry of a recursive copy.
func (t *task) copyEntry(at visit, dest string) error {
	info, _ := at.info.(fileInfo)
	switch {
	case info.target != "":
		return t.p.sys.fs.symlink(info.target, dest, t.p.tree.user)
	case !info.IsDir():
		return t.copyFile(at.name, dest, info.mode)
	}
	if old, err := t.p.sys.fs.stat(dest); err == nil && old.IsDir() {
		return nil
	}
	if err := t.p.sys.fs.mkdir(dest, t.p.tree.user); err != nil {
		return err
	}
	return t.p.sys.fs.chmod(dest, func(fs.FileMode) fs.FileMode { return info.mode })
}

// copyFile copies the content; a new file gets the mode too.
func (t *task) copyFile(from, to string, mode fs.FileMode) error {
	source, err := t.p.sys.fs.open(from, openRead, "")
	if err != nil {
		return err
	}
	defer source.close()
	a, _ := t.p.sys.fs.stat(from)
	b, missing := t.p.sys.fs.stat(to)
	if missing == nil && a != nil && a.Sys() == b.Sys() {
		return complaint("they are the same file")
	}
	dest, err := t.p.sys.fs.open(to, openWrite, t.p.tree.user)
	if err != nil {
		return err
	}
	defer dest.close()
	if missing != nil {
		if err := t.p.sys.fs.chmod(to, func(fs.FileMode) fs.FileMode { return mode }); err != nil {
			return err
		}
	}
	err = t.chunks(source, func(b []byte) error { return dest.desc.write(stop{dead: t.p.done}, b) })
	if isEOF(err) {
		return nil
	}
	return err
}

// rmdirProgram is rmdir [-p] DIR….
func rmdirProgram(t *task) int {
	flags, names, ok := t.letters("p")
	if !ok {
		return 1
	}
	return t.each(names, func(name string) error {
		err := t.p.sys.fs.rmdir(t.abs(name))
		for up := path.Dir(name); err == nil && flags != "" && up != "." && up != "/"; up = path.Dir(up) {
			err = t.p.sys.fs.rmdir(t.abs(up))
		}
		return err
	})
}
