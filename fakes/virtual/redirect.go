package virtual

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// withRedirs runs fn under redirections and undoes them. If one fails, fn does not run and the status is 2.
func (sh *shell) withRedirs(redirs []*syntax.Redirect, fn func() int) int {
	if len(redirs) == 0 {
		return fn()
	}
	type saved struct{ at, fd int }
	var undo []saved
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			sh.p.restore(undo[i].at, undo[i].fd)
		}
	}()
	for _, rd := range redirs {
		fds, err := targets(rd)
		if err == nil {
			for _, fd := range fds {
				undo = append(undo, saved{sh.p.save(fd), fd})
			}
			err = sh.redirect(rd)
		}
		if err != nil {
			return sh.redirectError(err)
		}
	}
	return fn()
}

// redirectError reports a failed redirection. It ends the shell only if it is out of memory.
func (sh *shell) redirectError(err error) int {
	sh.errorf("%v", err)
	if errors.Is(err, errNoMemory) {
		return sh.exit(2)
	}
	return 2
}

// targets returns the descriptors that a redirection changes.
func targets(rd *syntax.Redirect) ([]int, error) {
	switch rd.Op {
	case syntax.RdrAll, syntax.AppAll:
		return []int{1, 2}, nil
	}
	fd := 1
	switch rd.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		fd = 0
	}
	if rd.N != nil {
		n, err := strconv.Atoi(rd.N.Value)
		if err != nil || n < 0 || n >= shellFDs {
			return nil, fmt.Errorf("%s: Bad file descriptor", rd.N.Value)
		}
		fd = n
	}
	return []int{fd}, nil
}

func (sh *shell) redirect(rd *syntax.Redirect) error { return sh.redirectFor(sh.p, rd) }

// redirectFor applies one redirection to p.
func (sh *shell) redirectFor(p *Process, rd *syntax.Redirect) error {
	fds, err := targets(rd)
	if err != nil {
		return err
	}
	f, err := sh.openRedirect(p, rd)
	if err != nil {
		return err
	}
	for i, fd := range fds {
		if i > 0 {
			f.dup()
		}
		p.set(fd, f)
	}
	return nil
}

// openRedirect returns the file of a redirection; nil closes the descriptor.
func (sh *shell) openRedirect(p *Process, rd *syntax.Redirect) (*file, error) {
	if rd.Op == syntax.Hdoc || rd.Op == syntax.DashHdoc {
		text, err := sh.hereText(rd)
		if err != nil {
			return nil, err
		}
		return newFile(&document{text: []byte(text)}), nil
	}
	word, err := sh.literal(rd.Word)
	if err != nil {
		return nil, err
	}
	switch rd.Op {
	case syntax.WordHdoc:
		return newFile(&document{text: []byte(word + "\n")}), nil
	case syntax.DplIn, syntax.DplOut:
		return duplicate(p, word)
	case syntax.RdrIn:
		return sh.openFile(p, word, openRead)
	case syntax.RdrInOut:
		return sh.openFile(p, word, openBoth)
	case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
		return sh.openFile(p, word, openWrite)
	case syntax.AppOut, syntax.AppAll:
		return sh.openFile(p, word, openAppend)
	}
	return nil, complaint("Syntax error: redirection unexpected")
}

func duplicate(p *Process, word string) (*file, error) {
	if word == "-" {
		return nil, nil // a closed descriptor
	}
	fd, err := strconv.Atoi(word)
	if err != nil || fd < 0 || fd >= shellFDs {
		return nil, fmt.Errorf("%s: Bad file descriptor", word)
	}
	f := p.get(fd)
	if f == nil {
		return nil, fmt.Errorf("%s: Bad file descriptor", word)
	}
	return f, nil
}

func (sh *shell) openFile(p *Process, name string, mode openMode) (*file, error) {
	f, err := p.open(absPath(sh.dir, name), mode)
	switch {
	case name == "" || err == nil:
	case mode == openRead:
		return nil, fmt.Errorf("cannot open %s: %s", name, openReason(err))
	default:
		return nil, fmt.Errorf("cannot create %s: %s", name, createReason(err))
	}
	if name == "" {
		f.close()
		return nil, complaint("cannot open : No such file")
	}
	return f, nil
}

// open opens a file from the view of the process: /dev/stdin and similar are its own descriptors, /dev/tty is its terminal.
func (p *Process) open(name string, mode openMode) (*file, error) {
	if name == "/dev/tty" || p.tty != nil && name == p.tty.name() {
		if p.tty != nil {
			if f := p.tty.open(); f != nil {
				return f, nil
			}
		}
		return nil, syscall.ENXIO
	}
	fd := -1
	switch name {
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		fd = 0
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		fd = 1
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		fd = 2
	}
	if fd < 0 {
		return p.sys.fs.open(name, mode, p.tree.user)
	}
	if f := p.get(fd); f != nil {
		return f, nil
	}
	return nil, p.badFD()
}
