package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// maxFields limits the expansion of the words of one command.
const maxFields = 32 << 20

// config returns the configuration of the expansion, created on first use.
func (sh *shell) config() *expand.Config {
	if sh.cfg == nil {
		sh.cfg = &expand.Config{
			Env:      shellEnv{sh},
			CmdSubst: sh.commandSubst,
			ProcSubst: func(*syntax.ProcSubst) (string, error) {
				return "", errors.New("process substitution is not supported")
			},
		}
	}
	sh.cfg.NoUnset = sh.opts.nounset
	sh.cfg.ReadDir2 = nil
	if !sh.opts.noglob {
		sh.cfg.ReadDir2 = func(dir string) ([]fs.DirEntry, error) { return sh.p.sys.fs.readDir(cleanPath(sh.dir, dir)) }
	}
	return sh.cfg
}

// guard turns a panic of the expansion library into an error: no script may end this process.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("bad substitution: %v", r)
	}
}

// fields expands the words of a command.
func (sh *shell) fields(words []*syntax.Word) (list []string, err error) {
	if len(words) == 0 {
		return nil, nil
	}
	defer guard(&err)
	size := 0
	for field, err := range expand.FieldsSeq(sh.config(), words...) {
		if err != nil {
			return nil, err
		}
		if size += len(field) + 16; size > maxFields {
			return nil, complaint("Argument list too long")
		}
		if sh.p.dead.Load() {
			return nil, errDead
		}
		list = append(list, field)
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
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "")
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

// match reports whether the word, as a pattern, matches the whole of s.
func (sh *shell) match(w *syntax.Word, s string) (ok bool, err error) {
	defer guard(&err)
	pat, err := expand.Pattern(sh.config(), w)
	if err != nil {
		return false, err
	}
	if pat == "*" {
		return true, nil
	}
	if !pattern.HasMeta(pat, 0) && !strings.Contains(pat, `\`) {
		return pat == s, nil
	}
	return matchPattern(pat, s), nil
}

// matchPattern reports whether pat matches the whole of s; a malformed pattern matches nothing.
func matchPattern(pat, s string) bool {
	rx, err := compilePattern(pat)
	return err == nil && rx.MatchString(s)
}

// compilePattern converts a shell pattern to a regular expression.
func compilePattern(pat string) (*regexp.Regexp, error) {
	expr, err := pattern.Regexp(pat, pattern.EntireString)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(expr)
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
	got := &capture{reader: sh.p.done, closed: make(chan struct{})}
	child.set(1, newFile(got))
	sub := sh.subshell(child)
	if text, ok := sub.fileShortcut(cs); ok {
		sub.last = 0
		if text != nil {
			_ = child.write(1, text)
		}
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
	_, err = w.Write(got.text)
	return err
}

// fileShortcut runs bash's $(<file).
func (sh *shell) fileShortcut(cs *syntax.CmdSubst) (text []byte, ok bool) {
	if !sh.bash || len(cs.Stmts) != 1 {
		return nil, false
	}
	st := cs.Stmts[0]
	if st.Cmd != nil || len(st.Redirs) != 1 || st.Redirs[0].Op != syntax.RdrIn {
		return nil, false
	}
	if sh.redirect(st.Redirs[0]) != nil {
		return nil, true
	}
	for {
		chunk, err := sh.p.read(0, pipeSize, noDelim)
		if err != nil {
			return text, true
		}
		text = append(text, chunk...)
	}
}
