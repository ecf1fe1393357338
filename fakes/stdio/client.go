package stdio

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"assay/internal/base/crash"
)

// The limits of a connection.
const (
	maxMessage = 1 << 20 // bytes of a client's message
	maxPiece   = 32 << 10
	// lowWater is how much may wait on a connection before more output is added.
	lowWater = 64 << 10
	// beatInterval is the time between two pings, and maxMissed the number of intervals without a byte from the client after which it is given up.
	beatInterval = 15 * time.Second
	maxMissed    = 4
	// pongPatience is how long a ping waits for room for its pong; the library allows it 5 s.
	pongPatience = 4 * time.Second
)

// Message is one message to a client: text or binary.
type Message struct {
	Binary bool
	Data   []byte // valid during the call
}

// Sink sends messages to one client.
type Sink interface {
	// Send sends a message. It does not wait for the client.
	Send(m Message) error
	// Close sends a Close frame and ends the connection.
	Close(code websocket.StatusCode, reason string) error
}

// socket is the Sink of the reference.
type socket struct{ *websocket.Conn }

var _ Sink = socket{}

func (s socket) Send(m Message) error {
	kind := websocket.MessageText
	if m.Binary {
		kind = websocket.MessageBinary
	}
	return s.Write(context.Background(), kind, m.Data)
}

// client is one client of a session.
type client struct {
	server  *Server
	session *session
	role    role // under the session's mu
	reader  *reader
	prefix  []message // that the client gets before those of the reader
	notice  chan error

	// Set under the server's mu, once the connection is there.
	ws   *websocket.Conn
	conn *calmConn
	sink Sink

	gone   chan struct{} // closed when the client gets no more output
	depart sync.Once
	ends   atomic.Bool // someone closes the connection
	held   atomic.Bool // the client waits until the process reads

	mu       sync.Mutex // one message at a time
	silent   bool       // nothing may follow but the Close frame
	buffer   []byte
	missed   int
	stopBeat func() bool
	stopPing func()
}

// run serves the client until its connection is closed.
func (c *client) run() {
	c.arm()
	reading := make(chan struct{})
	crash.Go(func() {
		defer close(reading)
		c.read()
	})
	c.close(c.pump())
	<-reading
	<-c.conn.ended
}

// leave takes the client out of its session.
func (c *client) leave() {
	c.depart.Do(func() {
		close(c.gone)
		c.mu.Lock()
		c.silent = true
		if c.stopBeat != nil {
			c.stopBeat()
		}
		if c.stopPing != nil {
			c.stopPing()
		}
		c.mu.Unlock()
		c.session.leave(c)
	})
}

// close leaves and closes the connection. A code of 0 sends no Close frame. Only the first call does something.
func (c *client) close(code websocket.StatusCode, reason string) {
	if c.ends.Swap(true) {
		return
	}
	c.leave()
	if code != 0 {
		_ = c.sink.Close(code, reason) // the client may be gone
	}
	_ = c.ws.CloseNow() // it may be closed
}

// closeAtStop closes the connection because the gateway stops.
func (c *client) closeAtStop() { c.close(websocket.StatusGoingAway, "the gateway stops") }

// pump sends the output, and returns how to close the connection.
func (c *client) pump() (code websocket.StatusCode, reason string) {
	if !c.sendAll(c.prefix) {
		return 0, ""
	}
	for {
		t := c.reader.take(maxPiece)
		switch {
		case t.lost:
			return websocket.StatusTryAgainLater, "the client is too slow: output was dropped"
		case t.end != nil && t.end.err != nil:
			return websocket.StatusTryAgainLater, "the clients are too slow: output was dropped"
		case t.end != nil:
			if !c.exit(t.end.code) {
				return 0, ""
			}
			return websocket.StatusNormalClosure, ""
		case len(t.batch) > 0:
			if !c.sendAll(t.batch) {
				return 0, ""
			}
		default:
			select {
			case <-t.changed:
			case err := <-c.notice:
				c.complain(err)
			case <-c.gone:
				return 0, ""
			case <-c.conn.ended: // a ping was refused while the reader waits for room in stdin
				return 0, ""
			}
		}
	}
}

