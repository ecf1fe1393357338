package transport

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"assay/internal/record/bundle"
)

// Close ends the connection in one of these ways:
//
//	fin     close it in both directions
//	rst     reset it
//	half    send FIN and continue to read
//	silent  keep the socket open and neither read nor write any more
//
// Except after half, exchanges under way end as aborted by the script. A
// connection that has ended stays as it is; any other word means fin.
func (c *Conn) Close(how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || (c.peerClosed && how != "rst" && how != "fin") {
		return
	}
	switch how {
	case "half":
		c.endedByUs(how)
		c.half = true
		c.mu.Unlock()
		c.closeWrite()
		c.mu.Lock()
		return
	case "silent":
		c.endedByUs(how)
		c.silent = true
		c.interruptRead()
		c.abortAll("the script fell silent on the connection")
		return
	case "rst":
		if s, ok := c.base.(interface{ SetLinger(sec int) error }); ok {
			_ = s.SetLinger(0)
		}
	default:
		how = "fin"
	}
	c.endedByUs(how)
	c.abortAll("the script closed the connection (" + how + ")")
	if how == "rst" {
		_ = c.base.Close()
	}
	c.shut()
}

// finish closes the connection at the end of the iteration.
func (c *Conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.meta.Ended == nil {
		c.endedByUs("fin")
	}
	for _, x := range c.proto.underWay() {
		if x.rec.Op == bundle.OpRaw && x.rec.Response == nil {
			x.end(bundle.OutcomeNoAnswer, "nothing came before the end of the iteration")
			continue
		}
		x.end(bundle.OutcomeAborted, "still under way at the end of the iteration")
	}
	c.shut()
}

// shut closes the socket and lets the reader end.
func (c *Conn) shut() {
	c.queue = nil
	c.closed = true
	if c.sendBroken {
		_ = c.base.Close() // TLS would try for 5 s to send a close_notify
	}
	_ = c.nc.Close()
	c.wake()
}

// wake makes every waiting goroutine check the connection's state again.
func (c *Conn) wake() {
	c.steered.fire()
	c.changed.fire()
}

// writeGrace is how long a half close on TLS waits for a write in progress. The kernel takes a write at
// once, unless the peer does not read.
const writeGrace = 500 * time.Millisecond

// closeWrite sends FIN, on TLS after its close_notify. It requires half, and that c.mu is not held. On
// TLS it waits for a write in progress, and cuts it after writeGrace: then no close_notify can follow.
func (c *Conn) closeWrite() {
	halves := []net.Conn{c.base}
	if c.nc != c.base {
		// No write begins after half is set, so that this deadline stays.
		_ = c.nc.SetWriteDeadline(time.Now().Add(writeGrace))
		c.writing.Lock()
		defer c.writing.Unlock()
		if !c.isSendBroken() {
			halves = []net.Conn{c.nc, c.base}
		}
	}
	for _, nc := range halves {
		if half, ok := nc.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
}

func (c *Conn) isSendBroken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sendBroken
}

// endedByUs records that we ended the connection, unless the peer did before.
func (c *Conn) endedByUs(how string) {
	if c.peerClosed {
		return
	}
	c.meta.Ended = &bundle.ConnEnd{At: c.recorder.clock.Stamp(), By: "us", How: how}
}

func (c *Conn) abortAll(detail string) {
	for _, x := range c.proto.underWay() {
		x.abort(detail)
	}
}

// endedByPeer records that the peer ended the connection, and the outcome of every
// exchange on it. err is the error of the read.
func (c *Conn) endedByPeer(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.peerClosed = true
	end := bundle.ConnEnd{At: c.recorder.clock.Stamp(), By: "peer", How: "fin"}
	outcome, detail := bundle.OutcomeClosed, "the peer closed the connection"
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// On TLS, ErrUnexpectedEOF is a FIN without close_notify.
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		end.How, end.Err = "rst", err.Error()
		outcome, detail = bundle.OutcomeReset, "the peer reset the connection"
	default:
		end.How, end.Err = "error", err.Error()
		outcome, detail = bundle.OutcomeReset, "the connection broke: "+err.Error()
	}
	if c.half && end.Err == "" {
		end.Err = "after we had sent FIN"
	}
	c.meta.Ended = &end
	outcome, detail = c.proto.ended(outcome, detail)
	for _, x := range c.proto.underWay() {
		x.cut(outcome, detail+x.progress())
	}
	c.queue = nil
	c.wake()
}
