package virtual

import (
	"io/fs"
	"strings"
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
