package virtual

import (
	"fmt"
	"strconv"
	"strings"
)

// settings are the modes and the size of a terminal for stty.
type settings struct {
	mode termios
	size Size
	text string // output of size and speed
}

// setting is one mode that is on or off. sane is its state after stty sane: '+' on, '-' off, 0 unchanged.
type setting struct {
	name string
	bit  uint32
	sane byte
}

// Each group is one flag word, and one line of stty -a.
const sttyGroups = 4

// sttyGroup lists the modes of a flag word in the order of stty -a. cs8, nl0 and similar are shown but cannot be changed.
func sttyGroup(n int) []setting {
	switch n {
	case 0:
		return []setting{
			{"parenb", 0o400, 0}, {"parodd", 0o1000, 0}, {"cmspar", 1 << 30, 0}, {"cs8", 0, 0}, {"hupcl", 0o2000, 0}, {"cstopb", 0o100, 0},
			{"cread", 0o200, '+'}, {"clocal", 0o4000, 0}, {"crtscts", 1 << 31, 0},
		}
	case 1:
		return []setting{
			{"ignbrk", 1, '-'}, {"brkint", iBRKINT, '+'}, {"ignpar", iIGNPAR, 0}, {"parmrk", 0o10, 0}, {"inpck", 0o20, 0}, {"istrip", iISTRIP, 0},
			{"inlcr", iINLCR, '-'}, {"igncr", iIGNCR, '-'}, {"icrnl", iICRNL, '+'}, {"ixon", iIXON, 0}, {"ixoff", 0o10000, '-'}, {"iuclc", 0o1000, '-'},
			{"ixany", iIXANY, '-'}, {"imaxbel", iIMAXB, '+'}, {"iutf8", iUTF8, '-'},
		}
	case 2:
		return []setting{
			{"opost", oOPOST, '+'}, {"olcuc", 2, '-'}, {"ocrnl", oOCRNL, '-'}, {"onlcr", oONLCR, '+'}, {"onocr", oONOCR, '-'}, {"onlret", oONLRT, '-'},
			{"ofill", 0o100, '-'}, {"ofdel", 0o200, '-'}, {"nl0", 0, 0}, {"cr0", 0, 0}, {"tab0", 0, 0}, {"bs0", 0, 0}, {"vt0", 0, 0}, {"ff0", 0, 0},
		}
	}
	return []setting{
		{"isig", lISIG, '+'}, {"icanon", lICANON, '+'}, {"iexten", lIEXTEN, '+'}, {"echo", lECHO, '+'}, {"echoe", lECHOE, '+'}, {"echok", lECHOK, '+'},
		{"echonl", lECHONL, '-'}, {"noflsh", lNOFLSH, '-'}, {"xcase", 4, '-'}, {"tostop", 0o400, '-'}, {"echoprt", 0o2000, '-'},
		{"echoctl", lECHOCTL, '+'}, {"echoke", lECHOKE, '+'}, {"flusho", 0o10000, '-'}, {"extproc", 0o200000, '-'},
	}
}

// flags returns the flag word of a group.
func (s *settings) flags(group int) *uint32 {
	return [...]*uint32{&s.mode.cflag, &s.mode.iflag, &s.mode.oflag, &s.mode.lflag}[group]
}

// char is the name and index of a control character.
type char struct {
	name  string
	place int
}

func sttyChars() []char {
	return []char{
		{"intr", ccINTR}, {"quit", ccQUIT}, {"erase", ccERASE}, {"kill", ccKILL}, {"eof", ccEOF}, {"eol", ccEOL}, {"eol2", ccEOL2}, {"swtch", 7},
		{"start", ccSTART}, {"stop", ccSTOP}, {"susp", ccSUSP}, {"rprnt", ccRPRNT}, {"werase", ccWERASE}, {"lnext", ccLNEXT}, {"discard", 13},
	}
}

// wrapped builds text in lines of at most the terminal's width.
type wrapped struct {
	strings.Builder
	width, column int
}

func (w *wrapped) add(word string) {
	switch {
	case w.column > 0 && w.column+1+len(word) > w.width:
		w.end()
	case w.column > 0:
		w.WriteByte(' ')
		w.column++
	}
	w.WriteString(word)
	w.column += len(word)
}

func (w *wrapped) end() {
	if w.column > 0 {
		w.WriteByte('\n')
		w.column = 0
	}
}

func (s *settings) wrapped() *wrapped {
	if s.size.Cols == 0 {
		return &wrapped{width: 80}
	}
	return &wrapped{width: int(s.size.Cols)}
}

// all returns the output of stty -a.
func (s *settings) all() string {
	w := s.wrapped()
	w.add("speed 38400 baud;")
	w.add(fmt.Sprintf("rows %d;", s.size.Rows))
	w.add(fmt.Sprintf("columns %d;", s.size.Cols))
	w.add("line = 0;")
	w.end()
	for _, c := range sttyChars() {
		w.add(s.shown(c))
	}
	w.add(fmt.Sprintf("min = %d;", s.mode.cc[ccMIN]))
	w.add(fmt.Sprintf("time = %d;", s.mode.cc[ccTIME]))
	w.end()
	for group := range sttyGroups {
		for _, m := range sttyGroup(group) {
			w.add(s.named(group, m))
		}
		w.end()
	}
	return w.String()
}

// brief returns the output of stty without arguments: the differences from stty sane.
func (s *settings) brief() string {
	w := s.wrapped()
	w.add("speed 38400 baud;")
	w.add("line = 0;")
	w.end()
	chars := defaultChars()
	for _, c := range sttyChars() {
		if s.mode.cc[c.place] != chars[c.place] {
			w.add(s.shown(c))
		}
	}
	if !s.mode.local(lICANON) {
		w.add(fmt.Sprintf("min = %d;", s.mode.cc[ccMIN]))
		w.add(fmt.Sprintf("time = %d;", s.mode.cc[ccTIME]))
	}
	w.end()
	for group := range sttyGroups {
		for _, m := range sttyGroup(group) {
			on := *s.flags(group)&m.bit != 0
			if m.sane == '+' && !on || m.sane == '-' && on {
				w.add(s.named(group, m))
			}
		}
		w.end()
	}
	return w.String()
}

func (s *settings) named(group int, m setting) string {
	if m.bit != 0 && *s.flags(group)&m.bit == 0 {
		return "-" + m.name
	}
	return m.name
}

func (s *settings) shown(c char) string {
	return c.name + " = " + caret(s.mode.cc[c.place]) + ";"
}

// caret writes a control character as stty does.
func caret(c byte) string {
	switch {
	case c == 0:
		return "<undef>"
	case c >= 0x80:
		return "M-" + caret(c-0x80)
	case isControl(c):
		return "^" + string(rune(c^0x40))
	}
	return string(rune(c))
}

// save returns the output of stty -g.
func (s *settings) save() string {
	parts := make([]string, 0, 4+ccCount)
	for _, word := range []uint32{s.mode.iflag, s.mode.oflag, s.mode.cflag, s.mode.lflag} {
		parts = append(parts, strconv.FormatUint(uint64(word), 16))
	}
	for _, c := range s.mode.cc {
		parts = append(parts, strconv.FormatUint(uint64(c), 16))
	}
	return strings.Join(parts, ":") + "\n"
}
