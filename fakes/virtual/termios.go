package virtual

// The bits of a terminal's modes. The values are Linux's, so that stty -g prints the same.
const (
	iBRKINT = 0o000002
	iIGNPAR = 0o000004
	iISTRIP = 0o000040
	iINLCR  = 0o000100
	iIGNCR  = 0o000200
	iICRNL  = 0o000400
	iIXON   = 0o002000
	iIXANY  = 0o004000
	iIMAXB  = 0o020000
	iUTF8   = 0o040000

	oOPOST = 0o01
	oONLCR = 0o04
	oOCRNL = 0o10
	oONOCR = 0o20
	oONLRT = 0o40

	lISIG    = 0o000001
	lICANON  = 0o000002
	lECHO    = 0o000010
	lECHOE   = 0o000020
	lECHOK   = 0o000040
	lECHONL  = 0o000100
	lNOFLSH  = 0o000200
	lECHOCTL = 0o001000
	lECHOKE  = 0o004000
	lIEXTEN  = 0o100000
)

// The indices of the control characters in termios.cc.
const (
	ccINTR   = 0
	ccQUIT   = 1
	ccERASE  = 2
	ccKILL   = 3
	ccEOF    = 4
	ccTIME   = 5
	ccMIN    = 6
	ccSTART  = 8
	ccSTOP   = 9
	ccSUSP   = 10
	ccEOL    = 11
	ccRPRNT  = 12
	ccWERASE = 14
	ccLNEXT  = 15
	ccEOL2   = 16

	ccCount = 32
)

// termios are the modes of a terminal. Serial line settings (speed, parity) are stored without effect.
type termios struct {
	iflag, oflag, cflag, lflag uint32
	cc                         [ccCount]byte
}

// defaultTermios returns the modes of a new terminal on Linux.
func defaultTermios() termios {
	return termios{
		iflag: iICRNL | iIXON,
		oflag: oOPOST | oONLCR,
		cflag: 0o277, // 38400 baud, eight bits, receiver on
		lflag: lISIG | lICANON | lECHO | lECHOE | lECHOK | lECHOCTL | lECHOKE | lIEXTEN,
		cc:    defaultChars(),
	}
}

func defaultChars() [ccCount]byte {
	return [ccCount]byte{
		ccINTR: 'C' - '@', ccQUIT: 0x1c, ccERASE: 0x7f, ccKILL: 'U' - '@', ccEOF: 'D' - '@', ccMIN: 1, ccSTART: 'Q' - '@', ccSTOP: 'S' - '@',
		ccSUSP: 'Z' - '@', ccRPRNT: 'R' - '@', 13: 'O' - '@', ccWERASE: 'W' - '@', ccLNEXT: 'V' - '@',
	}
}

func (m *termios) in(bit uint32) bool    { return m.iflag&bit != 0 }
func (m *termios) out(bit uint32) bool   { return m.oflag&bit != 0 }
func (m *termios) local(bit uint32) bool { return m.lflag&bit != 0 }

// is reports whether c is the control character at an index; 0 disables the character.
func (m *termios) is(c byte, place int) bool { return c != 0 && m.cc[place] == c }
