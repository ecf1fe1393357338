package interpreter

import "errors"

// maxNesting is how deep brackets may nest, as in Python: the parser calls itself for each.
const maxNesting = 200

// maxCode limits the code of a run, in bytes.
const maxCode = 1 << 20

var (
	errNesting = errors.New("too many nested parentheses")
	errCode    = errors.New("the code is longer than 1 MiB")
)

// checkNesting refuses code that would take too much of the stack of the parser. Brackets in strings count as well.
func checkNesting(code string) error {
	if len(code) > maxCode {
		return errCode
	}
	depth := 0
	for _, c := range code {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return errNesting
		}
	}
	return nil
}
