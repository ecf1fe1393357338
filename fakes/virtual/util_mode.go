package virtual

import (
	"io/fs"
	"strconv"
	"strings"
)

// special are the mode bits outside of the permissions, with their values in a number.
var special = []struct { //nolint:gochecknoglobals // read only
	mode fs.FileMode
	bit  uint32
	at   int // their place in the text of ls -l
	on   string
}{
	{fs.ModeSetuid, 0o4000, 3, "sS"},
	{fs.ModeSetgid, 0o2000, 6, "sS"},
	{fs.ModeSticky, 0o1000, 9, "tT"},
}

// modeText returns a mode as ls -l prints it.
func modeText(m fs.FileMode) string {
	kind := byte('-')
	switch {
	case m.IsDir():
		kind = 'd'
	case m&fs.ModeSymlink != 0:
		kind = 'l'
	case m&fs.ModeCharDevice != 0:
		kind = 'c'
	}
	text := []byte(m.Perm().String())
	text[0] = kind
	for _, s := range special {
		if m&s.mode == 0 {
			continue
		}
		if text[s.at] == 'x' {
			text[s.at] = s.on[0]
		} else {
			text[s.at] = s.on[1]
		}
	}
	return string(text)
}

// bitsMode returns the mode that a number of chmod means.
func bitsMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits) & fs.ModePerm
	for _, s := range special {
		if bits&s.bit != 0 {
			m |= s.mode
		}
	}
	return m
}

// chmodProgram is chmod MODE FILE…, with a number, or + or - and letters for all users.
func chmodProgram(t *task) int {
	args := t.args[1:]
	if len(args) < 2 {
		return t.fail("missing operand")
	}
	change, ok := parseMode(args[0])
	if !ok {
		return t.fail("invalid mode: '%s'", args[0])
	}
	return t.each(args[1:], func(name string) error { return t.p.sys.fs.chmod(t.abs(name), change) })
}

// parseMode returns what a mode of chmod makes of another one.
func parseMode(text string) (change func(fs.FileMode) fs.FileMode, ok bool) {
	if bits, err := strconv.ParseUint(text, 8, 32); err == nil {
		return func(fs.FileMode) fs.FileMode { return bitsMode(uint32(bits)) }, bits <= 0o7777
	}
	var bits fs.FileMode
	text = strings.TrimPrefix(text, "a")
	for _, c := range strings.TrimLeft(text, "+-") {
		bit, known := map[rune]fs.FileMode{'r': 0o444, 'w': 0o222, 'x': 0o111}[c]
		if !known {
			return nil, false
		}
		bits |= bit
	}
	switch text[:min(1, len(text))] {
	case "+":
		return func(m fs.FileMode) fs.FileMode { return m | bits }, true
	case "-":
		return func(m fs.FileMode) fs.FileMode { return m &^ bits }, true
	}
	return nil, false
}
