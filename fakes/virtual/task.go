package virtual

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// program is a utility. It returns its exit code, which is ignored if the process has ended meanwhile. It may block only in reads, writes and waits of
// its task, which end with the process.
type program func(t *task) int

// task is a running program: its process and its arguments.
type task struct {
	p     *Process
	args  []string // args[0] is the name
	env   map[string]string
	dir   string
	depth int // nesting, see maxDepth
}

// main runs a process of Start to its end.
func (t *task) main() {
	if len(t.args) == 0 {
		t.args = []string{""}
	}
	t.p.exit(t.exec("sh: 1: "))
}

// programDepth is what a program that replaces another counts against maxDepth: both are on the stack.
const programDepth = 10

// exec runs the command args[0] in this process. prefix is the prefix of an error message.
func (t *task) exec(prefix string) int {
	run, code, reason := t.resolve(0)
	if run != nil && t.depth > 0 && (t.depth > maxDepth || t.size() > maxArgs) {
		run, code, reason = nil, 126, "Argument list too long"
	}
	if run == nil {
		t.say(2, fmt.Sprintf("%s%s: %s\n", prefix, t.args[0], reason))
		return code
	}
	return run(t)
}

// size returns the size of the arguments and the environment for the kernel's limit.
func (t *task) size() int {
	n := 0
	for _, arg := range t.args {
		n += len(arg) + 1
	}
	for k, v := range t.env {
		n += len(k) + len(v) + 2
	}
	return n
}

// maxInterpreters limits chains of #! interpreters.
const maxInterpreters = 4

// resolve looks up args[0] like the kernel and the shell. Without a program it returns the reason and the code: 127 for not found, 126 for not runnable.
func (t *task) resolve(depth int) (run program, code int, reason string) {
	name := t.args[0]
	file, info, err := t.lookPath(name)
	if err != nil {
		if errors.Is(err, syscall.EACCES) {
			return nil, 126, "Permission denied"
		}
		return nil, 127, "not found"
	}
	if info.program != "" {
		return t.p.sys.programs[info.program], 0, ""
	}
	return t.script(file, depth)
}

// script prepares a text file: its #! names the interpreter, by default sh.
func (t *task) script(file string, depth int) (run program, code int, reason string) {
	first, err := t.firstLine(file)
	if err != nil {
		return nil, 126, "Permission denied"
	}
	line, ok := strings.CutPrefix(first, "#!")
	if !ok {
		t.args = append([]string{"/bin/sh", file}, t.args[1:]...)
		return shellMain, 0, ""
	}
	interp, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	args := []string{interp}
	if arg = strings.TrimSpace(arg); arg != "" {
		args = append(args, arg)
	}
	if depth >= maxInterpreters {
		return nil, 126, "Too many levels of interpreters"
	}
	sub := *t
	sub.args = append(append(args, file), t.args[1:]...)
	if run, _, _ = sub.resolve(depth + 1); run == nil {
		return nil, 127, "not found"
	}
	t.args = sub.args
	return run, 0, ""
}

func (t *task) firstLine(file string) (string, error) {
	f, err := t.p.sys.fs.open(file, openRead, "")
	if err != nil {
		return "", err
	}
	defer f.close()
	b, err := f.desc.read(stop{}, 256, '\n')
	if errors.Is(err, syscall.EISDIR) {
		return "", err
	}
	return string(b), nil
}

// lookPath finds an executable file, in PATH if the name has no slash.
func (t *task) lookPath(name string) (string, fileInfo, error) {
	if name == "" {
		return "", fileInfo{}, syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		return t.executable(t.abs(name))
	}
	dirs, ok := t.env["PATH"]
	if !ok {
		dirs = "/bin:/usr/bin"
	}
	failure := error(syscall.ENOENT)
	for dir := range strings.SplitSeq(dirs, ":") {
		file, info, err := t.executable(path.Join(t.abs(dir), name))
		if err == nil {
			return file, info, nil
		}
		if errors.Is(err, syscall.EACCES) {
			failure = err
		}
	}
	return "", fileInfo{}, failure
}

func (t *task) executable(file string) (string, fileInfo, error) {
	found, err := t.p.sys.fs.stat(file)
	if err != nil {
		return "", fileInfo{}, err
	}
	info, _ := found.(fileInfo)
	if info.IsDir() || info.mode&0o111 == 0 || info.mode&fs.ModeDevice != 0 {
		return "", fileInfo{}, syscall.EACCES
	}
	return file, info, nil
}

// abs joins a relative path to the working directory. "" stays "", which cannot be opened, except in PATH, where it means the working directory.
func (t *task) abs(name string) string { return absPath(t.dir, name) }

func absPath(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return dir + "/" + name
}

// say writes text to a descriptor and ignores errors, which the next write returns.
func (t *task) say(fd int, text string) { _ = t.p.write(fd, []byte(text)) }

// fail prints "NAME: message" to stderr and returns 1.
func (t *task) fail(format string, args ...any) int {
	t.say(2, path.Base(t.args[0])+": "+fmt.Sprintf(format, args...)+"\n")
	return 1
}

// reason returns the strerror text of an error.
func reason(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err.Error()
	}
	text := no.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}
