//go:build unix

package osproc

import (
	"errors"
	"os"
	"syscall"

	"assay/fakes/virtual"
	"assay/internal/base/crash"
)

// The read buffers: no delivery is larger.
const (
	pipeChunk = 32 << 10
	ptyChunk  = 16 << 10
)

// spawn starts a prepared command on the descriptors of the Spec.
func (s *System) spawn(spec virtual.Spec, c command) (*Process, error) {
	p := &Process{sys: s, exited: make(chan struct{}), drained: make(chan struct{}), gaveUp: make(chan struct{})}
	var child []*os.File // the child's ends
	var err error
	if spec.PTY != nil {
		child, err = p.onTerminal(spec)
	} else {
		child, err = p.onPipes(spec)
	}
	if err == nil {
		p.proc, err = c.start(child, spec.PTY != nil)
	}
	if p.tty != nil && err == nil {
		p.slave = child[0] // until the process ends
	} else {
		closeAll(child)
	}
	if err != nil {
		p.closeFiles()
		return nil, err
	}
	p.pid = uint32(p.proc.Pid)
	s.add(p)
	for _, r := range p.readers {
		crash.Go(r.run)
	}
	crash.Go(p.wait)
	return p, nil
}

// start runs exec. A command that cannot run becomes a process that prints the error.
func (c command) start(files []*os.File, terminal bool) (*os.Process, error) {
	if terminal {
		files = []*os.File{files[0], files[0], files[0]}
	}
	attr := &os.ProcAttr{
		Dir: c.dir, Env: c.env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: terminal}, // Ctty 0: the child's stdin
	}
	proc, err := os.StartProcess(c.file, c.argv, attr)
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		c = c.asScript()
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM),
		errors.Is(err, syscall.ETXTBSY), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		c = c.failing(err)
	case errors.Is(err, syscall.E2BIG):
		return nil, syscall.E2BIG // "argument list too long"
	default:
		return proc, err
	}
	return os.StartProcess(c.file, c.argv, attr)
}

// onPipes creates a pipe for each stream; stdin is /dev/null unless requested.
func (p *Process) onPipes(spec virtual.Spec) (child []*os.File, err error) {
	var in, w *os.File
	if spec.Stdin {
		if in, w, err = os.Pipe(); err != nil {
			return nil, err
		}
		p.in = newInput(w)
	} else if in, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	child = append(child, in)
	for _, stream := range []virtual.Stream{virtual.Stdout, virtual.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return child, err
		}
		child = append(child, w)
		p.readers = append(p.readers, newReader(r, stream, spec.Output, pipeChunk))
	}
	return child, nil
}

// closeFiles closes our ends after a failed start.
func (p *Process) closeFiles() {
	if p.in != nil {
		p.in.close()
	}
	for _, r := range p.readers {
		_ = r.f.Close() // nothing was written
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // the child has its own copy
	}
}
