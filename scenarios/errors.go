package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The limits of what is reported for one file, since its text may be one line of a megabyte.
const (
	maxErrors  = 20   // later errors are mostly consequences of the first few
	maxShown   = 160  // characters of a source line
	maxMessage = 2000 // bytes of a message or a hint
)

// ScriptError is one mistake in a script, in the rules or in a profile, with its place.
type ScriptError struct {
	File    string
	Line    int    // from 1; 0 for the whole file
	Column  int    // from 1, in characters
	Text    string // the source line
	Message string
	Hint    string // how to fix it, or ""

	check string // the check of LintAll, or "" for the form of the file
}

// Error returns "file:line:column: message", the source line with a caret under the
// column, and the hint.
func (e *ScriptError) Error() string {
	var b strings.Builder
	if e.Line == 0 {
		fmt.Fprintf(&b, "%s: %s", e.File, e.Message)
	} else {
		fmt.Fprintf(&b, "%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
		if strings.TrimSpace(e.Text) != "" {
			text, column := around(e.Text, e.Column)
			fmt.Fprintf(&b, "\n%5d | %s\n      | %s^", e.Line, text, indentTo(text, column))
		}
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "\n        %s", e.Hint)
	}
	return b.String()
}

// around returns the part of a long line around a column, and the column in it.
func around(line string, column int) (part string, at int) {
	chars := []rune(line)
	if len(chars) <= maxShown {
		return line, column
	}
	begin := min(max(0, column-1-maxShown/2), len(chars)-maxShown)
	part, at = string(chars[begin:begin+maxShown]), column-begin
	if begin > 0 {
		part, at = "…"+part, at+1
	}
	if begin+maxShown < len(chars) {
		part += "…"
	}
	return part, at
}

// indentTo returns blank space as wide as the characters of line before column. Tabs stay
// tabs, so that the caret is in the right column on any terminal.
func indentTo(line string, column int) string {
	var b strings.Builder
	n := 1
	for _, r := range line {
		if n >= column {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
		n++
	}
	for ; n < column; n++ {
		b.WriteByte(' ')
	}
	return b.String()
}

// joinErrors sorts the errors by place, drops duplicates, and joins them; nil if there are none.
func joinErrors(errs []*ScriptError) error {
	slices.SortStableFunc(errs, func(a, b *ScriptError) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	errs = slices.CompactFunc(errs, func(a, b *ScriptError) bool { return *a == *b })
	joined := make([]error, 0, len(errs))
	for i, e := range errs {
		if i == maxErrors {
			joined = append(joined, &ScriptError{File: e.File, Message: fmt.Sprintf("%d more mistakes are not shown", len(errs)-i)})
			break
		}
		joined = append(joined, e)
	}
	return errors.Join(joined...)
}

// scriptErrors splits an error of joinErrors; any other error is reported for the whole file.
func scriptErrors(file string, err error) []*ScriptError {
	if err == nil {
		return nil
	}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		var out []*ScriptError
		for _, e := range many.Unwrap() {
			out = append(out, scriptErrors(file, e)...)
		}
		return out
	}
	var one *ScriptError
	if errors.As(err, &one) {
		return []*ScriptError{one}
	}
	return []*ScriptError{{File: file, Message: err.Error()}}
}
