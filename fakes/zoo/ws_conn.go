package zoo

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"assay/fakes/gateway"
	"assay/internal/wire"
)

// wsFrame is one frame of a WebSocket, with its payload unmasked.
type wsFrame struct {
	wire.WSHead
	payload []byte // belongs to the stage
}

// with returns the frame with another payload, whose length has its shortest form.
func (f wsFrame) with(payload []byte) wsFrame {
	f.payload, f.LengthBits = payload, 0
	return f
}

// as returns the frame as the only one of a message of another kind.
func (f wsFrame) as(op wire.WSOpcode, payload string) wsFrame {
	f.FIN, f.Opcode = true, op
	return f.with([]byte(payload))
}

// isData reports whether the frame is part of a message.
func (f wsFrame) isData() bool { return !f.Opcode.Control() }

// wsStage modifies the frames of one connection: the frames passed to next replace the frame.
// Its functions are called one at a time.
type wsStage struct {
	toClient, toServer func(f wsFrame, next func(wsFrame)) // nil: no change
	// lost is called when the connection ends without a Close frame of the client; the frames
	// passed to next come first. nil: nothing.
	lost func(next func(wsFrame))
	// write sends whole frames instead of the connection; nil: no change.
	write func(p []byte) error
}

// onWSFrames adds a stage to every connection of the stdio surface.
func onWSFrames(stage func(c *wsConn) wsStage) func(*build) {
	return onAttach(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(&wsHijacker{writer: writer{w}, request: r, stage: stage}, r)
	})
}

// toClient adds a stage for the frames of the server.
func toClient(change func() func(f wsFrame, next func(wsFrame))) func(*build) {
	return onWSFrames(func(*wsConn) wsStage { return wsStage{toClient: change()} })
}

// toServer adds a stage for the frames of the client.
func toServer(change func() func(f wsFrame, next func(wsFrame))) func(*build) {
	return onWSFrames(func(*wsConn) wsStage { return wsStage{toServer: change()} })
}

// onAttach wraps the handling of the requests of the stdio surface.
func onAttach(serve middleware) func(*build) { return onSurface(gateway.SurfaceStdio, serve.over) }

// wsHijacker is a response writer that hands out a connection with a stage.
type wsHijacker struct {
	writer
	request *http.Request
	stage   func(c *wsConn) wsStage
}

// Hijack takes over the connection.
func (h *wsHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	inner, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Peek(rw.Reader.Buffered())
	c := &wsConn{Conn: inner, request: h.request, closed: make(chan struct{})}
	c.stage = h.stage(c)
	c.in.add(early)
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}

// wsConn is a connection with a stage, behind the handshake. One goroutine reads, and another
// writes.
type wsConn struct {
	net.Conn
	request *http.Request
	stage   wsStage
	closed  chan struct{} // closed with the connection
	once    sync.Once

	in    wsCutter
	buf   [16 << 10]byte
	ready []byte // modified, and not yet read

	calls sync.Mutex // held while the stage works
	reply []byte     // what toServer sends to the client
	last  bool       // nothing follows what is sent now

	writing sync.Mutex // one write at a time
	out     wsCutter

	mu       sync.Mutex
	deadline time.Time // of reading
	away     net.Conn  // what the server reads when the client is gone without its knowledge
	distant  net.Conn  // the other end of away
}

// Read returns the modified frames of the client.
func (c *wsConn) Read(p []byte) (int, error) {
	for {
		c.take()
		if len(c.ready) > 0 {
			n := copy(p, c.ready)
			c.ready = c.ready[n:]
			return n, nil
		}
		from := c.source()
		n, err := from.Read(c.buf[:])
		c.in.add(c.buf[:n])
		if n > 0 || err == nil {
			continue
		}
		if from != c.Conn || errors.Is(err, os.ErrDeadlineExceeded) || !c.lost() {
			return 0, err
		}
	}
}

// take modifies the whole frames that have arrived.
func (c *wsConn) take() {
	c.calls.Lock()
	next := func(f wsFrame) { c.ready = wire.AppendWSFrame(c.ready, f.WSHead, f.payload) }
	for f, whole := c.in.next(); whole; f, whole = c.in.next() {
		if c.stage.toServer == nil {
			next(f)
		} else {
			c.stage.toServer(f, next)
		}
	}
	c.ready = append(c.ready, c.in.rest()...)
	reply, last := c.reply, c.last
	c.reply, c.last = nil, false
	c.calls.Unlock()
	if len(reply) > 0 {
		c.inject(reply)
	}
	if last {
		c.halfClose()
	}
}

