package zoo

import (
	"net"
	"strings"

	"golang.org/x/net/http2"

	"assay/internal/wire/h2"
)

// h2Stage modifies the frames of one HTTP/2 connection: the frames passed to next
// replace the frame. It needs only bytes, so it works in front of any server.
type h2Stage struct {
	toClient, toServer func(f h2.Frame, next func(h2.Frame)) // nil: no change
	// cut, asked after every write, ends the connection; nil: never.
	cut func() bool
}

// onH2 adds a stage to every connection.
func onH2(stage func() h2Stage) func(*build) {
	return onConn(func(c net.Conn) net.Conn { return newH2Conn(c, stage()) })
}

// h2Conn is a connection with a stage; HTTP/1.1 passes unmodified.
type h2Conn struct {
	net.Conn
	stage   h2Stage
	out, in h2Cutter
	ready   []byte // modified, and not yet read
}

func newH2Conn(c net.Conn, stage h2Stage) *h2Conn {
	return &h2Conn{Conn: c, stage: stage, out: newH2Cutter(""), in: newH2Cutter(http2.ClientPreface)}
}

func (c *h2Conn) Write(p []byte) (int, error) {
	if c.stage.toClient == nil {
		return c.Conn.Write(p)
	}
	if b := c.out.cut(p, c.stage.toClient); len(b) > 0 {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
	}
	if c.stage.cut != nil && c.stage.cut() {
		return len(p), c.Close()
	}
	return len(p), nil
}

func (c *h2Conn) Read(p []byte) (int, error) {
	if c.stage.toServer == nil {
		return c.Conn.Read(p)
	}
	for len(c.ready) == 0 {
		n, err := c.Conn.Read(p)
		c.ready = c.in.cut(p[:n], c.stage.toServer)
		if err != nil && len(c.ready) == 0 {
			return 0, err // an error with bytes is returned again
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// h2Cutter splits one direction of a connection into frames.
type h2Cutter struct {
	preface string // in front of the frames
	held    []byte // of the preface, or of the first frame
	frames  h2.Splitter
	begun   bool
	foreign bool // not HTTP/2
}

func newH2Cutter(preface string) h2Cutter {
	return h2Cutter{preface: preface, frames: h2.Splitter{Limit: 1<<24 - 1}}
}

// cut adds p and returns the complete frames, modified.
func (c *h2Cutter) cut(p []byte, change func(h2.Frame, func(h2.Frame))) []byte {
	if c.foreign || len(p) == 0 {
		return p
	}
	var out []byte
	if !c.begun {
		c.held = append(c.held, p...)
		if out = c.begin(); !c.begun {
			return out
		}
		p, c.held = c.held, nil
	}
	next := func(f h2.Frame) { out = f.Append(out) }
	// The limit is the largest length that a frame can declare, so there is no error.
	_ = c.frames.Feed(p, func(f h2.Cut) bool {
		change(f.Frame(), next)
		return true
	})
	return out
}

// begin passes on the preface, or everything if this is not HTTP/2: an HTTP/1.1 response
// begins with the letter H, and the first frame of HTTP/2 is never that long.
func (c *h2Cutter) begin() []byte {
	if c.preface == "" {
		c.foreign = c.held[0] == 'H'
		c.begun = !c.foreign
	} else {
		c.foreign = !strings.HasPrefix(string(c.held), c.preface[:min(len(c.held), len(c.preface))])
		c.begun = !c.foreign && len(c.held) >= len(c.preface)
	}
	n := 0
	switch {
	case c.foreign:
		n = len(c.held)
	case c.begun:
		n = len(c.preface)
	}
	out := append([]byte(nil), c.held[:n]...)
	c.held = c.held[n:]
	return out
}
