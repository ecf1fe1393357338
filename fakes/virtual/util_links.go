package virtual

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// lnProgram is ln [-sfn] TARGET… [NAME].
func lnProgram(t *task) int {
	flags, names, ok := t.letters("sfnvrT")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return t.fail("missing file operand")
	}
	to, targets := ".", names
	if len(names) > 1 {
		to, targets = names[len(names)-1], names[:len(names)-1]
	}
	return t.each(targets, func(target string) error { return t.link(target, to, flags) })
}

func (t *task) link(target, to, flags string) error {
	name := t.abs(to)
	if info, err := t.p.sys.fs.lstat(name); !strings.Contains(flags, "n") || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		name = t.into(name, target)
	}
	if strings.Contains(flags, "f") {
		if old, err := t.p.sys.fs.lstat(name); err == nil && !old.IsDir() {
			_ = t.p.sys.fs.remove(name, false) // the link fails then
		}
	}
	if strings.Contains(flags, "s") {
		return t.p.sys.fs.symlink(target, name, t.p.tree.user)
	}
	return t.p.sys.fs.link(t.abs(target), name)
}

// readlinkProgram is readlink [-fen] FILE….
func readlinkProgram(t *task) int {
	flags, names, ok := t.letters("fenqm")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return t.fail("missing operand")
	}
	end := "\n"
	if strings.Contains(flags, "n") && len(names) == 1 {
		end = ""
	}
	status := 0
	for _, name := range names {
		text, err := t.linkText(name, flags)
		if err != nil {
			status = 1
			continue
		}
		status = max(status, t.print(text+end))
	}
	return status
}

func (t *task) linkText(name, flags string) (string, error) {
	if strings.ContainsAny(flags, "fem") {
		return t.p.sys.fs.canonical(t.abs(name), strings.Contains(flags, "e"))
	}
	found, err := t.p.sys.fs.lstat(t.abs(name))
	if err != nil {
		return "", err
	}
	info, _ := found.(fileInfo)
	if info.target == "" {
		return "", syscall.EINVAL
	}
	return info.target, nil
}

// canonical returns a path without links. Its last component may be missing, unless exists.
func (f *fileSystem) canonical(name string, exists bool) (string, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	at, err := f.walk(name, follow)
	if err == nil && at.node == nil && exists {
		err = syscall.ENOENT
	}
	if err != nil {
		return "", err
	}
	return at.path(), nil
}

// realpathProgram is realpath [-e] FILE….
func realpathProgram(t *task) int {
	flags, names, ok := t.letters("em")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return t.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		text, err := t.p.sys.fs.canonical(t.abs(name), flags != "")
		if err != nil {
			status = t.fail("%s: %s", name, reason(err))
			continue
		}
		status = max(status, t.print(text+"\n"))
	}
	return status
}

// basenameProgram is basename NAME [SUFFIX].
func basenameProgram(t *task) int {
	args := t.args[1:]
	if len(args) == 0 {
		return t.fail("missing operand")
	}
	base := path.Base(args[0])
	if len(args) > 1 && base != args[1] {
		base = strings.TrimSuffix(base, args[1])
	}
	return t.print(base + "\n")
}

// dirnameProgram is dirname NAME….
func dirnameProgram(t *task) int {
	if len(t.args) < 2 {
		return t.fail("missing operand")
	}
	var b strings.Builder
	for _, name := range t.args[1:] {
		if short := strings.TrimRight(name, "/"); short != "" {
			name = short
		}
		b.WriteString(path.Dir(name) + "\n")
	}
	return t.print(b.String())
}
