package hostile

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"assay/fakes/certificate"
)

// tlsModes misbehave before the first byte of HTTP. Certificates are self-made; a client
// gets past one with --insecure.
func tlsModes() []Mode {
	mode := func(id string, talk func(*net.TCPConn)) Mode {
		return Mode{ID: id, Layer: "tls", Scope: Everything, Secure: true, talk: talk}
	}
	return []Mode{
		{ID: "tls", Layer: "tls", Scope: Everything, start: func() (*Server, error) {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS() // behind an http URL
			return &Server{"http://" + s.Listener.Addr().String(), s.Close}, nil
		}},
		mode("tls-hang", func(*net.TCPConn) {}),
		mode("tls-plain", func(c *net.TCPConn) {
			readSome(c)
			send(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		}),
		mode("tls-cut", func(c *net.TCPConn) {
			readSome(c)
			send(c, "\x16\x03\x03\x40\x00\x02\x00")
			_ = c.Close()
		}),
		mode("tls-flood", func(c *net.TCPConn) { flood(c, "\x16\x03\x03\x40\x00"+string(make([]byte, 16384))) }),
		mode("tls-expired", secured(-30*24*time.Hour, func(*tls.Conn) {})),
		mode("tls-then-silent", secured(0, func(*tls.Conn) {})),
		mode("tls-then-h2-silent", secured(0, func(*tls.Conn) {}, "h2")),
	}
}

// secured makes the handshake with a certificate of 14 days that was made that long from now, and then runs talk.
func secured(made time.Duration, talk func(*tls.Conn), protocols ...string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		cert, _, err := certificate.SelfSigned("", nil, time.Now().Add(made))
		if err != nil {
			return
		}
		secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protocols, MinVersion: tls.VersionTLS12})
		if secure.Handshake() == nil { //nolint:noctx // Closing the server ends it.
			talk(secure)
			drain(secure)
		}
	}
}
