package transport

import (
	"errors"
	"io"
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
		_ = c.nc.CloseWrite()
		return
	case "silent":
		c.endedByUs(how)
		c.silent = true
		c.interruptRead()
		c.abortAll("the script fell silent on the connection")
		return
	case "rst":
		_ = c.nc.SetLinger(0)
	default:
		how = "fin"
	}
	c.endedByUs(how)
	c.abortAll("the script closed the connection (" + how + ")")
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
	for _, x := range c.queue {
		if x.rec.Op == opRaw && x.rec.Response == nil {
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
	_ = c.nc.Close()
	c.pace.steered.fire()
	c.changed.fire()
}

// endedByUs records that we ended it, unless the peer did before.
func (c *Conn) endedByUs(how string) {
	if c.peerClosed {
		return
	}
	c.meta.Ended = &bundle.ConnEnd{At: c.recorder.clock.Stamp(), By: "us", How: how}
}

func (c *Conn) abortAll(detail string) {
	for _, x := range c.queue {
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
	case errors.Is(err, io.EOF):
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
	if c.lostAt < 0 && (outcome == bundle.OutcomeClosed || !c.untilClose()) {
		// A reset does not end a body that lasts until the connection closes.
		c.dec.Close()
	}
	for _, x := range c.queue {
		x.cut(outcome, detail+x.progress())
	}
	c.queue = nil
	c.changed.fire()
}

// untilClose reports whether the answer under way is framed by the end of the connection.
func (c *Conn) untilClose() bool {
	return len(c.queue) > 0 && c.queue[0].rec.Response != nil && c.queue[0].rec.Response.Framing == "close"
}
