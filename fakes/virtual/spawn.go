package virtual

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
)

// maxArg is Linux's MAX_ARG_STRLEN: one argument or environment string with its final NUL.
const maxArg = 128 << 10

// maxArgs is the room for all arguments and the environment (Linux's default ARG_MAX).
const maxArgs = 2 << 20

// defaultPath is the PATH of a process whose Spec names none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// DefaultTerm is the TERM of a process with a terminal whose Spec names none: what the official SDKs ask for.
const DefaultTerm = "xterm-256color"

// Stream says where output comes from.
type Stream int

// The streams of a process: stdout and stderr of one without a terminal, PTY for all output of one with a terminal.
const (
	Stdout Stream = iota + 1
	Stderr
	PTY
)

// Spec is what to run.
type Spec struct {
	// Argv is the command and its arguments, looked up in the PATH of Env. What is not found still runs: it prints to stderr and exits with 127
	// (126 for a directory or a file that is not executable). An empty Argv is such a command too.
	Argv []string
	// Env is added to PATH, HOME, USER, LOGNAME and E2B_SANDBOX, and TERM with a terminal, and wins over them.
	Env map[string]string
	// Dir is the working directory. "" is the user's home; relative paths are joined to it.
	Dir string
	// User names the home directory: /root for "" and "root", else /home/NAME. It grants and takes no rights.
	User string
	// Stdin keeps stdin open for [Process.Write]. Without it stdin is at its end.
	Stdin bool
	// PTY gives the process a terminal of this size: it leads a session, its three descriptors are the terminal, and all output of the
	// tree comes as the stream [PTY], through the line discipline. stdin is open whatever Stdin says; it ends by ^D and not by CloseStdin.
	PTY *Size
	// Output gets each write of the process tree, in the order of the writes per stream, never two of one stream at a time. nil discards.
	// p is only valid during the call. Output may block: then the writer does, which is back-pressure, and others that write to the
	// same stream wait behind it. Signals and [System.KillAll] do not wait for it: a killed process has Exited at once and
	// Drained when the blocked call has returned. Whoever blocks in Output must therefore return by its own means, or Drained never comes.
	Output func(s Stream, p []byte)
}

// Size is the size of a terminal in characters. Only the low 16 bits of each count, as on Linux; 0 by 0 is a size that nobody has set.
type Size struct{ Cols, Rows uint32 }

// SpawnError is a failure before there is a process: the working directory is missing or not a directory, a NUL byte in an argument,
// in the environment or in the directory, or a list of arguments that is too long.
type SpawnError struct{ Reason string }

// Error is the reason, in the words of the real daemon.
func (e *SpawnError) Error() string { return e.Reason }

// Start starts a process and returns at once. Its error is always a [*SpawnError]; everything that goes wrong later is an exit code and text on stderr.
// An idle process costs a goroutine, a few KiB of memory and no file descriptor.
func (s *System) Start(spec Spec) (*Process, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	home := "/root"
	user := "root"
	if spec.User != "" && spec.User != "root" {
		user, home = spec.User, "/home/"+spec.User
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

	p := s.newLeader(spec)
	t := &task{p: p, args: append([]string(nil), spec.Argv...), env: env, dir: dir}
	go t.main()
	return p, nil
}

// newLeader makes the process that a Start stands for, with its three descriptors.
func (s *System) newLeader(spec Spec) *Process {
	p := &Process{sys: s, ppid: 1, done: make(chan struct{}), tree: &tree{}}
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

// Check finds what is wrong with a Spec before any file is looked at: a NUL byte, a list of arguments that is too long. Its error is always a [*SpawnError].
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
