package fleet

import "fmt"

const (
	// longestLine is the longest line of the protocol. INFO is the longest one: it may name thousands of servers.
	longestLine = 64 << 10
	// longestMessage is the largest message, with its headers. The embedded bus allows 8 MB, nats-server warns above that.
	longestMessage = 64 << 20
)

// protocolError says that a bus sends what no NATS server sends.
type protocolError struct{ what string }

// Error returns what was sent.
func (e *protocolError) Error() string { return e.what }

// scanner follows the protocol of a NATS server, without keeping anything: lines that end in CR LF, and behind a line with MSG or
// HMSG the message, of the size that is the last word of the line, with another CR LF. nats.go reads lines without a limit, and
// allocates whatever size a line has. The zero value is at the beginning of a line.
type scanner struct {
	length int  // of the line so far
	first  byte // of the line
	size   int  // the last word of the line as a number, at most longestMessage+1; -1: it is none
	word   bool // the line ends in a word so far, not in a blank
	cr     bool // the last byte was a CR
	rest   int  // of the message
	behind bool // the line is the one behind a message, which is empty
}

// scan takes in the next bytes.
func (s *scanner) scan(p []byte) error {
	for len(p) > 0 {
		if s.rest > 0 {
			n := min(s.rest, len(p))
			s.rest, p = s.rest-n, p[n:]
			continue
		}
		if err := s.next(p[0]); err != nil {
			return err
		}
		p = p[1:]
	}
	return nil
}

// next takes in a byte of a line.
func (s *scanner) next(b byte) error {
	switch {
	case s.cr != (b == '\n'):
		return &protocolError{"it sends a line that does not end in CR LF"}
	case s.cr:
		return s.end()
	case b == '\r':
		s.cr = true
		return nil
	case s.behind:
		return &protocolError{"it sends more of a message than it said"}
	case s.length == longestLine:
		return &protocolError{fmt.Sprintf("it sends a line of more than %d bytes", longestLine)}
	}
	if s.length++; s.length == 1 {
		s.first = b
	}
	blank := b == ' ' || b == '\t'
	if !blank && !s.word {
		s.size = 0
	}
	switch s.word = !blank; {
	case blank:
	case b < '0' || b > '9':
		s.size = -1
	case s.size >= 0:
		s.size = min(s.size*10+int(b-'0'), longestMessage+1)
	}
	return nil
}

// end takes in the end of a line.
func (s *scanner) end() error {
	size := s.size
	message := s.first == 'M' || s.first == 'm' || s.first == 'H' || s.first == 'h'
	*s = scanner{}
	switch {
	case !message:
	case size < 0:
		return &protocolError{"it sends a message without a size"}
	case size > longestMessage:
		return &protocolError{fmt.Sprintf("it sends a message of more than %d bytes", longestMessage)}
	default:
		s.rest, s.behind = size, true
	}
	return nil
}
