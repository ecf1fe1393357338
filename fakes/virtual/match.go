package virtual

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// compilePattern returns the expression of a pattern that must match the whole of a text; nil for a malformed one, which matches nothing.
func compilePattern(pat string) *regexp.Regexp {
	expr, err := pattern.Regexp(pat, pattern.EntireString)
	if err != nil {
		return nil
	}
	rx, _ := regexp.Compile(expr)
	return rx
}

// match reports whether the word, as a pattern, matches the whole of s.
func (sh *shell) match(w *syntax.Word, s string) (ok bool, err error) {
	defer guard(&err)
	pat, err := expand.Pattern(sh.config(), w)
	if err != nil {
		return false, err
	}
	if !pattern.HasMeta(pat, 0) && !strings.Contains(pat, `\`) {
		return pat == s, nil
	}
	rx := compilePattern(pat)
	return rx != nil && rx.MatchString(s), nil
}
