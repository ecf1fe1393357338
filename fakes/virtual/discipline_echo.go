package virtual

// echo prints a typed byte: control characters as ^X, except for the tab.
func (d *discipline) echo(c byte, to []byte) []byte {
	if isControl(c) && c != '\t' {
		d.column += 2
		return append(to, '^', c^0x40)
	}
	if c == 0xff { // the kernel's escape in its echo buffer: counted in all output modes
		d.column++
		return append(to, c)
	}
	return d.printed(c, to)
}

// output prints the bytes that a process writes.
func (d *discipline) output(b, to []byte) []byte {
	if !d.mode.has(modeOPOST) {
		return append(to, b...)
	}
	for _, c := range b {
		to = d.printed(c, to)
	}
	return to
}

// printed processes one output byte.
func (d *discipline) printed(c byte, to []byte) []byte {
	if !d.mode.has(modeOPOST) {
		return append(to, c)
	}
	if c == '\n' && d.mode.has(modeONLCR) {
		d.column, d.start = 0, 0
		return append(to, '\r', '\n')
	}
	switch {
	case c == '\n':
		d.start = d.column
	case c == '\r':
		d.column, d.start = 0, 0
	case c == '\t':
		d.column += 8 - d.column%8
	case c == '\b':
		d.column = max(0, d.column-1)
	case !isControl(c) && !d.continues(c):
		d.column++
	}
	return append(to, c)
}

// The extent of an erasure.
type erasure int

const (
	eraseOne erasure = iota
	eraseWord
	eraseLine
)

// erase removes characters from the end of the edited line and from the screen.
func (d *discipline) erase(to []byte, what erasure) []byte {
	seen := false
	for len(d.line) > 0 {
		at := len(d.line) - 1
		for at > 0 && d.continues(d.line[at]) {
			at--
		}
		c := d.line[at]
		if d.continues(c) {
			break // half a character stays
		}
		if what == eraseWord {
			if isWord(c) {
				seen = true
			} else if seen {
				break
			}
		}
		d.line = d.line[:at]
		if d.mode.has(modeECHO) {
			to = d.unecho(c, to)
		}
		if what == eraseOne {
			break
		}
	}
	return to
}

// unecho removes one character from the screen.
func (d *discipline) unecho(c byte, to []byte) []byte {
	switch {
	case c == '\t':
		return d.unechoTab(to)
	case isControl(c):
		to = d.back(to)
	}
	return d.back(to)
}

// back erases one column.
func (d *discipline) back(to []byte) []byte {
	return d.printed('\b', d.printed(' ', d.printed('\b', to)))
}

// unechoTab moves back over the columns of a tab, which depend on the text before it.
func (d *discipline) unechoTab(to []byte) []byte {
	columns, afterTab := 0, false
	for i := len(d.line) - 1; i >= 0 && !afterTab; i-- {
		switch c := d.line[i]; {
		case c == '\t':
			afterTab = true
		case isControl(c):
			columns += 2
		case !d.continues(c):
			columns++
		}
	}
	if !afterTab {
		columns += d.start
	}
	for range 8 - columns%8 {
		to = append(to, '\b')
		d.column = max(0, d.column-1)
	}
	return to
}
