package virtual

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	"assay/internal/base/crash"
)

// maxArg is Linux's MAX_ARG_STRLEN: the maximum length of an argument or environment string with its NUL.
const maxArg = 128 << 10

// maxArgs is the maximum size of all arguments and the environment (Linux's default ARG_MAX).
const maxArgs = 2 << 20

// defaultPath is the PATH of a process unless its Spec sets one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// DefaultTerm is the TERM of a process with a terminal unless its Spec sets one. The official SDKs use the same.
const DefaultTerm = "xterm-256color"

// Stream is the source of output.
type Stream int

// The streams of a process: stdout and stderr of one without a terminal, PTY for all output of one with a terminal.
const (
	Stdout Stream = iota + 1
	Stderr
	PTY
)

// Spec describes a process to start.
type Spec struct {
	// Argv is the command, looked up in the PATH of Env, and its arguments. A missing command still starts a process, which prints to stderr and exits
	// with 127 (126 for a directory or a file that is not executable). So does an empty Argv.
	Argv []string
	// Env is added to PATH, HOME, USER, LOGNAME and E2B_SANDBOX, and TERM with a terminal, and overrides them.
	Env map[string]string
	// Dir is the working directory. "" is the user's home; relative paths are joined to it.
	Dir string
	// User selects the home directory: /root for "" and "root", else /home/NAME. It owns the files that the processes create; it does not
	// change rights.
	User string
	// Stdin keeps stdin open for [Process.Write]. Without it stdin is empty.
	Stdin bool
	// PTY gives the process a terminal of this size: it leads a session, its three descriptors are the terminal, and all output of the tree is the stream
	// [PTY], through the line discipline. stdin is open regardless of Stdin; ^D ends it, CloseStdin does not.
	PTY *Size
	// Output receives each write of the process tree, in order and one at a time per stream. nil discards. p is only valid during the call. If Output
	// blocks, the writer and later writers of the same stream block (back-pressure). Signals and [System.KillAll] do not wait for it: after a kill, Exited
	// closes at once and Drained when the blocked call returns. An Output that never returns therefore prevents Drained.
	Output func(s Stream, p []byte)
}

// Size is the size of a terminal in characters. Only the low 16 bits count, as on Linux; 0 by 0 is an unset size.
type Size struct{ Cols, Rows uint32 }

// SpawnError is a failure before the process exists: a missing or invalid working directory, a NUL byte in an argument, in the environment or in the
// directory, or an argument list that is too long, or no memory.
type SpawnError struct {
	Reason string
	// Exhausted means that the sandbox has no room: the same command may start later.
	Exhausted bool
}

// Error returns the reason, with the text of the real daemon.
func (e *SpawnError) Error() string { return e.Reason }

// Start starts a process and returns at once. Its error is always a [*SpawnError]; later errors are an exit code and text on stderr. An idle process uses
// a goroutine, a few KiB of memory and no file descriptor.
func (s *System) Start(spec Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	user := spec.user()
	home, known := accounts[user]
	if !known {
		home = "/home/" + user
	}
	dir := spec.Dir
	if !path.IsAbs(dir) {
		dir = path.Join(home, dir)
	}
	dir = path.Clean(dir)
	if err := s.checkDir(dir); err != nil {
		return nil, err
	}
	env := map[string]string{
		"PATH": defaultPath, "HOME": home, "USER": user, "LOGNAME": user, "E2B_SANDBOX": "true",
	}
	if spec.PTY != nil {
		env["TERM"] = DefaultTerm
	}
	maps.Copy(env, spec.Env)

	if s.full() {
		return nil, &SpawnError{Reason: "cannot allocate memory", Exhausted: true}
	}
	p := s.newLeader(spec)
	t := &task{p: p, args: append([]string(nil), spec.Argv...), env: env, dir: dir}
	crash.Go(t.main)
	return p, nil
}

func (spec Spec) user() string {
	if spec.User == "" {
		return superuser
	}
	return spec.User
}

// newLeader creates the process of a Start, with its three descriptors.
func (s *System) newLeader(spec Spec) *Process {
	p := &Process{sys: s, ppid: 1, done: make(chan struct{}), tree: &tree{user: spec.user()}}
	switch {
	case spec.PTY != nil:
		p.out = newOutput(spec.Output, 1)
		p.tty = &terminal{sys: s, out: p.out, number: s.terminals.Add(1) - 1, disc: newDiscipline(), size: spec.PTY.wrapped()}
		f := newFile(ttyFile{p.tty})
		p.fds = []*file{f, f.dup(), f.dup()}
	default:
		p.out = newOutput(spec.Output, 2)
		in := newFile(null{})
		if spec.Stdin {
			p.stdin = &pipe{}
			in = newFile(pipeReader{p.stdin})
		}
		p.fds = []*file{in, newFile(sink{p.out, Stdout}), newFile(sink{p.out, Stderr})}
	}
	p.tree.live.Store(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	s.register(p)
	p.pgid.Store(p.pid)
	if p.tty != nil {
		p.tty.leader, p.tty.foreground = p.pid, p.pid
	}
	return p
}

// Check validates a Spec without accessing files: NUL bytes, the length of the argument list. Its error is always a [*SpawnError].
func (spec Spec) Check() error {
	total := 0
	check := func(arg string) error {
		if strings.IndexByte(arg, 0) >= 0 {
			return &SpawnError{Reason: "invalid argument"}
		}
		total += len(arg) + 1
		if len(arg)+1 > maxArg || total > maxArgs {
			return &SpawnError{Reason: "argument list too long"}
		}
		return nil
	}
	for _, arg := range spec.Argv {
		if err := check(arg); err != nil {
			return err
		}
	}
	for k, v := range spec.Env {
		if err := check(k + "=" + v); err != nil {
			return err
		}
	}
	if strings.IndexByte(spec.Dir+spec.User, 0) >= 0 {
		return &SpawnError{Reason: "invalid argument"}
	}
	return nil
}

func (s *System) checkDir(dir string) error {
	info, err := s.fs.stat(dir)
	if err != nil {
		return &SpawnError{Reason: fmt.Sprintf("cwd '%s' does not exist", dir)}
	}
	if info.Mode()&fs.ModeDir == 0 {
		return &SpawnError{Reason: "not a directory"}
	}
	return nil
}
