package virtual

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// mkdirProgram is mkdir [-p] DIR….
func mkdirProgram(t *task) int {
	flags, names, ok := t.letters("p")
	if !ok {
		return 1
	}
	return t.each(names, func(name string) error {
		full := path.Clean(t.abs(name))
		if flags == "" {
			return t.p.sys.fs.mkdir(full, t.p.tree.user)
		}
		for i := 1; i < len(full); i++ {
			if full[i] == '/' {
				if err := t.p.sys.fs.mkdir(full[:i], t.p.tree.user); err != nil && !errors.Is(err, syscall.EEXIST) {
					return err
				}
			}
		}
		err := t.p.sys.fs.mkdir(full, t.p.tree.user)
		if info, statErr := t.p.sys.fs.stat(full); statErr == nil && info.IsDir() {
			return nil
		}
		return err
	})
}

// each applies fn to every operand and returns 1 if one failed.
func (t *task) each(names []string, fn func(name string) error) int {
	if len(names) == 0 {
		return t.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		if !t.p.goOn() {
			return 1
		}
		if err := fn(name); err != nil {
			status = t.fail("cannot %s '%s': %s", path.Base(t.args[0]), name, reason(err))
		}
	}
	return status
}

// rmProgram is rm [-rRf] FILE….
func rmProgram(t *task) int {
	flags, names, ok := t.letters("rRf")
	if !ok {
		return 1
	}
	force := strings.Contains(flags, "f")
	if force && len(names) == 0 {
		return 0
	}
	return t.each(names, func(name string) error {
		err := t.p.sys.fs.remove(t.abs(name), strings.ContainsAny(flags, "rR"))
		if force && (errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)) {
			return nil
		}
		return err
	})
}

// mvProgram is mv FROM… TO.
func mvProgram(t *task) int {
	_, names, ok := t.letters("fn")
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return t.fail("missing file operand")
	}
	to := t.abs(names[len(names)-1])
	names = names[:len(names)-1]
	if len(names) > 1 {
		if info, err := t.p.sys.fs.stat(to); err != nil || !info.IsDir() {
			return t.fail("target '%s' is not a directory", to)
		}
	}
	return t.each(names, func(name string) error {
		return t.p.sys.fs.rename(t.abs(name), t.into(to, name))
	})
}

// into returns the path that an entry gets when it is moved or copied to another: below it, if that is a directory.
func (t *task) into(to, name string) string {
	if info, err := t.p.sys.fs.stat(to); err == nil && info.IsDir() {
		return join(to, path.Base(name))
	}
	return to
}

// touchProgram is touch FILE….
func touchProgram(t *task) int {
	_, names, ok := t.letters("acm")
	if !ok {
		return 1
	}
	return t.each(names, func(name string) error { return t.p.sys.fs.touch(t.abs(name), t.p.tree.user) })
}

// lsProgram implements ls [-a1dl] [FILE]…: one name per line, like ls to a pipe.
func lsProgram(t *task) int {
	flags, names, ok := t.letters("aA1dl")
	if !ok {
		return 1
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	out := &gather{p: t.p}
	status := 0
	for i, name := range names {
		info, err := t.p.sys.fs.lstat(t.abs(name))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 && !strings.ContainsAny(flags, "dl") {
			if target, err := t.p.sys.fs.stat(t.abs(name)); err == nil && target.IsDir() {
				info = target
			}
		}
		if err != nil {
			status = t.fail("cannot access '%s': %s", name, reason(err))
			status = max(status, 2)
			continue
		}
		if !info.IsDir() || strings.Contains(flags, "d") {
			out.add([]byte(listed(name, info, flags))...)
			continue
		}
		if len(names) > 1 {
			if i > 0 {
				out.add('\n')
			}
			out.add([]byte(name + ":\n")...)
		}
		t.listDir(out, name, flags)
	}
	out.flush()
	return status
}

func (t *task) listDir(out *gather, name, flags string) {
	entries, err := t.p.sys.fs.readDir(t.abs(name))
	if err != nil {
		t.fail("cannot open directory '%s': %s", name, reason(err))
		return
	}
	if strings.Contains(flags, "a") {
		out.add([]byte(".\n..\n")...)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && (!strings.HasPrefix(e.Name(), ".") || strings.ContainsAny(flags, "aA")) {
			out.add([]byte(listed(e.Name(), info, flags))...)
		}
	}
}

func listed(name string, info fs.FileInfo, flags string) string {
	if !strings.Contains(flags, "l") {
		return name + "\n"
	}
	i, _ := info.(fileInfo)
	if i.target != "" {
		name += " -> " + i.target
	}
	return fmt.Sprintf("%s %d %s %s %d %s\n", modeText(i.mode), max(1, i.links), i.owner, i.owner, i.size, name)
}
