package virtual

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// runText runs a whole script line by line: the lines before a syntax error run, as in any shell. With tail, nothing runs after it in this process.
func (sh *shell) runText(text string, tail bool) {
	s := sh.load(text)
	for i, line := range s.lines {
		sh.stmts(line, tail && s.err == nil && i == len(s.lines)-1)
		if sh.stopped() {
			return
		}
	}
	if s.err != nil {
		sh.syntaxError(s.err)
	}
}

// loaded is a parsed script.
type loaded struct {
	lines [][]*syntax.Stmt // the statements of each line, up to the first error
	err   error
}

// load parses a script, on a goroutine of its own: the parser recurses, and the stack that it needs would stay with the shell.
func (sh *shell) load(text string) (s loaded) {
	done := make(chan struct{})
	detach(func() {
		defer close(done)
		s.lines, s.err = parse(text, sh.bash)
	})
	<-done
	return s
}

// parse splits a script into the statements of each line, up to the first error.
func parse(text string, bash bool) (lines [][]*syntax.Stmt, err error) {
	defer func() {
		if r := recover(); r != nil { // a bug of the parser library must not end this process
			err = fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	if nesting(text) > maxNested {
		return nil, complaint("nested too deeply")
	}
	lines, line, err := split(text, bash)
	if err != nil {
		return before(err, text, bash, lines, line), err
	}
	if line != nil {
		lines = append(lines, line)
	}
	return lines, nil
}

// split returns the statements of each line but the last, and those of the last, up to the first error.
func split(text string, bash bool) (lines [][]*syntax.Stmt, line []*syntax.Stmt, err error) {
	for stmt, err := range newParser(bash).StmtsSeq(strings.NewReader(text)) {
		if err != nil {
			return lines, line, err
		}
		if len(line) > 0 && line[len(line)-1].End().Line() < stmt.Pos().Line() {
			lines = append(lines, line)
			line = nil
		}
		line = append(line, stmt)
		if !bash {
			protectBraces(stmt, text)
		}
	}
	return lines, line, nil
}

// maxNested limits the nesting of a script, because parsing recurses: about 10 KB of stack per level in the worst build, and Go ends the program at 1 GB.
const maxNested = 5000

// nesting returns an upper bound of the depth of a script by counting opening and closing tokens, quoted or not. Opening words count wherever they stand
// alone; only artificial scripts get near maxNested.
func nesting(text string) int {
	deepest, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ')' || c == '}' || c == ']':
			depth = max(0, depth-1)
		case c >= 'a' && c <= 'z':
			end := i
			for end < len(text) && text[end] >= 'a' && text[end] <= 'z' {
				end++
			}
			switch text[i:end] {
			case "if", "while", "until", "for", "case", "elif", "select", "time", "coproc", "function":
				depth++
			case "fi", "done", "esac":
				depth = max(0, depth-1)
			}
			i = end - 1
		}
		deepest = max(deepest, depth)
	}
	return deepest + strings.Count(text, "`")
}

// before returns the part of a script with a syntax error that runs: the complete lines in front of the error.
func before(err error, text string, bash bool, lines [][]*syntax.Stmt, pending []*syntax.Stmt) [][]*syntax.Stmt {
	pe, ok := errors.AsType[syntax.ParseError](err)
	if !ok || pe.Pos.Line() < 2 {
		return lines
	}
	end := 0
	for range pe.Pos.Line() - 1 {
		end += strings.IndexByte(text[end:], '\n') + 1
	}
	if whole, last, err := split(text[:end], bash); err == nil {
		if last != nil {
			whole = append(whole, last)
		}
		return whole // the parser reads one token ahead, into the error
	}
	if n := len(pending); n > 0 && pending[n-1].End().Line() < pe.Pos.Line() {
		lines = append(lines, pending)
	}
	return lines
}

func newParser(bash bool) *syntax.Parser {
	if bash {
		return syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	return syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
}

// protectBraces prevents the expansion, which implements bash's rules, from expanding {a,b} in sh.
func protectBraces(stmt *syntax.Stmt, text string) {
	if !strings.Contains(text, "{") {
		return
	}
	protect := func(words []*syntax.Word) {
		for _, w := range words {
			for _, part := range w.Parts {
				if lit, ok := part.(*syntax.Lit); ok {
					lit.Value = escapeBraces(lit.Value)
				}
			}
		}
	}
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			protect(n.Args)
		case *syntax.WordIter:
			protect(n.Items)
		}
		return true
	})
}

func escapeBraces(s string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			b.WriteByte(s[i])
			i++
		} else if s[i] == '{' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// runStdin runs a script as it arrives on stdin, each line when it is complete, and leaves the rest of stdin to the commands of the script.
func (sh *shell) runStdin() {
	var text strings.Builder
	for !sh.stopped() {
		line, readErr := sh.p.read(0, maxScript, '\n')
		text.Write(line)
		if readErr != nil && !isEOF(readErr) {
			return
		}
		s := sh.load(text.String())
		if readErr == nil && text.Len() < maxScript && (syntax.IsIncomplete(s.err) || continues(text.String())) {
			continue
		}
		for _, l := range s.lines {
			sh.stmts(l, false)
		}
		if s.err != nil && !sh.stopped() {
			sh.syntaxError(s.err)
		}
		if readErr != nil {
			return
		}
		sh.above += uint(strings.Count(text.String(), "\n"))
		text.Reset()
	}
}

// continues reports whether the newline of a line is escaped.
func continues(text string) bool {
	body, ok := strings.CutSuffix(text, "\n")
	return ok && (len(body)-len(strings.TrimRight(body, `\`)))%2 == 1
}

// syntaxError reports a syntax error and ends the shell, unless it is interactive.
func (sh *shell) syntaxError(err error) {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok {
		sh.line = pe.Pos.Line()
		sh.errorf("Syntax error: %s", pe.Text)
	} else {
		sh.errorf("Syntax error: %v", err)
	}
	sh.exit(2)
}

// errorf prints a message like dash: name of the shell, line, text.
func (sh *shell) errorf(format string, args ...any) {
	_ = sh.p.write(2, fmt.Appendf(nil, "%s: %d: %s\n", sh.name, sh.above+sh.line, fmt.Sprintf(format, args...)))
}

// openReason returns dash's short text for a file that cannot be opened for reading.
func openReason(err error) string {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
		return "No such file"
	}
	return reason(err)
}

// createReason is like openReason, for writing.
func createReason(err error) string {
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
		return "Directory nonexistent"
	}
	return reason(err)
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// cleanPath resolves . and .. lexically, as cd does: .. leaves a link by the way that it was entered.
func cleanPath(dir, name string) string { return path.Clean(absPath(dir, name)) }
