package virtual

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
)

// mktempProgram is mktemp [-dqu] [-p DIR] [-t] [TEMPLATE].
func mktempProgram(t *task) int {
	args, dir, flags := t.args[1:], "", ""
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch {
		case strings.Trim(args[0][1:], "dqut") == "":
			flags += args[0]
		case args[0] == "-p" && len(args) > 1:
			dir = args[1]
			args = args[1:]
		case strings.HasPrefix(args[0], "--tmpdir="):
			dir = strings.TrimPrefix(args[0], "--tmpdir=")
		default:
			return t.fail("invalid option '%s'", args[0])
		}
		args = args[1:]
	}
	template := "tmp.XXXXXXXXXX"
	if len(args) > 0 {
		template = args[0]
	} else if dir == "" {
		dir = t.temporary()
	}
	if strings.Contains(flags, "t") && dir == "" {
		dir = t.temporary()
	}
	if dir != "" {
		template = strings.TrimSuffix(dir, "/") + "/" + template
	}
	stem := strings.TrimRight(template, "X")
	if len(template)-len(stem) < 3 {
		return t.fail("too few X's in template '%s'", template)
	}
	for range 100 {
		name := stem + randomName(len(template)-len(stem))
		err := t.reserve(t.abs(name), flags)
		if err == nil {
			return t.print(name + "\n")
		}
		if !errors.Is(err, syscall.EEXIST) {
			return t.fail("failed to create '%s': %s", template, reason(err))
		}
	}
	return t.fail("failed to create '%s': File exists", template)
}

// temporary returns the directory for temporary files.
func (t *task) temporary() string {
	if dir := t.env["TMPDIR"]; dir != "" {
		return dir
	}
	return "/tmp"
}

func randomName(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))] //nolint:gosec // a name, not a secret
	}
	return string(b)
}

// reserve creates a file or directory that only its owner can use.
func (t *task) reserve(name, flags string) error {
	n := newText("", t.p.tree.user)
	n.mode = 0o600
	if strings.Contains(flags, "d") {
		n = newDir(t.p.tree.user)
		n.mode = fs.ModeDir | 0o700
	}
	f := t.p.sys.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := f.free(name)
	if err != nil || strings.Contains(flags, "u") {
		return err
	}
	return f.add(at.dir, at.base, n)
}
