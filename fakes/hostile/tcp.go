package hostile

import (
	"io"
	"net"
	"time"
)

// tcpModes misbehave below HTTP.
func tcpModes() []Mode {
	mode := func(id string, talk func(*net.TCPConn)) Mode {
		return Mode{ID: id, Layer: "tcp", Scope: Everything, talk: talk}
	}
	return []Mode{
		mode("silent", func(*net.TCPConn) {}),
		mode("close-at-once", func(c *net.TCPConn) { _ = c.Close() }),
		mode("closing", func(c *net.TCPConn) {
			readSome(c)
			_ = c.Close()
		}),
		mode("reset-at-once", reset),
		mode("reset", func(c *net.TCPConn) {
			readSome(c)
			send(c, streamHead)
			reset(c)
		}),
		mode("half-close", func(c *net.TCPConn) { _ = c.CloseWrite() }),
		mode("byte-per-second", func(c *net.TCPConn) {
			readSome(c)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for _, b := range []byte(streamHead + "4000\r\n") {
				<-tick.C
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
			}
		}),
		mode("garbage", func(c *net.TCPConn) {
			readSome(c)
			send(c, "SSH-2.0-OpenSSH_9.2p1\r\n\x00\x01\x02")
		}),
	}
}

// streamHead is the head of a streaming response.
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"

// readSome reads the beginning of a request.
func readSome(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }

// send writes and reports whether that worked.
func send(w io.Writer, s string) bool {
	_, err := io.WriteString(w, s)
	return err == nil
}

// flood writes p until the client closes the connection.
func flood(w io.Writer, p string) {
	for send(w, p) {
	}
}

func drain(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// reset closes with RST.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	_ = c.Close()
}
