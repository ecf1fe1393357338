package transport_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/record/bundle"
	"assay/internal/target/transport"
	"assay/internal/wire"
)

const socketKey = "dGhlIHNhbXBsZSBub25jZQ=="

// attachCall asks for a WebSocket.
func attachCall() transport.Call {
	return transport.Call{Name: "p", Op: "start", Surface: "stdio", Shape: bundle.ShapeStdio, Method: "GET", Path: "/attach",
		Headers: []bundle.Header{
			{Name: "Host", Value: "gateway"}, {Name: "Connection", Value: "Upgrade"}, {Name: "Upgrade", Value: "websocket"},
			{Name: "Sec-WebSocket-Version", Value: "13"}, {Name: "Sec-WebSocket-Key", Value: socketKey},
		}}
}

// switched is the head of the response to attachCall, followed by frames.
func switched(frames ...[]byte) string {
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		wire.WSAccept(socketKey) + "\r\n\r\n"
	return head + string(bytes.Join(frames, nil))
}

func text(s string) []byte   { return wire.AppendWSServer(nil, wire.WSText, []byte(s)) }
func binary(s string) []byte { return wire.AppendWSServer(nil, wire.WSBinary, []byte(s)) }
func closing(code uint16) []byte {
	return wire.AppendWSServer(nil, wire.WSClose, wire.AppendWSClose(nil, code, ""))
}

func TestAWebSocketIsDecodedIntoOutputAndExit(t *testing.T) {
	c := newClient(t)
	addr := answering(t, true, switched(binary("\x01out\n"), binary("\x02err\n"), text(`{"type":"exit","code":3}`), closing(1000)))
	x := c.done(c.request(c.dial(addr), attachCall()))
	if x.Outcome != bundle.OutcomeComplete || kinds(x) != "data data end" || x.Closing == nil || x.Closing.Code != 1000 || violations(x) != "" {
		t.Errorf("outcome %s, events %q, closing %+v, violations %q", x.Outcome, kinds(x), x.Closing, violations(x))
	}
	_, xs := c.rec.Finish(nil)
	if out, err := string(xs[0].Outputs["stdout"].Data), string(xs[0].Outputs["stderr"].Data); out != "out\n" || err != "err\n" {
		t.Errorf("stdout %q, stderr %q", out, err)
	}
	if len(xs[0].Frames) != 4 || xs[0].Frames[2].Flags != 0x81 || string(xs[0].Frames[2].Head) != `{"type":"exit","code":3}` {
		t.Errorf("frames %+v", xs[0].Frames)
	}
}

// A snapshot does not change when a frame that had begun is complete.
func TestASnapshotKeepsAFrameThatHasOnlyBegun(t *testing.T) {
	frame := binary("\x01out\n")
	rest := make(chan struct{})
	addr := rawServer(t, func(c *net.TCPConn) {
		defer c.Close()
		if _, ok := readRequest(bufio.NewReader(c)); !ok {
			return
		}
		_, _ = io.WriteString(c, switched(frame[:4]))
		<-rest
		_, _ = io.WriteString(c, string(frame[4:])+switched(closing(1000))[len(switched()):])
	})
	c := newClient(t)
	x := c.request(c.dial(addr), attachCall())
	begun := c.until(x, "a frame", func(x bundle.Exchange) bool { return len(x.Frames) == 1 })
	was := begun.Frames[0]
	close(rest)
	if all := c.done(x); len(all.Frames) != 2 || string(all.Frames[0].Head) != "\x01out\n" || len(all.Events) != 1 {
		t.Errorf("frames %+v, events %+v", all.Frames, all.Events)
	}
	if d := cmp.Diff(was, begun.Frames[0]); d != "" {
		t.Errorf("the snapshot has changed (-before +after)\n%s", d)
	}
}

