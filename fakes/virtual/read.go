package virtual

import (
	"errors"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// readBuiltin implements read [-r] [-p prompt] name…: it splits one line of stdin by IFS, and returns 1 at the end of stdin or after a trapped signal.
func readBuiltin(sh *shell, args []string) int {
	args = args[1:]
	raw := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
		case arg == "-r":
			raw = true
			continue
		case arg == "-p" && len(args) > 0:
			_ = sh.p.write(2, []byte(args[0]))
			args = args[1:]
			continue
		default:
			return sh.usage("read", "Illegal option %s", arg)
		}
		break
	}
	if len(args) == 0 && sh.bash {
		args = []string{"REPLY"}
	}
	if len(args) == 0 {
		return sh.usage("read", "arg count")
	}
	for _, name := range args {
		if !syntax.ValidName(name) {
			return sh.usage("read", "%s: bad variable name", name)
		}
	}
	line, complete := sh.readLine(raw)
	if len(line) > maxValue {
		return sh.expansionError(errNoMemory)
	}
	values := sh.readFields(line, len(args), raw)
	for i, name := range args {
		value := ""
		if i < len(values) {
			value = values[i]
		}
		if err := sh.assign(name, value); err != nil {
			return sh.assignError(name, err)
		}
	}
	return truth(complete)
}

// readFields splits a line by IFS. The library splits only text, so a line that is not UTF-8 is passed with one character per byte.
func (sh *shell) readFields(line string, n int, raw bool) []string {
	if utf8.ValidString(line) {
		return expand.ReadFields(sh.config(), line, n, raw)
	}
	wide := make([]rune, len(line))
	for i := range len(line) {
		wide[i] = rune(line[i])
	}
	values := expand.ReadFields(sh.config(), string(wide), n, raw)
	for i, value := range values {
		narrow := make([]byte, 0, len(value))
		for _, r := range value {
			narrow = append(narrow, byte(r))
		}
		values[i] = string(narrow)
	}
	return values
}

// readLine reads up to a newline, never a byte more, because other processes may continue to read. Unless raw, an escaped newline continues the line.
func (sh *shell) readLine(raw bool) (line string, complete bool) {
	var b strings.Builder
	for {
		got, err := sh.p.readUntil(stop{dead: sh.p.done, intr: sh.p.wake}, 0, pipeSize, '\n')
		if errors.Is(err, errInterrupted) && sh.firstPending() == 0 {
			continue // a signal whose trap has already run
		}
		if err != nil {
			return b.String(), false
		}
		b.Write(got)
		if b.Len() > maxValue {
			return b.String(), false
		}
		if got[len(got)-1] != '\n' {
			continue
		}
		text := b.String()
		if raw || !continues(text) {
			return strings.ReplaceAll(text[:len(text)-1], "\x00", ""), true
		}
		b.Reset()
		b.WriteString(text[:len(text)-2])
	}
}
