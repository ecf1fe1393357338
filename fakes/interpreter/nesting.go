package interpreter

import (
	"errors"
	"strings"
)

// maxNesting is how deep brackets may nest, as in Python: the parser calls itself for each.
const maxNesting = 200

// maxCode limits the code of a run, in bytes.
const maxCode = 1 << 20

var (
	errNesting = errors.New("too many nested parentheses")
	errCode    = errors.New("the code is longer than 1 MiB")
)

// checkNesting refuses code that would take too much of the stack of the parser.
func checkNesting(code string) error {
	if len(code) > maxCode {
		return errCode
	}
	depth, quote := 0, ""
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case quote != "":
			if c == '\\' {
				i++
			} else if strings.HasPrefix(code[i:], quote) || c == '\n' && len(quote) == 1 {
				i += len(quote) - 1
				quote = ""
			}
		case c == '"' || c == '\'':
			quote = string(c)
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(code[i:], triple) {
				quote = triple
			}
			i += len(quote) - 1
		case c == '#':
			if end := strings.IndexByte(code[i:], '\n'); end >= 0 {
				i += end
			} else {
				return nil
			}
		case c == '(' || c == '[' || c == '{':
			if depth++; depth > maxNesting {
				return errNesting
			}
		case c == ')' || c == ']' || c == '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}
