package virtual

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// tester evaluates the expressions of test and [.
type tester struct {
	stat func(name string) (fs.FileInfo, error)
	// lstat does not follow a link.
	lstat func(name string) (fs.FileInfo, error)
	// terminal reports whether a descriptor is a terminal.
	terminal func(fd int) bool
	args     []string
	depth    int // of parentheses
	err      error
}

// maxParens limits the nesting of parentheses, because their evaluation recurses.
const maxParens = 1000

func testBuiltin(sh *shell, args []string) int {
	status, complaint := testCommand(sh.p, sh.dir, args)
	if complaint != "" {
		sh.errorf("%s: %s", args[0], complaint)
	}
	return status
}

// testCommand implements test and [ for the shell and the program.
func testCommand(p *Process, dir string, args []string) (status int, complaint string) {
	name, args := args[0], args[1:]
	if strings.HasSuffix(name, "[") {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return 2, "missing ]"
		}
		args = args[:len(args)-1]
	}
	t := newTester(p, dir)
	t.args = args
	if len(args) == 0 {
		return 1, ""
	}
	ok := t.whole()
	if t.err == nil && len(t.args) > 0 {
		t.err = fmt.Errorf("%s: unexpected operator", t.args[0])
	}
	if t.err != nil {
		return 2, t.err.Error()
	}
	return truth(ok), ""
}

func newTester(p *Process, dir string) *tester {
	return &tester{
		stat:     absolutely(dir, p.sys.fs.stat),
		lstat:    absolutely(dir, p.sys.fs.lstat),
		terminal: func(fd int) bool { return p.terminal(fd) != nil },
	}
}

// absolutely returns a stat of paths relative to dir.
func absolutely(dir string, stat func(name string) (fs.FileInfo, error)) func(name string) (fs.FileInfo, error) {
	return func(name string) (fs.FileInfo, error) {
		if name == "" {
			return nil, fs.ErrNotExist
		}
		return stat(absPath(dir, name))
	}
}

// whole applies the POSIX rules for the number of arguments, and the grammar otherwise.
func (t *tester) whole() bool {
	a := t.args
	switch {
	case len(a) == 3 && isBinary(a[1]):
		t.args = nil
		return t.binary(a[0], a[1], a[2])
	case len(a) == 4 && a[0] == "!" && isBinary(a[2]):
		t.args = nil
		return !t.binary(a[1], a[2], a[3])
	case len(a) == 1:
		t.args = nil
		return a[0] != ""
	case len(a) == 2 && a[0] == "!":
		t.args = nil
		return a[1] == ""
	}
	return t.or()
}

func (t *tester) accept(word string) bool {
	if len(t.args) > 0 && t.args[0] == word {
		t.args = t.args[1:]
		return true
	}
	return false
}

func (t *tester) or() bool {
	ok := t.and()
	for t.err == nil && t.accept("-o") {
		right := t.and()
		ok = ok || right
	}
	return ok
}

func (t *tester) and() bool {
	ok := t.not()
	for t.err == nil && t.accept("-a") {
		right := t.not()
		ok = ok && right
	}
	return ok
}

func (t *tester) not() bool {
	negate := false
	for len(t.args) > 1 && t.accept("!") {
		negate = !negate
	}
	return t.primary() != negate
}

func (t *tester) primary() bool {
	if len(t.args) == 0 {
		t.err = errors.New("argument expected")
		return false
	}
	a := t.args
	if len(a) >= 3 && isBinary(a[1]) {
		t.args = a[3:]
		return t.binary(a[0], a[1], a[2])
	}
	if a[0] == "(" {
		if t.depth++; t.depth > maxParens {
			t.err = errors.New("nested too deeply")
			return false
		}
		defer func() { t.depth-- }()
		t.args = a[1:]
		ok := t.or()
		if t.err == nil && !t.accept(")") {
			t.err = errors.New("closing paren expected")
		}
		return ok
	}
	if len(a) >= 2 && isUnary(a[0]) {
		t.args = a[2:]
		return t.unary(a[0], a[1])
	}
	t.args = a[1:]
	return a[0] != ""
}

func isUnary(op string) bool {
	return len(op) == 2 && op[0] == '-' && strings.IndexByte("nzdefprstwxhLbcSGO", op[1]) >= 0
}

func isBinary(op string) bool {
	switch op {
	case "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
		return true
	}
	return false
}

func (t *tester) unary(op, arg string) bool {
	switch op {
	case "-n":
		return arg != ""
	case "-z":
		return arg == ""
	case "-t":
		return t.terminal(int(t.integer(arg)))
	}
	stat := t.stat
	if op == "-L" || op == "-h" {
		stat = t.lstat
	}
	info, err := stat(arg)
	if err != nil {
		return false
	}
	switch op {
	case "-d":
		return info.IsDir()
	case "-f":
		return info.Mode().IsRegular()
	case "-s":
		return info.Size() > 0 || info.IsDir()
	case "-x":
		return info.Mode()&0o111 != 0
	case "-L", "-h":
		return info.Mode()&fs.ModeSymlink != 0
	case "-c":
		return info.Mode()&fs.ModeCharDevice != 0
	case "-e", "-r", "-w", "-O", "-G":
		return true
	}
	return false // no sockets and pipes
}

func (t *tester) binary(x, op, y string) bool {
	switch op {
	case "=", "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case ">":
		return x > y
	}
	a, b := t.integer(x), t.integer(y)
	switch op {
	case "-eq":
		return a == b
	case "-ne":
		return a != b
	case "-lt":
		return a < b
	case "-le":
		return a <= b
	case "-gt":
		return a > b
	}
	return a >= b // -ge
}

func (t *tester) integer(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil && t.err == nil {
		t.err = complaint("Illegal number: " + s)
	}
	return n
}