// lost tells the stage once that the client is gone. It returns true if there is something to read
// now.
func (c *wsConn) lost() bool {
	c.calls.Lock()
	defer c.calls.Unlock()
	lost := c.stage.lost
	c.stage.lost = nil
	if lost == nil {
		return false
	}
	lost(func(f wsFrame) { c.ready = wire.AppendWSFrame(c.ready, f.WSHead, f.payload) })
	return len(c.ready) > 0 || c.source() != c.Conn
}

// answer sends a frame to the client. It is for toServer.
func (c *wsConn) answer(op wire.WSOpcode, payload []byte) {
	c.reply = wire.AppendWSServer(c.reply, op, payload)
}

// inject sends frames to the client between those of the server.
func (c *wsConn) inject(frames []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.Conn.Write(frames) // the client may be gone
}

// Write modifies the frames of the server.
func (c *wsConn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	var b []byte
	c.calls.Lock()
	next := func(f wsFrame) { b = wire.AppendWSFrame(b, f.WSHead, f.payload) }
	c.out.add(p)
	for f, whole := c.out.next(); whole; f, whole = c.out.next() {
		if c.stage.toClient == nil {
			next(f)
		} else {
			c.stage.toClient(f, next)
		}
	}
	b = append(b, c.out.rest()...)
	last := c.last
	c.last = false
	c.calls.Unlock()
	if last {
		defer c.halfClose()
	}
	if len(b) == 0 || c.source() != c.Conn {
		return len(p), nil
	}
	if c.stage.write != nil {
		return len(p), c.stage.write(b)
	}
	if _, err := c.Conn.Write(b); err != nil {
		return 0, err
	}
	return len(p), nil
}

// halfClose tells the client that nothing follows.
func (c *wsConn) halfClose() { _ = closeWrite(c.Conn) } // the client may be gone

// closeWrite ends the writing half of a connection, if that is possible.
func closeWrite(c net.Conn) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}

// goAway lets the server believe that its client is there, and silent. What it sends is dropped. It
// is for toServer and lost.
func (c *wsConn) goAway() {
	c.last = true
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away, c.distant = net.Pipe()
	_ = c.away.SetReadDeadline(c.deadline)
}

// source returns what the server reads.
func (c *wsConn) source() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away != nil {
		return c.away
	}
	return c.Conn
}

// SetReadDeadline sets the deadline of all reads.
func (c *wsConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	if c.away != nil {
		_ = c.away.SetReadDeadline(t)
	}
	c.mu.Unlock()
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline sets the deadline of reads and writes.
func (c *wsConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// CloseWrite tells the client that nothing follows.
func (c *wsConn) CloseWrite() error {
	c.mu.Lock()
	if c.distant != nil {
		_ = c.distant.Close()
	}
	c.mu.Unlock()
	return closeWrite(c.Conn)
}

// Close closes the connection.
func (c *wsConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.mu.Lock()
	if c.distant != nil {
		_ = c.distant.Close()
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// longestFrame is the length of the longest frame that is modified; servers accept no longer ones.
const longestFrame = 4 << 20

// wsCutter cuts one direction of a connection into frames.
type wsCutter struct {
	held   []byte
	opaque bool // a frame was too long: the rest is passed on as it is
}

func (w *wsCutter) add(p []byte) { w.held = append(w.held, p...) }

// next returns the next whole frame.
func (w *wsCutter) next() (f wsFrame, whole bool) {
	h, n := wire.ParseWSHead(w.held)
	if w.opaque || n == 0 {
		return f, false
	}
	if w.opaque = h.Length > longestFrame; w.opaque {
		return f, false
	}
	end := n + int(h.Length)
	if len(w.held) < end {
		return f, false
	}
	f = wsFrame{h, bytes.Clone(w.held[n:end])}
	if h.Masked {
		wire.MaskWS(f.payload, h.Key, 0)
	}
	if w.held = w.held[end:]; len(w.held) == 0 {
		w.held = nil
	}
	return f, true
}

// startsWith reports whether a whole message of one frame is next.
func (w *wsCutter) startsWith(op wire.WSOpcode) bool {
	h, n := wire.ParseWSHead(w.held)
	return n > 0 && h.FIN && h.Opcode == op && h.Length <= uint64(len(w.held)-n)
}

// rest returns what is passed on as it is.
func (w *wsCutter) rest() []byte {
	if !w.opaque {
		return nil
	}
	rest := w.held
	w.held = nil
	return rest
}
