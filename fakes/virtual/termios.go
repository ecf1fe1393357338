package virtual

// modes are the modes of a terminal, under the names of stty. Those that no stty here changes are as on a new terminal of Linux.
type modes uint16

const (
	modeISIG modes = 1 << iota
	modeICANON
	modeIEXTEN
	modeECHO
	modeICRNL
	modeIXON
	modeIUTF8
	modeOPOST
	modeONLCR

	saneModes = modeONLCR<<1 - 1 - modeIUTF8
	// cookedModes are off in raw mode.
	cookedModes = modeISIG | modeICANON | modeICRNL | modeIXON | modeOPOST
)

func (m modes) has(bit modes) bool { return m&bit != 0 }

// The control characters of a terminal.
const (
	keyINTR   = 'C' - '@'
	keyQUIT   = 0x1c
	keyERASE  = 0x7f
	keyKILL   = 'U' - '@'
	keyEOF    = 'D' - '@'
	keySTART  = 'Q' - '@'
	keySTOP   = 'S' - '@'
	keySUSP   = 'Z' - '@'
	keyRPRNT  = 'R' - '@'
	keyWERASE = 'W' - '@'
	keyLNEXT  = 'V' - '@'
)
