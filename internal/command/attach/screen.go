package attach

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"sync"
)

// Screen is the local terminal's display. It passes output on and notes which modes the output has
// switched, so that Reset can switch them back: a command that is cut off cannot do that itself.
type Screen struct {
	to io.Writer

	mu       sync.Mutex
	state    screenState
	params   []byte
	marker   byte         // of the sequence: ? in CSI ? 25 l, 0 without one
	modes    map[int]bool // private modes that differ from the default
	keys     bool         // xterm reports modified keys
	pushed   int          // keyboard modes of kitty
	keypad   bool         // in application mode
	shifted  bool         // to the second character set, or the first is not ASCII
	coloured bool
}

type screenState int

const (
	inText   screenState = iota
	inEscape             // behind ESC
	inCSI                // behind ESC [
	inSet                // behind ESC (
)

// The private modes that Reset knows, in the order in which it ends them: cursor keys, mouse, focus,
// bracketed paste, the alternate screens; and those that are on by default: the cursor and wrapping.
var (
	offByDefault = []int{1, 9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 47, 1047, 1049}
	onByDefault  = []int{7, 25}
)

// NewScreen returns the display behind a writer.
func NewScreen(to io.Writer) *Screen { return &Screen{to: to, modes: map[int]bool{}} }

// Write writes output.
func (s *Screen) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(p[:max(0, min(n, len(p)))])
	return n, err
}

// Reset ends all modes that output has switched on. It writes nothing if there are none. It may be
// called while a Write waits.
func (s *Screen) Reset() {
	s.mu.Lock()
	p := s.resets()
	s.mu.Unlock()
	if len(p) > 0 {
		_, _ = s.to.Write(p) // there is nobody to tell
	}
}

// Clear does what Reset does, and empties the screen.
func (s *Screen) Clear() {
	s.Reset()
	_, _ = s.to.Write([]byte("\x1b[H\x1b[2J"))
}

// resets returns the sequences that end the modes, and forgets them. Called with mu held.
func (s *Screen) resets() []byte {
	var p []byte
	if s.state != inText {
		p = append(p, 0x18) // CAN: the sequence under way is void
	}
	for _, set := range []struct {
		modes  []int
		ending byte
	}{{offByDefault, 'l'}, {onByDefault, 'h'}} {
		for _, m := range set.modes {
			if s.modes[m] {
				p = append(strconv.AppendInt(append(p, "\x1b[?"...), int64(m), 10), set.ending)
			}
		}
	}
	if s.keypad {
		p = append(p, "\x1b>"...)
	}
	if s.keys {
		p = append(p, "\x1b[>4;0m"...)
	}
	for range s.pushed {
		p = append(p, "\x1b[<u"...)
	}
	if s.shifted {
		p = append(p, "\x0f\x1b(B"...)
	}
	if s.coloured {
		p = append(p, "\x1b[0m"...)
	}
	s.state = inText
	s.forget()
	return p
}

// note reads output. Called with mu held.
func (s *Screen) note(p []byte) {
	for len(p) > 0 {
		if s.state == inText {
			at := bytes.IndexAny(p, "\x1b\x0e\x0f")
			if at < 0 {
				return
			}
			p = p[at:]
		}
		s.step(p[0])
		p = p[1:]
	}
}

const (
	// longestParams bounds the parameters of a sequence.
	longestParams = 64
	// mostPushed bounds the keyboard modes that are counted.
	mostPushed = 16
)

func (s *Screen) step(c byte) {
	switch {
	case c == 0x1b:
		s.state = inEscape
	case c == 0x18 || c == 0x1a:
		s.state = inText
	case s.state == inEscape:
		s.escape(c)
	case s.state == inSet:
		s.shifted, s.state = c != 'B', inText
	case s.state == inCSI:
		s.csi(c)
	default:
		s.shifted = c == 0x0e
	}
}

// escape reads the character behind ESC.
func (s *Screen) escape(c byte) {
	s.state = inText
	switch c {
	case '[':
		s.state, s.marker, s.params = inCSI, 0, s.params[:0]
	case '(':
		s.state = inSet
	case '=':
		s.keypad = true
	case '>':
		s.keypad = false
	case 'c': // full reset
		s.forget()
	}
}

// forget notes that all modes are those of a new terminal.
func (s *Screen) forget() {
	s.keypad, s.keys, s.pushed, s.shifted, s.coloured = false, false, 0, false, false
	clear(s.modes)
}

// csi reads a character of a control sequence.
func (s *Screen) csi(c byte) {
	switch {
	case c >= '<' && c <= '?' && len(s.params) == 0:
		s.marker = c
	case c < 0x20: // a control character within a sequence takes effect by itself
	case c < 0x40:
		if len(s.params) < longestParams {
			s.params = append(s.params, c)
		}
	default:
		s.state = inText
		s.sequence(c)
	}
}

// sequence reads the end of a control sequence.
func (s *Screen) sequence(final byte) {
	switch {
	case final == 'm' && s.marker == '>' && bytes.HasPrefix(s.params, []byte("4")):
		s.keys = bytes.ContainsAny(s.params[1:], "123")
	case final == 'u' && s.marker == '>':
		s.pushed = min(s.pushed+1, mostPushed)
	case final == 'u' && s.marker == '<':
		s.pushed = max(s.pushed-1, 0)
	case final == 'm' && s.marker == 0:
		s.coloured = len(bytes.Trim(s.params, "0;")) > 0
	case s.marker == '?' && (final == 'h' || final == 'l'):
		for field := range bytes.SplitSeq(s.params, []byte(";")) {
			m, err := strconv.Atoi(string(field))
			switch {
			case err != nil:
			case slices.Contains(offByDefault, m):
				s.modes[m] = final == 'h'
			case slices.Contains(onByDefault, m):
				s.modes[m] = final == 'l'
			}
		}
	}
}