// sendAll sends messages; adjacent output of one stream becomes one message.
func (c *client) sendAll(batch []message) bool {
	for len(batch) > 0 {
		m := Message{Binary: batch[0].stream != 0}
		if !m.Binary {
			m.Data, batch = batch[0].data, batch[1:]
		} else {
			m.Data, batch = c.join(batch)
		}
		if !c.send(m) {
			return false
		}
	}
	return true
}

// join returns the first messages of a batch as one, and the rest.
func (c *client) join(batch []message) (data []byte, rest []message) {
	stream := batch[0].stream
	c.buffer = append(c.buffer[:0], stream)
	for len(batch) > 0 && batch[0].stream == stream {
		c.buffer = append(c.buffer, batch[0].data...)
		batch = batch[1:]
	}
	return c.buffer, batch
}

// send sends one message once there is room for it. It returns false when nothing can be sent any more.
func (c *client) send(m Message) bool {
	if !c.conn.room(lowWater, c.gone) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.silent && c.sink.Send(m) == nil
}

// exit sends the exit message, the last one.
func (c *client) exit(code int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent {
		return false
	}
	c.silent = true
	return c.sink.Send(Message{Data: encode(exitText{"exit", code})}) == nil
}

// complain tells the client why a message of it was refused.
func (c *client) complain(err error) { c.send(Message{Data: encode(errorText{"error", err.Error()})}) }

// read handles the messages of the client until the connection ends.
func (c *client) read() {
	for {
		kind, data, err := c.ws.Read(context.Background())
		if err != nil {
			c.close(closeCode(err), "")
			return
		}
		switch {
		case kind == websocket.MessageBinary:
			err = c.input(mainPane, data)
		case utf8.Valid(data):
			err = c.control(data)
		default:
			c.close(websocket.StatusInvalidFramePayloadData, "a text is not UTF-8")
			return
		}
		if err != nil {
			c.complain(err)
		}
	}
}

// closeCode returns how to close a connection after a failed read; 0 when the client has closed it.
func closeCode(err error) websocket.StatusCode {
	var failed net.Error
	switch {
	case websocket.CloseStatus(err) >= 0, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &failed):
		return 0
	case errors.Is(err, websocket.ErrMessageTooBig):
		return websocket.StatusMessageTooBig
	default:
		return websocket.StatusProtocolError
	}
}

// input passes stdin to a pane.
func (c *client) input(name string, data []byte) error {
	if !c.session.mayInput(c) {
		return errViewer
	}
	p, err := c.session.pane(name)
	if err != nil || p == nil {
		return err
	}
	c.held.Store(true)
	defer c.held.Store(false)
	return p.in.add(data, c.gone)
}

// admitPing waits for room for a pong: a client that pings and does not read must not fill the memory.
func (c *client) admitPing(context.Context, []byte) bool {
	late := make(chan struct{})
	defer time.AfterFunc(pongPatience, func() { close(late) }).Stop()
	return c.conn.room(2*lowWater, late)
}

// arm starts the time until the next beat.
func (c *client) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gone:
	default:
		c.stopBeat = c.server.options.AfterFunc(beatInterval, c.beat)
	}
}

// beat looks for a sign of life, and asks for the next.
func (c *client) beat() {
	defer crash.Catch()
	c.missed++
	if c.conn.heard.Swap(false) || c.held.Load() {
		c.missed = 0
	}
	waiting := c.conn.backlog()
	switch {
	case c.missed < maxMissed:
		c.arm()
		if waiting == 0 {
			c.ping()
		}
	case waiting > 0:
		c.close(websocket.StatusTryAgainLater, "the client is too slow: it has taken nothing for a minute")
	default:
		c.close(websocket.StatusPolicyViolation, "the client has not answered a ping for a minute")
	}
}

// ping sends a ping and waits for its pong, until the next one.
func (c *client) ping() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	if c.stopPing != nil {
		c.stopPing()
	}
	c.stopPing = cancel
	silent := c.silent
	c.mu.Unlock()
	if !silent {
		_ = c.ws.Ping(ctx) // what counts is whether anything is heard
	}
}
