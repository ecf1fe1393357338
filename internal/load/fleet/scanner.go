package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	// longestLine is the longest line of the protocol. INFO is the longest one: it may name thousands of servers.
	longestLine = 64 << 10
	// longestMessage is the largest message, with its headers. The embedded bus allows 8 MB, nats-server warns above that.
	longestMessage = 64 << 20
)

// scanner follows the protocol of a NATS server: lines that end in CR LF, and behind a line with MSG or HMSG the message, of
// the size that is the last word of the line, with another CR LF. nats.go reads lines without a limit, and allocates whatever
// size a line has. The zero value is at the beginning of a line.
type scanner struct {
	line   []byte // so far
	rest   int    // of the message
	behind bool   // the line is the one behind a message, which is empty
}

// scan takes in the next bytes. An error says what a bus sends that no NATS server sends.
func (s *scanner) scan(p []byte) error {
	for len(p) > 0 {
		if n := min(s.rest, len(p)); n > 0 {
			s.rest, p = s.rest-n, p[n:]
			continue
		}
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		s.line, p = append(s.line, part...), rest
		if len(bytes.TrimSuffix(s.line, []byte("\r"))) > longestLine {
			return fmt.Errorf("it sends a line of more than %d bytes", longestLine)
		}
		if whole {
			if err := s.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end takes in the end of a line.
func (s *scanner) end() error {
	text, ok := bytes.CutSuffix(s.line, []byte("\r"))
	behind := s.behind
	s.line, s.behind = s.line[:0], false
	switch {
	case !ok || bytes.IndexByte(text, '\r') >= 0:
		return errors.New("it sends a line that does not end in CR LF")
	case behind && len(text) > 0:
		return errors.New("it sends more of a message than it said")
	case len(text) == 0 || !bytes.Contains([]byte("MmHh"), text[:1]):
		return nil
	}
	words := bytes.Fields(text)
	size, err := strconv.ParseUint(string(words[len(words)-1]), 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange) || size > longestMessage:
		return fmt.Errorf("it sends a message of more than %d bytes", longestMessage)
	case err != nil:
		return errors.New("it sends a message without a size")
	}
	s.rest, s.behind = int(size), true
	return nil
}