// A server may cut its output as it likes, and ping as often as it likes.
func TestAWebSocketInThousandsOfFragmentsIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	const fragments = 3000
	output := wire.AppendWSFrame(nil, wire.WSHead{Opcode: wire.WSBinary}, []byte{1})
	for range fragments {
		output = wire.AppendWSServer(output, wire.WSPing, nil)
		output = wire.AppendWSFrame(output, wire.WSHead{Opcode: wire.WSContinuation}, []byte("x"))
	}
	output = wire.AppendWSFrame(output, wire.WSHead{FIN: true, Opcode: wire.WSContinuation}, nil)
	c := newClient(t)
	x := c.done(c.request(c.dial(answering(t, true, switched(output, text(`{"type":"exit","code":3}`), closing(1000)))), attachCall()))
	if x.Outcome != bundle.OutcomeComplete || x.Unread != "" || kinds(x) != "data end" || violations(x) != "" {
		t.Errorf("outcome %s, unread %q, events %q, violations %q", x.Outcome, x.Unread, kinds(x), violations(x))
	}
	if _, xs := c.rec.Finish(nil); len(xs[0].Outputs["stdout"].Data) != fragments {
		t.Errorf("stdout has %d bytes, want %d", len(xs[0].Outputs["stdout"].Data), fragments)
	}
}

func TestAWebSocketWithoutACloseIsCutByItsConnection(t *testing.T) {
	c := newClient(t)
	x := c.done(c.request(c.dial(answering(t, true, switched(text(`{"type":"exit","code":0}`)))), attachCall()))
	if x.Outcome != bundle.OutcomeClosed || x.Closing != nil {
		t.Errorf("outcome %s, closing %+v", x.Outcome, x.Closing)
	}
}

