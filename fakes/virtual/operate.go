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
		if len(values) > 1 || len(results[i]) >= smallText {
			sh.spend(2*len(results[i]) + fieldMemory)
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
	mode, before, after := pattern.Mode(0), "", ""
	if pe.Exp != nil {
		switch pe.Exp.Op {
		case syntax.RemSmallPrefix:
			mode, before, after = pattern.Shortest, "^(", ")"
		case syntax.RemLargePrefix:
			before, after = "^(", ")"
		case syntax.RemSmallSuffix: // the longest rest in front of it
			mode, before, after = pattern.Shortest, "^(?s:.*)(", ")$"
		case syntax.RemLargeSuffix:
			before, after = "(", ")$"
		}
	}
	m, err := sh.pattern(pat, mode, before, after)
	if err != nil {
		return nil, err
	}
	var with string
	if pe.Repl != nil {
		if with, err = expand.Literal(sh.cfg, pe.Repl.With); err != nil {
			return nil, err
		}
	}
	return func(value string) (string, error) {
		if err := m.check(value); err != nil || m.rx == nil {
			return value, err
		}
		switch {
		case pe.Repl == nil:
			return change(m.rx, value, pe.Exp.Op), nil
		case pat == "":
			return value, nil
		}
		return sh.replace(m.rx, value, with, pe.Repl.All), nil
	}, nil
}

// change applies ${x#pattern}, %, ^ or , or one of their doubles.
func change(rx *regexp.Regexp, value string, op syntax.ParExpOperator) string {
	switch op {
	case syntax.UpperFirst, syntax.UpperAll:
		return changeCase(rx, value, unicode.ToUpper, op == syntax.UpperAll)
	case syntax.LowerFirst, syntax.LowerAll:
		return changeCase(rx, value, unicode.ToLower, op == syntax.LowerAll)
	}
	at := rx.FindStringSubmatchIndex(value)
	switch {
	case at == nil:
		return value
	case op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix:
		return value[at[3]:]
	}
	return value[:at[2]]
}

// replace replaces the first match, or all, and counts the result as it grows.
func (sh *shell) replace(rx *regexp.Regexp, value, with string, all bool) string {
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

// changeCase changes the characters that match, or only the first character. An empty pattern matches every character.
func changeCase(rx *regexp.Regexp, value string, to func(rune) rune, all bool) string {
	first := true
	return strings.Map(func(r rune) rune {
		skip := !first && !all
		if first = false; skip || !rx.MatchString(string(r)) {
			return r
		}
		return to(r)
	}, value)
}
