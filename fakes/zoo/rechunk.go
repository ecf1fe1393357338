package zoo

import (
	"bytes"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// reframe describes a change of the framing of HTTP/1.1 responses. It works on
// the bytes alone, so it can run in front of any HTTP/1.1 server; bytes that do
// not begin like an HTTP/1.1 response pass unchanged.
type reframe struct {
	// head changes a head, with the empty line at its end; nil: nothing.
	head func([]byte) []byte
	// perChunk is the number of data bytes per chunk; 0: unchanged.
	perChunk int
	// extension follows the size of every chunk but the last.
	extension string
}

// on wraps a connection.
func (r reframe) on(c net.Conn) net.Conn { return &rechunkConn{Conn: c, reframe: r} }

// rechunkState is the part of a response to which the next byte belongs.
type rechunkState int

const (
	inHead rechunkState = iota
	inPlainBody
	inChunkSize
	inChunkData
	inChunkEnd
	inTrailer
	inRest // to the end of the connection
)

// rechunkConn follows the responses that are written to a connection.
type rechunkConn struct {
	net.Conn
	reframe
	state rechunkState
	line  []byte // an incomplete line of a head, a chunk size or a trailer
	left  int64  // bytes of a body or of a chunk
	out   []byte
}

func (c *rechunkConn) Write(p []byte) (int, error) {
	c.out = c.out[:0]
	for rest := p; len(rest) > 0; {
		rest = c.step(rest)
	}
	if _, err := c.Conn.Write(c.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// step consumes some bytes of p, or moves to another state, and returns the
// remaining bytes.
func (c *rechunkConn) step(p []byte) []byte {
	switch c.state {
	case inHead, inChunkSize, inChunkEnd, inTrailer:
		if c.state == inHead && len(c.line) == 0 && p[0] != 'H' {
			c.state = inRest // not HTTP/1.1: another protocol from here on
			return p
		}
		c.line = append(c.line, p[0])
		c.ended(p[0])
		return p[1:]
	case inChunkData:
		n := min(c.left, int64(len(p)))
		size := c.perChunk
		if size == 0 {
			size = int(n)
		}
		for piece := range slices.Chunk(p[:n], size) {
			c.out = strconv.AppendInt(c.out, int64(len(piece)), 16)
			c.out = append(append(c.out, c.extension...), "\r\n"...)
			c.out = append(append(c.out, piece...), "\r\n"...)
		}
		if c.left -= n; c.left == 0 {
			c.state = inChunkEnd
		}
		return p[n:]
	case inPlainBody:
		n := min(c.left, int64(len(p)))
		c.out = append(c.out, p[:n]...)
		if c.left -= n; c.left == 0 {
			c.state = inHead
		}
		return p[n:]
	default:
		c.out = append(c.out, p...)
		return nil
	}
}

// ended changes the state when the byte b completes a line or a head.
func (c *rechunkConn) ended(b byte) {
	if b != '\n' {
		return
	}
	switch c.state {
	case inHead:
		if !bytes.HasSuffix(c.line, []byte("\r\n\r\n")) {
			return
		}
		c.state, c.left = framingOf(c.line)
		if c.head != nil {
			c.line = c.head(c.line)
		}
		c.out = append(c.out, c.line...)
	case inChunkSize:
		size, _, _ := strings.Cut(strings.TrimSpace(string(c.line)), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		switch {
		case err != nil:
			c.out, c.state = append(c.out, c.line...), inRest
		case n == 0:
			c.out, c.state = append(c.out, c.line...), inTrailer
		default:
			c.state, c.left = inChunkData, n
		}
	case inChunkEnd:
		c.state = inChunkSize
	case inTrailer:
		c.out = append(c.out, c.line...)
		if string(c.line) == "\r\n" {
			c.state = inHead
		}
	default: // the other states have no lines
	}
	c.line = c.line[:0]
}

// framingOf returns how the body after a head is framed.
func framingOf(head []byte) (rechunkState, int64) {
	lines := strings.Split(strings.TrimSpace(string(head)), "\r\n")
	fields := strings.Fields(lines[0])
	if len(fields) < 2 {
		return inRest, 0
	}
	h := http.Header{}
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ":")
		h.Add(name, strings.TrimSpace(value))
	}
	length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	switch {
	case strings.HasPrefix(fields[1], "1"), fields[1] == "204", fields[1] == "304":
		return inHead, 0
	case strings.EqualFold(h.Get("Transfer-Encoding"), "chunked"):
		return inChunkSize, 0
	case err != nil:
		return inRest, 0
	case length == 0:
		return inHead, 0
	default:
		return inPlainBody, length
	}
}
