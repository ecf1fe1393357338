package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// config returns the configuration of the expansion, created on first use.
func (sh *shell) config() *expand.Config {
	if sh.cfg == nil {
		sh.cfg = &expand.Config{
			Env:      shellEnv{sh},
			CmdSubst: sh.commandSubst,
		}
	}
	sh.cfg.NoUnset = sh.opts.nounset
	sh.cfg.ReadDir2 = nil
	if !sh.opts.noglob {
		sh.cfg.ReadDir2 = func(dir string) ([]fs.DirEntry, error) {
			return sh.p.sys.fs.readDir(absPath(sh.dir, dir))
		}
	}
	return sh.cfg
}

// guard turns a panic of the expansion library into an error: no script may end this process.
func guard(err *error) {
	switch r := recover(); r {
	case nil:
	default:
		*err = fmt.Errorf("bad substitution: %v", r)
	}
}

// fields expands the words of a command.
func (sh *shell) fields(words []*syntax.Word) (list []string, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	defer guard(&err)
	list, size := make([]string, 0, len(words)), 0
	for _, w := range words {
		for field, err := range expand.FieldsSeq(sh.config(), w) {
			if err != nil {
				return nil, err
			}
			if sh.p.dead.Load() {
				return nil, errDead
			}
			list = append(list, field)
			if size += fieldSize + len(field); size > maxValue {
				return nil, errNoMemory
			}
		}
	}
	return list, nil
}

// literal expands a word to exactly one string.
func (sh *shell) literal(w *syntax.Word) (s string, err error) {
	defer guard(&err)
	return expand.Literal(sh.config(), w)
}

// hereText returns the body of a here-document, which is literal if the delimiter is quoted.
func (sh *shell) hereText(rd *syntax.Redirect) (text string, err error) {
	if rd.Hdoc == nil {
		return "", nil
	}
	defer guard(&err)
	if lit := rd.Hdoc.Lit(); lit != "" && quotedDelimiter(rd.Word) {
		text = lit
	} else if text, err = expand.Document(sh.config(), rd.Hdoc); err != nil {
		return "", err
	}
	if rd.Op == syntax.DashHdoc {
		var b strings.Builder
		b.Grow(len(text))
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimLeft(line, "\t"))
		}
		text = b.String()
	}
	return text, nil
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// expansionError ends the shell with 2, like dash, unless it is already ending.
func (sh *shell) expansionError(err error) int {
	if errors.Is(err, errDead) || errors.Is(err, context.Canceled) {
		return sh.exit(2)
	}
	text := strings.Replace(err.Error(), "unbound variable", "parameter not set", 1)
	if text == "division by zero" {
		text = "arithmetic expression: division by zero"
	}
	sh.errorf("%s", text)
	return sh.exit(2)
}

// commandSubst runs $(…): a subshell on this goroutine whose output is collected until its last holder closes it.
func (sh *shell) commandSubst(w io.Writer, cs *syntax.CmdSubst) error {
	child, err := sh.p.fork()
	if err != nil {
		return err
	}
	defer child.leave()
	got := &capture{reader: sh.p.done, closed: make(chan struct{})}
	child.set(1, newFile(got))
	sub := sh.subshell(child)
	if sub.fileShortcut(cs) {
		sub.last = 0
	} else {
		sub.stmts(cs.Stmts, true)
	}
	child.exit(sub.finish())
	select {
	case <-got.closed:
	case <-sh.p.done:
		return errDead
	}
	sh.substRan, sh.subst = true, child.Status().shellCode()
	text, err := got.whole()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// fileShortcut runs bash's $(<file).
func (sh *shell) fileShortcut(cs *syntax.CmdSubst) bool {
	if !sh.bash || len(cs.Stmts) != 1 {
		return false
	}
	st := cs.Stmts[0]
	if st.Cmd != nil || len(st.Redirs) != 1 || st.Redirs[0].Op != syntax.RdrIn {
		return false
	}
	if sh.redirect(st.Redirs[0]) != nil {
		return true
	}
	for {
		chunk, err := sh.p.read(0, pipeSize, noDelim)
		if err != nil || sh.p.write(1, chunk) != nil {
			return true
		}
	}
}
