package scenarios

import (
	"fmt"
	"strings"
)

// Expand replaces each ${name} in s by lookup(name). An unknown name and a "${" without
// "}" are errors. "$${" is a literal "${".
func Expand(s string, lookup func(name string) (string, bool)) (string, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1])
			b.WriteString("${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		name, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok {
			return "", fmt.Errorf("%q has no closing brace", s[i:])
		}
		value, known := lookup(name)
		if !known {
			return "", fmt.Errorf("the variable ${%s} is not defined", name)
		}
		b.WriteString(value)
		s = rest
	}
}
