package loadtest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"

	"assay/internal/load"
	"assay/internal/wire"
)

// OverWS makes a plan run over stdio over WebSocket.
func OverWS(p *load.Plan) { p.Classes[0].Dialect.Protocol = load.ProtocolWS }

// Attach serves scripted stdio over WebSocket: it accepts the upgrade and calls serve with the
// connection behind it. No process is listed.
func Attach(tb testing.TB, serve func(c *Socket), way ...Way) (addr string) {
	tb.Helper()
	return Upgrade(tb, func(c net.Conn, in *bufio.Reader, r *http.Request) {
		_, _ = io.WriteString(c, Switch(r.Header.Get("Sec-WebSocket-Key")))
		serve(newSocket(c, in))
	}, way...)
}

// Switch returns the 101 response to a key.
func Switch(key string) string {
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + wire.WSAccept(key) + "\r\n\r\n"
}

// Upgrade calls serve with each request for an upgrade. No process is listed.
func Upgrade(tb testing.TB, serve func(c net.Conn, in *bufio.Reader, r *http.Request), way ...Way) (addr string) {
	tb.Helper()
	return Listen(tb, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.Header.Get("Upgrade") != "" {
				serve(c, in, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(c, KillOK)
		}
	}, way...)
}

// Socket is the gateway's end of a WebSocket.
type Socket struct {
	net.Conn

	in      *bufio.Reader
	decoder wire.WSDecoder
	came    []message // read and not taken by Next
}

type message struct {
	op      wire.WSOpcode
	payload []byte
}

func newSocket(c net.Conn, in *bufio.Reader) *Socket {
	s := &Socket{Conn: c, in: in}
	s.decoder = wire.WSDecoder{FromClient: true, OnMessage: func(m wire.WSMessage) {
		s.came = append(s.came, message{m.Opcode, bytes.Clone(m.Payload)})
	}}
	return s
}

// Send writes a text.
func (s *Socket) Send(text string) { _, _ = io.WriteString(s.Conn, text) }

// Next reads the next message of the client. ok is false when the connection has ended.
func (s *Socket) Next() (op wire.WSOpcode, payload []byte, ok bool) {
	for piece := make([]byte, 32<<10); len(s.came) == 0; {
		n, err := s.in.Read(piece)
		if err != nil {
			return 0, nil, false
		}
		s.decoder.Feed(piece[:n])
	}
	first := s.came[0]
	s.came = s.came[1:]
	return first.op, first.payload, true
}

// Drain reads until the client closes the connection.
func (s *Socket) Drain() { _, _ = io.Copy(io.Discard, s.in) }

// Frame returns a frame of a gateway.
func Frame(op wire.WSOpcode, payload string) string {
	return string(wire.AppendWSServer(nil, op, []byte(payload)))
}

// Out returns a message of stdout, and Exit the exit message.
func Out(text string) string { return Frame(wire.WSBinary, "\x01"+text) }

// Exit returns an exit message.
func Exit(code int) string { return Frame(wire.WSText, string(wire.AppendStdioExit(nil, code))) }

// CloseWS returns a Close frame.
func CloseWS(code uint16) string {
	return Frame(wire.WSClose, string(wire.AppendWSClose(nil, code, "")))
}

// GoodFrames returns what a gateway sends for a command that prints three numbered lines.
func GoodFrames() string { return Out("1\n") + Out("2\n3\n") + Exit(0) + CloseWS(1000) }
