package virtual

import (
	"regexp"
	regsyntax "regexp/syntax"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// The limits of patterns and regular expressions.
const (
	maxPattern   = 64 << 10 // length of a pattern, and of the values in a word that is one
	maxRegexp    = 1 << 10  // length of a regular expression
	maxMatching  = 1 << 28  // instructions times the length of the text: a match cannot be interrupted
	regexpMemory = 200      // of an instruction, compiled and in a match
)

// matcher is a compiled pattern or regular expression. Without rx it matches nothing.
type matcher struct {
	rx   *regexp.Regexp
	size int // upper bound of its instructions
}

// memory is what the matcher needs.
func (m matcher) memory() int { return m.size * regexpMemory }

// check refuses a match that takes too long.
func (m matcher) check(text string) error {
	if m.size*len(text) > maxMatching {
		return errNoMemory
	}
	return nil
}

// whole reports whether the matcher matches the whole of text.
func (m matcher) whole(text string) (bool, error) {
	if err := m.check(text); err != nil || m.rx == nil {
		return false, err
	}
	return m.rx.MatchString(text), nil
}

// patternMatcher compiles a pattern with something around it, once take has accepted its memory. A malformed pattern matches nothing.
func patternMatcher(pat string, mode pattern.Mode, before, after string, take func(n int) error) (m matcher, err error) {
	if len(pat) > maxPattern {
		return m, errNoMemory
	}
	m.size = patternSize(pat)
	if err := take(m.memory()); err != nil {
		return m, err
	}
	expr, err := pattern.Regexp(pat, mode)
	if err != nil {
		return m, nil //nolint:nilerr // it matches nothing
	}
	m.rx, _ = regexp.Compile(before + expr + after)
	return m, nil
}

// patternSize is an upper bound of the instructions of a pattern: a star needs most.
func patternSize(pat string) int { return 3*len(pat) + 16 }

// pattern compiles a pattern for the running expansion.
func (sh *shell) pattern(pat string, mode pattern.Mode, before, after string) (matcher, error) {
	return patternMatcher(pat, mode, before, after, func(n int) error {
		sh.spend(n)
		return nil
	})
}

// match reports whether the word, as a pattern, matches the whole of s.
func (sh *shell) match(w *syntax.Word, s string) (ok bool, err error) {
	defer sh.settle(sh.spent)
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
	m, err := sh.pattern(pat, pattern.EntireString, "", "")
	if err != nil {
		return false, err
	}
	return m.whole(s)
}

// matchRegexp is bash's =~.
func (sh *shell) matchRegexp(text, s string) (ok bool, err error) {
	defer sh.settle(sh.spent)
	defer guard(&err)
	if len(text) > maxRegexp {
		return false, errNoMemory
	}
	parsed, err := regsyntax.Parse(text, regsyntax.Perl)
	if err != nil {
		return false, err
	}
	m := matcher{size: regexpSize(parsed)}
	sh.spend(m.memory())
	if m.rx, err = regexp.Compile(text); err != nil {
		return false, err
	}
	return m.whole(s)
}

// regexpSize is an upper bound of the instructions of a regular expression, at most maxMatching: x{1000} has a thousand times those of x.
func regexpSize(re *regsyntax.Regexp) int {
	n := 2 + len(re.Rune)
	for _, sub := range re.Sub {
		n = min(n+regexpSize(sub), maxMatching)
	}
	if re.Op == regsyntax.OpRepeat {
		n = min(n*max(re.Min+1, re.Max), maxMatching)
	}
	return n
}
