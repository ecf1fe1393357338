package transport

import (
	"errors"
	"io"
	"os"
	"time"
)

const (
	readSize = 32 << 10
	// afterLoss is how much is read after the framing is lost, to see how the connection
	// ends.
	afterLoss = 256 << 10
	// paceTick is the shortest wait between two reads at a limited rate.
	paceTick = 10 * time.Millisecond
)

// pace controls the reader; the connection's mutex guards it.
type pace struct {
	paused      bool
	perSec      int
	next        time.Time // not before, at a limited rate
	interrupted bool      // the read deadline is in the past
}

// Pause stops reading; the peer notices once the kernel's buffers are full.
func (c *Conn) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.paused = true
	c.interruptRead()
}

// Resume continues to read after Pause.
func (c *Conn) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.paused = false
	c.steered.fire()
}

// Rate limits reading to perSec bytes a second; 0 is unlimited.
func (c *Conn) Rate(perSec int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.perSec = max(0, perSec)
	c.pace.next = time.Time{}
	c.interruptRead()
	c.steered.fire()
}

// interruptRead interrupts the current Read.
func (c *Conn) interruptRead() {
	c.pace.interrupted = true
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
}

// read is the connection's one reader. It ends when the connection does.
func (c *Conn) read() {
	defer c.recorder.readers.Done()
	buf := make([]byte, readSize)
	for {
		limit, ok := c.turn()
		if !ok {
			return
		}
		n, err := c.nc.Read(buf[:limit])
		if n > 0 {
			c.hold()
			c.feed(buf[:n])
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.endedByPeer(c.resetFor(err))
			return
		}
	}
}

// resetFor returns the reset instead of the EOF that the read returned. The kernel
// reports a reset once: if it reported it to a write, the read sees EOF.
func (c *Conn) resetFor(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || !c.dead() {
		return err
	}
	c.writing.Lock() // a failed write has set c.reset by then
	defer c.writing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reset != nil {
		return c.reset
	}
	return err
}

// hold delays read bytes while reading is paused: a Read in progress may return bytes
// that arrived after Pause had returned.
func (c *Conn) hold() {
	for {
		c.mu.Lock()
		held := c.pace.paused && !c.closed && !c.silent
		steered := c.steered.wait()
		c.mu.Unlock()
		if !held {
			return
		}
		<-steered
	}
}

// turn waits until the next read is allowed and returns its maximum length.
func (c *Conn) turn() (limit int, ok bool) {
	for {
		wait, limit, ok := c.look()
		if !ok || limit > 0 {
			return limit, ok
		}
		wait()
	}
}

// look checks the state once: either limit is set, or wait waits for a change.
func (c *Conn) look() (wait func(), limit int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0, false
	}
	overrun := c.lostAt >= 0 && c.received.n > c.lostAt+afterLoss
	steered := c.steered.wait()
	if c.pace.paused || c.silent || overrun || c.proto.congested() {
		return func() { <-steered }, 0, true
	}
	if d := time.Until(c.pace.next); c.pace.perSec > 0 && d > 0 {
		return func() {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-steered:
			case <-t.C:
			}
		}, 0, true
	}
	if c.pace.interrupted {
		c.pace.interrupted = false
		_ = c.nc.SetReadDeadline(time.Time{})
	}
	if c.pace.perSec > 0 {
		perTick := int(int64(c.pace.perSec) * int64(paceTick) / int64(time.Second))
		return nil, min(readSize, max(1, perTick)), true
	}
	return nil, readSize, true
}

// feed records and decodes what was read.
func (c *Conn) feed(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.silent {
		return
	}
	at := c.recorder.clock.Stamp()
	c.lastRead = at
	c.received.add(p, at)
	if c.pace.perSec > 0 {
		c.pace.next = time.Now().Add(time.Duration(len(p)) * time.Second / time.Duration(c.pace.perSec))
	}
	if c.lostAt < 0 {
		c.proto.feed(p)
	}
	c.changed.fire()
}
