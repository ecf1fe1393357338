package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"syscall"

	"assay/internal/bundle"
)

// Close ends the connection as how says:
//
//	fin     close it in both directions
//	rst     reset it
//	half    send FIN and go on reading
//	silent  keep the socket open and neither read nor write any more
//
// Except after half, exchanges under way on it end as aborted by the script. A
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
		c.closeWrite()
		return
	case "silent":
		c.endedByUs(how)
		c.silent = true
		c.interruptRead()
		c.abortAll("the script fell silent on the connection")
		return
	case "rst":
		_ = c.tcp.SetLinger(0)
	default:
		how = "fin"
	}
	c.endedByUs(how)
	c.abortAll("the script closed the connection (" + how + ")")
	if how == "rst" {
		_ = c.tcp.Close()
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
	for _, x := range c.underWay() {
		if x.rec.Op == opRaw && x.rec.Response == nil {
			x.end(bundle.OutcomeNoAnswer, "nothing came before the end of the iteration")
			continue
		}
		x.end(bundle.OutcomeAborted, "still under way at the end of the iteration")
	}
	c.shut()
}

// underWay lists the exchanges on the connection that have not ended, as they began.
func (c *Conn) underWay() []*Exchange {
	if c.h2 == nil {
		return c.queue
	}
	return append(slices.Clip(c.queue), c.h2.underWay()...)
}

// shut closes the socket and lets the reader end.
func (c *Conn) shut() {
	c.queue = nil
	c.closed = true
	_ = c.nc.Close()
	c.wake()
}

// wake lets everyone look at the connection's state anew.
func (c *Conn) wake() {
	c.pace.steered.fire()
	c.changed.fire()
	if c.h2 != nil {
		c.h2.controlled.fire()
	}
}

// closeWrite sends FIN, on TLS after its close_notify.
func (c *Conn) closeWrite() {
	if tc, ok := c.nc.(*tls.Conn); ok {
		_ = tc.CloseWrite()
	}
	_ = c.tcp.CloseWrite()
}

// endedByUs records that we ended it, unless the peer did before.
func (c *Conn) endedByUs(how string) {
	if c.peerClosed {
		return
	}
	c.meta.Ended = &bundle.ConnEnd{At: c.recorder.clock.Stamp(), By: "us", How: how}
}

func (c *Conn) abortAll(detail string) {
	for _, x := range c.underWay() {
		x.rec.Aborted = true
		x.end(bundle.OutcomeAborted, detail)
	}
}

// endedByPeer records that the peer ended the connection, and how every
// exchange on it came out. err is what the read returned.
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
		// On TLS the second one is a FIN without close_notify.
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
	switch {
	case c.h2 != nil:
		outcome, detail = c.h2.ended(outcome, detail)
	case c.lostAt < 0 && (outcome == bundle.OutcomeClosed || !c.untilClose()):
		// A reset does not end a body that lasts until the connection closes.
		c.dec.Close()
	}
	for _, x := range c.underWay() {
		x.cut(outcome, detail+x.progress())
	}
	c.queue = nil
	c.wake()
}

// untilClose reports whether the answer under way is framed by the end of the connection.
func (c *Conn) untilClose() bool {
	return len(c.queue) > 0 && c.queue[0].rec.Response != nil && c.queue[0].rec.Response.Framing == "close"
}
