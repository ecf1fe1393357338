package virtual

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// The library evaluates ${x//pattern/text} and the other operators with a pattern without limits: the result may be as large as the product of its
// parts. takeOver therefore puts a process substitution, which sh has not, in the place of such an expansion, because the library passes its node to
// [shell.operate].

// operated is the Op of these process substitutions.
const operated = syntax.ProcOperator(0)

// takeOver replaces the expansions with a pattern in a script.
func takeOver(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Word:
			takeOverParts(n.Parts)
		case *syntax.DblQuoted:
			takeOverParts(n.Parts)
		case *syntax.ProcSubst:
			return n.Op != operated // takeOverParts has walked it
		}
		return true
	})
}

func takeOverParts(parts []syntax.WordPart) {
	for i, part := range parts {
		pe, ok := part.(*syntax.ParamExp)
		if !ok || pe.Param == nil || pe.Repl == nil && !hasPattern(pe) {
			continue
		}
		if pe.Repl != nil {
			takeOverWord(pe.Repl.Orig)
			takeOverWord(pe.Repl.With)
		} else {
			takeOverWord(pe.Exp.Word)
		}
		parts[i] = &syntax.ProcSubst{OpPos: pe.Pos(), Rparen: pe.End(), Op: operated, Stmts: []*syntax.Stmt{{
			Cmd: &syntax.CallExpr{Args: []*syntax.Word{{Parts: []syntax.WordPart{pe}}}},
		}}}
	}
}

func takeOverWord(w *syntax.Word) {
	if w != nil {
		takeOver(w)
	}
}

// hasPattern reports ${x#pattern}, %, ^ and , with their doubles.
func hasPattern(pe *syntax.ParamExp) bool {
	if pe.Exp == nil {
		return false
	}
	switch pe.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return true
	}
	return false
}

// operate evaluates an expansion that takeOver replaced. Unlike bash's, "${@#pattern}" is one field.
func (sh *shell) operate(ps *syntax.ProcSubst) (string, error) {
	if ps.Op != operated {
		return "", errors.New("process substitution is not supported")
	}
	call, _ := ps.Stmts[0].Cmd.(*syntax.CallExpr)
	pe, _ := call.Args[0].Parts[0].(*syntax.ParamExp)
	values := sh.params
	name := pe.Param.Value
	if name != "@" && name != "*" {
		plain := *pe
		plain.Repl, plain.Exp = nil, nil
		value, err := expand.Literal(sh.cfg, &syntax.Word{Parts: []syntax.WordPart{&plain}})
		if err != nil {
			return "", err
		}
		values = []string{value}
	}
	change, err := sh.operator(pe)
	if err != nil {
		return "", err
	}
	results := make([]string, len(values))
	for i, v := range values {
		if results[i], err = change(v); err != nil {
			return "", err
		}
		if len(results[i]) >= smallText {
			sh.spend(2 * len(results[i]))
		}
	}
	sep := " "
	if name == "*" {
		sep = sh.get("IFS")
		sep = sep[:min(len(sep), 1)]
	}
	return strings.Join(results, sep), nil
}

// operator returns the change of an operator with its expanded pattern.
func (sh *shell) operator(pe *syntax.ParamExp) (func(value string) (string, error), error) {
	word := &syntax.Word{}
	switch {
	case pe.Repl != nil && pe.Repl.Orig != nil:
		word = pe.Repl.Orig
	case pe.Repl == nil && pe.Exp.Word != nil:
		word = pe.Exp.Word
	}
	pat, err := expand.Pattern(sh.cfg, word)
	if err != nil {
		return nil, err
	}
	apply := sh.changer(pe, pat)
	if pe.Repl != nil {
		with, err := expand.Literal(sh.cfg, pe.Repl.With)
		if err != nil {
			return nil, err
		}
		apply = func(value string) string { return sh.replace(value, pat, with, pe.Repl.All) }
	}
	return func(value string) (string, error) {
		if err := matchable(pat, value); err != nil {
			return "", err
		}
		return apply(value), nil
	}, nil
}

// changer returns the change of ${x#pattern}, %, ^ and , with their doubles.
func (sh *shell) changer(pe *syntax.ParamExp, pat string) func(value string) string {
	if pe.Exp == nil {
		return nil
	}
	return func(value string) string {
		switch op := pe.Exp.Op; op {
		case syntax.UpperFirst, syntax.UpperAll:
			return changeCase(value, pat, unicode.ToUpper, op == syntax.UpperAll)
		case syntax.LowerFirst, syntax.LowerAll:
			return changeCase(value, pat, unicode.ToLower, op == syntax.LowerAll)
		default:
			return remove(value, pat, op)
		}
	}
}

// replace replaces the first match, or all, and counts the result as it grows.
func (sh *shell) replace(value, pat, with string, all bool) string {
	rx := patternRegexp(pat, 0, "", "")
	if rx == nil || pat == "" {
		return value
	}
	matches := 0
	return rx.ReplaceAllStringFunc(value, func(match string) string {
		if matches++; matches > 1 && !all {
			return match
		}
		if n := matches % stepsPerTurn; len(with) >= smallText || n == 0 {
			sh.spend(3 * max(len(with), stepsPerTurn*smallText))
		}
		return with
	})
}

// remove removes the matching start or end.
func remove(value, pat string, op syntax.ParExpOperator) string {
	switch op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		mode := pattern.Mode(0)
		if op == syntax.RemSmallPrefix {
			mode = pattern.Shortest
		}
		if at := find(patternRegexp(pat, mode, "^(", ")"), value); at != nil {
			return value[at[3]:]
		}
	case syntax.RemSmallSuffix: // the longest rest in front of it
		if at := find(patternRegexp(pat, pattern.Shortest, "^(?s:.*)(", ")$"), value); at != nil {
			return value[:at[2]]
		}
	case syntax.RemLargeSuffix:
		if at := find(patternRegexp(pat, 0, "(", ")$"), value); at != nil {
			return value[:at[2]]
		}
	}
	return value
}

func find(rx *regexp.Regexp, s string) []int {
	if rx == nil {
		return nil
	}
	return rx.FindStringSubmatchIndex(s)
}

// patternRegexp compiles a pattern with something around it, nil if it is malformed.
func patternRegexp(pat string, mode pattern.Mode, before, after string) *regexp.Regexp {
	expr, err := pattern.Regexp(pat, mode)
	if err != nil {
		return nil
	}
	rx, err := regexp.Compile(before + expr + after)
	if err != nil {
		return nil
	}
	return rx
}

// changeCase changes the characters that match, or only the first character. An empty pattern matches every character.
func changeCase(value, pat string, to func(rune) rune, all bool) string {
	rx := patternRegexp(pat, 0, "", "")
	if rx == nil {
		return value
	}
	first := true
	return strings.Map(func(r rune) rune {
		skip := !first && !all
		if first = false; skip || !rx.MatchString(string(r)) {
			return r
		}
		return to(r)
	}, value)
}
