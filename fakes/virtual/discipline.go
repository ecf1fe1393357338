package virtual

import "syscall"

// maxLine is the maximum length of an edited line with its newline: Linux's N_TTY_BUF_SIZE. Further input replaces the last character.
const maxLine = 4096

// discipline is the line discipline of a terminal: it processes typed and printed bytes like Linux's n_tty. It is pure: no lock, no goroutine, no
// process. It reads input byte by byte, so the split of the input cannot matter.
//
// Its keys cannot be changed, and ^Z does not stop. In raw mode a read returns the available bytes, at least one, as with min 1 time 0.
type discipline struct {
	mode   modes
	line   []byte // the edited line, not yet readable
	ready  []byte // readable bytes
	lines  []int  // canonical mode: length of each line in ready; 0 is an end of file
	next   bool   // the next byte is literal
	paused bool   // ^S: no output

	column int // column of the next printed character
	start  int // start column of the edited line
}

func newDiscipline() discipline { return discipline{mode: saneModes} }

// isControl is the kernel's iscntrl: the bytes above ASCII are printed.
func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// isWord is the kernel's isalnum (Latin-1) and the underscore: the word characters of ^W.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0xc0 && c != 0xd7 && c != 0xf7
}

// continues reports the second and later bytes of a character, if the terminal is in UTF-8 mode.
func (d *discipline) continues(c byte) bool { return d.mode.has(modeIUTF8) && c&0xc0 == 0x80 }

// input handles one typed byte. It appends the echo to echo and returns the signal for the foreground process group, 0 for none.
func (d *discipline) input(c byte, echo []byte) ([]byte, syscall.Signal) {
	if d.next {
		d.next = false
		return d.literal(c, echo), 0
	}
	if d.mode.has(modeIXON) && (c == keySTART || c == keySTOP) {
		d.paused = c == keySTOP
		return echo, 0
	}
	if sig := d.signal(c); sig != 0 {
		d.flushInput()
		if d.mode.has(modeIXON) {
			d.paused = false
		}
		if d.mode.has(modeECHO) {
			echo = d.echo(c, echo)
		}
		return echo, sig
	}
	if c == '\r' && d.mode.has(modeICRNL) {
		c = '\n'
	}
	if d.mode.has(modeICANON) {
		if echo, done := d.edit(c, echo); done {
			return echo, 0
		}
	}
	return d.plain(c, echo), 0
}

// signal returns the signal of a control character.
func (d *discipline) signal(c byte) syscall.Signal {
	switch {
	case !d.mode.has(modeISIG):
	case c == keyINTR:
		return sigINT
	case c == keyQUIT:
		return sigQUIT
	case c == keySUSP:
		return sigTSTP
	}
	return 0
}

// flushInput drops all unread input.
func (d *discipline) flushInput() { d.line, d.ready, d.lines, d.next = nil, nil, nil, false }

// edit handles the special characters of canonical mode; done reports whether c was one.
func (d *discipline) edit(c byte, echo []byte) (_ []byte, done bool) {
	extended := d.mode.has(modeIEXTEN)
	switch {
	case c == keyERASE:
		return d.erase(echo, eraseOne), true
	case c == keyKILL:
		return d.erase(echo, eraseLine), true
	case c == keyWERASE && extended:
		return d.erase(echo, eraseWord), true
	case c == keyLNEXT && extended:
		d.next = true
		if d.mode.has(modeECHO) {
			echo = append(echo, "^\b"...) // the column moves there and back
		}
		return echo, true
	case c == keyRPRNT && extended && d.mode.has(modeECHO):
		echo = d.printed('\n', d.echo(c, echo))
		for _, typed := range d.line {
			echo = d.echo(typed, echo)
		}
		return echo, true
	case c == '\n':
		if d.mode.has(modeECHO) {
			echo = d.printed(c, echo)
		}
		d.add(c)
		d.finishLine()
		return echo, true
	case c == keyEOF:
		d.finishLine()
		return echo, true
	}
	return echo, false
}

// plain handles an ordinary byte. It echoes a newline as a newline, even in raw mode.
func (d *discipline) plain(c byte, echo []byte) []byte {
	if c != '\n' || !d.mode.has(modeECHO) {
		return d.literal(c, echo)
	}
	d.keep(c)
	return d.printed(c, echo)
}

// literal handles a byte literally and shows it.
func (d *discipline) literal(c byte, echo []byte) []byte {
	if d.mode.has(modeECHO) {
		if len(d.line) == 0 {
			d.start = d.column
		}
		echo = d.echo(c, echo)
	}
	d.keep(c)
	return echo
}

// keep makes a byte readable or adds it to the edited line.
func (d *discipline) keep(c byte) {
	if d.mode.has(modeICANON) {
		d.add(c)
	} else {
		d.ready = append(d.ready, c)
	}
}

// add puts a byte into the edited line.
func (d *discipline) add(c byte) {
	if len(d.line) >= maxLine {
		d.line = d.line[:maxLine-1]
	}
	d.line = append(d.line, c)
}

// finishLine makes the edited line readable. For the reader, an empty line is an end of file.
func (d *discipline) finishLine() {
	d.ready = append(d.ready, d.line...)
	d.lines = append(d.lines, len(d.line))
	d.line = nil
}

// readable reports whether a read returns at once.
func (d *discipline) readable() bool {
	if d.mode.has(modeICANON) {
		return len(d.lines) > 0
	}
	return len(d.ready) > 0
}

// read returns the bytes of one read, in canonical mode at most a line. An empty result is an end of file; the caller has checked readable.
func (d *discipline) read(limit, delim int) []byte {
	whole := len(d.ready)
	if d.mode.has(modeICANON) {
		whole = d.lines[0]
	}
	got := append([]byte(nil), take(d.ready[:whole], limit, delim)...)
	if d.ready = d.ready[len(got):]; len(d.ready) == 0 {
		d.ready = nil
	}
	if len(d.lines) > 0 {
		d.lines[0] -= len(got)
		if len(got) == whole {
			d.lines = d.lines[1:]
		}
	}
	if len(d.lines) == 0 {
		d.lines = nil
	}
	return got
}

// set switches modes. Input stays: the edited line is readable in raw mode, and raw input is a line in canonical mode.
func (d *discipline) set(m modes) {
	was := d.mode.has(modeICANON)
	d.mode = m
	if is := m.has(modeICANON); is != was {
		d.ready = append(d.ready, d.line...)
		d.line, d.lines, d.next = nil, nil, false
		if is && len(d.ready) > 0 {
			d.lines = []int{len(d.ready)}
		}
	}
	if !m.has(modeIXON) {
		d.paused = false
	}
}
