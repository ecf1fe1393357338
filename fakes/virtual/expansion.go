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
			Env:       shellEnv{sh},
			CmdSubst:  sh.commandSubst,
			ProcSubst: sh.operate,
		}
	}
	sh.cfg.NoUnset = sh.opts.nounset
	sh.cfg.ReadDir2 = nil
	if !sh.opts.noglob {
		sh.cfg.ReadDir2 = func(dir string) ([]fs.DirEntry, error) {
			sh.spend(len(dir) + sh.p.sys.fs.listMemory(absPath(sh.dir, dir)))
			return sh.p.sys.fs.readDir(absPath(sh.dir, dir))
		}
	}
	return sh.cfg
}

// guard turns a panic of the expansion library into an error: no script may end this process.
func guard(err *error) {
	switch r := recover(); r {
	case nil:
	case errNoMemory:
		*err = errNoMemory
	default:
		*err = fmt.Errorf("bad substitution: %v", r)
	}
}

// fields expands the words of a command.
func (sh *shell) fields(words []*syntax.Word) (list []string, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	defer sh.settle(sh.spent)
	defer guard(&err)
	defer func() { sh.splits = false }()
	list = make([]string, 0, len(words))
	for _, w := range words {
		if text, ok := plainLiteral(w); ok {
			list = append(list, text)
			continue
		}
		cfg := sh.config()
		sh.splits, sh.dynamic = true, 0
		for _, part := range w.Parts {
			if lit, ok := part.(*syntax.Lit); ok && len(lit.Value) >= smallText {
				sh.glob(lit.Value)
			}
		}
		sh.splits = splits(w)
		for field, err := range expand.FieldsSeq(cfg, w) {
			if err != nil {
				return nil, err
			}
			if sh.p.dead.Load() {
				return nil, errDead
			}
			if list = append(list, field); len(list)%stepsPerTurn == 0 {
				sh.spend(stepsPerTurn * fieldMemory)
			}
			if len(field) >= smallText {
				sh.spend(len(field))
			}
		}
	}
	return list, nil
}

// plainLiteral returns the text of a word that is one literal without special characters: nothing expands in it.
func plainLiteral(w *syntax.Word) (text string, ok bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok || len(lit.Value) >= smallText {
		return "", false
	}
	for i := range len(lit.Value) {
		if !isPlain(lit.Value[i]) {
			return "", false
		}
	}
	return lit.Value, true
}

// splits reports whether a part of a word becomes fields.
func splits(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		}
	}
	return false
}

// literal expands a word to exactly one string.
func (sh *shell) literal(w *syntax.Word) (s string, err error) {
	defer sh.settle(sh.spent)
	defer guard(&err)
	return expand.Literal(sh.config(), w)
}

// hereText returns the body of a here-document, which is literal if the delimiter is quoted.
func (sh *shell) hereText(rd *syntax.Redirect) (text string, err error) {
	if rd.Hdoc == nil {
		return "", nil
	}
	defer sh.settle(sh.spent)
	defer guard(&err)
	if lit := rd.Hdoc.Lit(); lit != "" && quotedDelimiter(rd.Word) {
		text = lit
	} else if text, err = expand.Document(sh.config(), rd.Hdoc); err != nil {
		return "", err
	}
	if rd.Op == syntax.DashHdoc {
		sh.spend(len(text))
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
	child, err := sh.fork()
	if err != nil {
		return err
	}
	defer child.leave()
	got := &capture{reader: sh.p.done, memory: sh.memory(), closed: make(chan struct{})}
	defer got.release()
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
	sh.use(string(text))
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
