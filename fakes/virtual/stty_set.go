package virtual

import (
	"fmt"
	"strconv"
	"strings"
)

// apply applies the first setting of args and returns the number of words it used. complaint is the error of stty, or "".
func (s *settings) apply(args []string) (taken int, complaint string) {
	name, off := strings.CutPrefix(args[0], "-")
	for group := range sttyGroups {
		for _, m := range sttyGroup(group) {
			if m.name != name {
				continue
			}
			switch {
			case m.bit == 0 && !off: // shown and not changed
			case m.bit == 0:
				return 0, invalid(args[0])
			case off:
				*s.flags(group) &^= m.bit
			default:
				*s.flags(group) |= m.bit
			}
			return 1, ""
		}
	}
	if s.combined(name, off) {
		return 1, ""
	}
	if off {
		return 0, invalid(args[0])
	}
	return s.valued(args)
}

func invalid(arg string) string {
	return fmt.Sprintf("invalid argument '%s'\nTry 'stty --help' for more information.", arg)
}

// combined applies a setting that stands for several.
func (s *settings) combined(name string, off bool) bool {
	m := &s.mode
	switch {
	case name == "raw" && !off:
		m.iflag &^= iBRKINT | iIGNPAR | iISTRIP | iINLCR | iIGNCR | iICRNL | iIXON | iIXANY | iIMAXB | 0o11031
		m.oflag &^= oOPOST
		m.lflag &^= lICANON | lISIG | 4
		m.cc[ccMIN], m.cc[ccTIME] = 1, 0
	case name == "cooked" && !off, name == "raw":
		m.iflag |= iBRKINT | iICRNL | iIXON
		m.oflag |= oOPOST
		m.lflag |= lISIG | lICANON
	case name == "cooked":
		return s.combined("raw", false)
	case name == "cbreak":
		m.lflag |= lICANON
		if !off {
			m.lflag &^= lICANON
			m.cc[ccMIN], m.cc[ccTIME] = 1, 0
		}
	case name == "nl" && off:
		m.iflag = m.iflag&^(iINLCR|iIGNCR) | iICRNL
		m.oflag = m.oflag&^(oOCRNL|oONLRT) | oONLCR
	case name == "nl":
		m.iflag &^= iICRNL
		m.oflag &^= oONLCR
	case off:
		return false
	case name == "sane":
		s.sane()
	case name == "ek":
		chars := defaultChars()
		m.cc[ccERASE], m.cc[ccKILL] = chars[ccERASE], chars[ccKILL]
	case name == "size":
		s.text += fmt.Sprintf("%d %d\n", s.size.Rows, s.size.Cols)
	case name == "speed":
		s.text += "38400\n"
	default:
		return s.restore(name)
	}
	return true
}

// sane implements stty sane.
func (s *settings) sane() {
	for group := range sttyGroups {
		for _, m := range sttyGroup(group) {
			switch m.sane {
			case '+':
				*s.flags(group) |= m.bit
			case '-':
				*s.flags(group) &^= m.bit
			}
		}
	}
	s.mode.cc = defaultChars()
}

// restore applies the output of stty -g.
func (s *settings) restore(text string) bool {
	parts := strings.Split(text, ":")
	if len(parts) != 4+ccCount {
		return false
	}
	var m termios
	for i, part := range parts {
		bits := 32
		if i >= 4 {
			bits = 8
		}
		n, err := strconv.ParseUint(part, 16, bits)
		switch {
		case err != nil:
			return false
		case i >= 4:
			m.cc[i-4] = byte(n)
		default:
			*[...]*uint32{&m.iflag, &m.oflag, &m.cflag, &m.lflag}[i] = uint32(n)
		}
	}
	s.mode = m
	return true
}

// valued applies a setting with a value: a size, min and time, or a control character.
func (s *settings) valued(args []string) (taken int, complaint string) {
	var count *uint32
	place := -1
	switch args[0] {
	case "rows":
		count = &s.size.Rows
	case "cols", "columns":
		count = &s.size.Cols
	case "min":
		place = ccMIN
	case "time":
		place = ccTIME
	default:
		for _, c := range sttyChars() {
			if c.name == args[0] {
				place = c.place
			}
		}
		if place < 0 {
			return 0, invalid(args[0])
		}
	}
	if len(args) < 2 {
		return 0, fmt.Sprintf("missing argument to '%s'\nTry 'stty --help' for more information.", args[0])
	}
	if place >= 0 && place != ccMIN && place != ccTIME {
		c, ok := parseCaret(args[1])
		if !ok {
			return 0, fmt.Sprintf("invalid integer argument: '%s'", args[1])
		}
		s.mode.cc[place] = c
		return 2, ""
	}
	bits := 8
	if count != nil {
		bits = 16
	}
	n, err := strconv.ParseUint(args[1], 0, bits)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("invalid integer argument: '%s'", args[1])
	case count != nil:
		*count = uint32(n)
	default:
		s.mode.cc[place] = byte(n)
	}
	return 2, ""
}

// parseCaret reads a control character: ^X, ^- or undef for none, the character itself, or a number.
func parseCaret(text string) (byte, bool) {
	switch {
	case text == "^-" || text == "undef":
		return 0, true
	case len(text) == 1:
		return text[0], true
	case text == "^?":
		return 0x7f, true
	case len(text) == 2 && text[0] == '^':
		return text[1] & 0x1f, true
	}
	n, err := strconv.ParseUint(text, 0, 8)
	return byte(n), err == nil
}