// What comes after an exchange was given up is recorded, and breaks no rule: whether a late 101 or the rest of a response.
func TestNothingIsDecodedOnceAnExchangeIsGivenUp(t *testing.T) {
	for name, tt := range map[string]struct{ before, after string }{
		"before the head":           {"", switched(binary("\x01late"), closing(1000))},
		"in a head":                 {"HTTP/1.1 101", " Switching\r\n" + switched(binary("\x01late"))},
		"among frames":              {switched(binary("\x01out")), "\xff not a frame"},
		"in a body":                 {"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno c", "m\r\nnot a chunk\r\n"},
		"in a body that then ends":  {"HTTP/1.1 400 Bad\r\nContent-Length: 6\r\n\r\nno ", ""},
		"in a chunk that then ends": {"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nno", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := make(chan struct{})
			c := newClient(t)
			conn := c.dial(rawServer(t, func(nc *net.TCPConn) {
				defer nc.Close()
				if _, ok := readRequest(bufio.NewReader(nc)); ok {
					_, _ = io.WriteString(nc, tt.before)
					<-late
					_, _ = io.WriteString(nc, tt.after)
				}
			}))
			x := c.request(conn, attachCall())
			came := func(n int) func() bool {
				return func() bool { got, _ := conn.Received(); return got == int64(n) }
			}
			c.untilConn(conn, "the beginning", came(len(tt.before)))
			x.GiveUp(bundle.OutcomeNoAnswer, "nothing came")
			close(late)
			c.untilConn(conn, "the rest", came(len(tt.before)+len(tt.after)))
			c.untilConn(conn, "the end", conn.PeerClosed)
			conns, xs := c.rec.Finish(nil)
			if got := violations(xs[0]); len(xs) != 1 || got != "" || len(xs[0].Frames) > 1 {
				t.Errorf("%d exchanges, violations %q, frames %+v", len(xs), got, xs[0].Frames)
			}
			if got := string(conns[0].Received.Data); got != tt.before+tt.after {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

func TestARefusedUpgradeIsAnAnswerLikeAnyOther(t *testing.T) {
	c := newClient(t)
	x := c.done(c.request(c.dial(answering(t, true, respond(400, "Content-Type: text/plain\r\n", "no cmd"))), attachCall()))
	if x.Outcome != bundle.OutcomeComplete || x.Response.Status != 400 || violations(x) != "" {
		t.Errorf("outcome %s, status %d, violations %q", x.Outcome, x.Response.Status, violations(x))
	}
}

// A compressed message is legal then, and decides nothing.
func TestMessagesOfASelectedExtensionAreLeftUnread(t *testing.T) {
	packed := wire.AppendWSFrame(nil, wire.WSHead{FIN: true, RSV: wire.WSRSV1, Opcode: wire.WSText}, []byte{0xff})
	call, head := attachCall(), "Sec-WebSocket-Extensions: permessage-deflate\r\nUpgrade: "
	call.Headers = append(call.Headers, bundle.Header{Name: "Sec-WebSocket-Extensions", Value: "permessage-deflate; client_max_window_bits"})
	c := newClient(t)
	x := c.done(c.request(c.dial(answering(t, true, strings.Replace(switched(packed, closing(1000)), "Upgrade: ", head, 1))), call))
	if x.Response.Status != 101 || x.Unread == "" || violations(x) != "" {
		t.Errorf("status %d, unread %q, violations %q", x.Response.Status, x.Unread, violations(x))
	}
	x = c.done(c.request(c.dial(answering(t, true, switched(packed, closing(1000)))), call))
	if x.Unread != "" || !strings.Contains(violations(x), string(wire.WSReservedBits)) {
		t.Errorf("not selected: unread %q, violations %q", x.Unread, violations(x))
	}
}

func TestAWrongUpgradeIsNamed(t *testing.T) {
	c := newClient(t)
	wrong := strings.Replace(switched(closing(1000)), "Accept: ", "Accept: x", 1)
	x := c.done(c.request(c.dial(answering(t, true, wrong)), attachCall()))
	if got := violations(x); got != string(wire.WSUpgradeAccept) {
		t.Errorf("violations %q", got)
	}
}

// Pings are answered with their payload, and the close with its code: each frame with a mask.
func TestAWebSocketAnswersPingAndClose(t *testing.T) {
	answers := make(chan string, 1)
	addr := rawServer(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		readRequest(r)
		_, _ = io.WriteString(c, switched(wire.AppendWSServer(nil, wire.WSPing, []byte("hello")), closing(1001)))
		var seen []string
		d := wire.WSDecoder{FromClient: true, OnMessage: func(m wire.WSMessage) {
			seen = append(seen, m.Opcode.String()+" "+string(m.Payload))
		}, OnViolation: func(v wire.Violation) { seen = append(seen, v.Detail) }}
		buf := make([]byte, 64)
		for len(seen) < 2 {
			n, err := r.Read(buf)
			d.Feed(buf[:n])
			if err != nil {
				break
			}
		}
		answers <- strings.Join(seen, ", ")
	})
	c := newClient(t)
	c.done(c.request(c.dial(addr), attachCall()))
	select {
	case got := <-answers:
		if got != "pong hello, close \x03\xe9" {
			t.Errorf("the peer received %q", got)
		}
	case <-c.ctx.Done():
		t.Error("the peer received no answers")
	}
}

// A server may hold the session, and its process, until the connection has ended on both sides.
func TestAClosedWebSocketEndsItsConnectionWhenThePeerDoes(t *testing.T) {
	ended := make(chan error, 1)
	addr := rawServer(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		readRequest(r)
		_, _ = io.WriteString(c, switched())
		buf := make([]byte, 64)
		_, _ = r.Read(buf) // the close
		_, _ = c.Write(closing(1000))
		_ = c.CloseWrite()
		_, err := io.Copy(io.Discard, r)
		ended <- err
	})
	c := newClient(t)
	conn := c.dial(addr)
	x := c.request(conn, attachCall())
	c.until(x, "the upgrade", func(x bundle.Exchange) bool { return x.Response != nil })
	_ = conn.Write(c.ctx, x.SocketFrame(wire.WSClose, wire.AppendWSClose(nil, 1000, "")))
	c.done(x)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-c.ctx.Done():
		t.Error("the client has not ended the connection")
	}
}
