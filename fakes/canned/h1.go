package canned

import (
	"bytes"
	"strconv"
	"strings"
)

// part is the next part of a request.
type part uint8

const (
	head part = iota
	counted
	chunkSize
	chunkData
	chunkEnd
	trailer
)

// maxHead limits the head of a request, maxBody the part of a body that is kept.
const (
	maxHead = 64 << 10
	maxBody = 64 << 10
)

// h1 is the server side of an HTTP/1.1 connection.
type h1 struct {
	part   part
	route  route
	keep   bool
	left   int64 // of a counted body or a chunk
	body   []byte
	stream *stream // occupies the connection until its end

	switched bool   // to a WebSocket
	key      string // of its handshake
}

// readRequests reads requests until one begins a stream; it returns the rest of p.
func (c *conn) readRequests(p []byte) []byte {
	for len(p) > 0 && c.h1.stream == nil && !c.h1.switched && !c.closed && !c.closing {
		n := c.readPart(p)
		if n == 0 {
			break
		}
		p = p[n:]
	}
	if c.closing {
		return nil
	}
	return p
}

// readPart reads one part of a request and returns its length, 0 if it is incomplete.
func (c *conn) readPart(p []byte) int {
	h := c.h1
	switch h.part {
	case head:
		return c.readHead(p)
	case counted, chunkData:
		n := int(min(h.left, int64(len(p))))
		h.collect(p[:n])
		if h.left -= int64(n); h.left > 0 {
			return n
		}
		if h.part == chunkData {
			h.part = chunkEnd
		} else {
			c.serve()
		}
		return n
	case chunkSize, chunkEnd, trailer:
	}
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		if len(p) > maxHead {
			c.refuse()
		}
		return 0
	}
	c.readLine(strings.TrimSuffix(string(p[:i]), "\r"))
	return i + 1
}

// collect keeps the body of a request whose body matters.
func (h *h1) collect(p []byte) {
	if h.route.action == sendSignal && len(h.body)+len(p) <= maxBody {
		h.body = append(h.body, p...)
	}
}

// readLine reads a line of the chunked framing.
func (c *conn) readLine(line string) {
	h := c.h1
	switch h.part {
	case chunkSize:
		text, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(text), 16, 62)
		if err != nil {
			c.refuse()
			return
		}
		h.left = int64(n)
		h.part = chunkData
		if n == 0 {
			h.part = trailer
		}
	case chunkEnd:
		if h.part = chunkSize; line != "" {
			c.refuse()
		}
	case trailer:
		if line == "" {
			c.serve()
		}
	case head, counted, chunkData:
	}
}

// refuse responds to invalid HTTP/1.1 and closes the connection.
func (c *conn) refuse() {
	c.h1.keep = false
	c.reply(answer{status: 400, contentType: "text/plain", body: []byte("bad request\n")})
}

// readHead reads a complete head, or nothing.
func (c *conn) readHead(p []byte) int {
	if n := len(p) - len(bytes.TrimLeft(p, "\r\n")); n > 0 {
		return n // empty lines before a request line (RFC 9112, section 2.2)
	}
	i := bytes.Index(p, []byte("\r\n\r\n"))
	if i < 0 {
		if len(p) > maxHead {
			c.refuse()
		}
		return 0
	}
	h := c.h1
	r := requestHead{keep: true}
	if !r.read(p[:i+2]) || r.method == "" {
		c.refuse()
		return i + 4
	}
	asked := routeOf(r.method, r.path, r.contentType)
	if r.attaches() {
		asked, h.key = route{action: startStream, dialect: dialect{protocol: stdio}}, r.key
	}
	h.route = c.gateway.admit(asked, r.token)
	h.keep, h.body, h.left = r.keep && (!r.sized || !r.chunked), nil, r.length // RFC 9112, section 6.1
	if h.route.dialect.protocol == grpc {
		h.route = route{action: badType} // it needs HTTP/2
	}
	if r.expects && (r.chunked || r.length > 0) {
		c.send([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	switch {
	case r.chunked:
		h.part = chunkSize
	case r.length > 0:
		h.part = counted
	default:
		c.serve()
	}
	return i + 4
}

// serve responds to the current request.
func (c *conn) serve() {
	h := c.h1
	h.part = head
	a, stream := c.gateway.do(h.route, h.body)
	h.body = nil
	if !stream {
		c.reply(a)
		return
	}
	h.switched = h.route.dialect.protocol == stdio
	h.stream = c.gateway.begin(c, h.route.dialect, 0)
	c.gateway.pump(h.stream)
}

// requestHead has the relevant parts of a head.
type requestHead struct {
	method, path, contentType, token string
	length                           int64
	sized, chunked                   bool
	keep, expects                    bool
	upgrades                         bool   // to a WebSocket
	key                              string // of the handshake
}

// read reads the lines of a head, each with its end; false if they are invalid.
func (r *requestHead) read(p []byte) bool {
	for first := true; len(p) > 0; first = false {
		i := bytes.IndexByte(p, '\n')
		line := bytes.TrimSuffix(p[:i], []byte("\r"))
		p = p[i+1:]
		switch {
		case !first:
			name, value, ok := bytes.Cut(line, []byte(":"))
			if !ok || !r.field(name, bytes.TrimSpace(value)) {
				return false
			}
		default:
			method, rest, _ := bytes.Cut(line, []byte(" "))
			path, version, ok := bytes.Cut(rest, []byte(" "))
			if !ok || string(version) != "HTTP/1.1" {
				return false
			}
			r.method, r.path = string(method), string(path)
		}
	}
	return true
}

// field reads one field; false if the length of the body is unknown.
func (r *requestHead) field(name, value []byte) bool {
	is := func(want string) bool { return len(name) == len(want) && bytes.EqualFold(name, []byte(want)) }
	switch {
	case is("content-length"):
		n, err := strconv.ParseUint(string(value), 10, 62)
		r.length, r.sized = int64(n), true
		return err == nil
	case is("transfer-encoding"):
		r.chunked = bytes.EqualFold(value, []byte("chunked"))
		return r.chunked
	case is("content-type"):
		r.contentType = string(value)
	case is("x-access-token"):
		r.token = string(value)
	case is("connection"):
		r.keep = !bytes.EqualFold(value, []byte("close"))
	case is("expect"):
		r.expects = true
	case is("upgrade"):
		r.upgrades = bytes.EqualFold(value, []byte("websocket"))
	case is("sec-websocket-key"):
		r.key = string(value)
	}
	return true
}
