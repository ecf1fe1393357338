package gateway

import (
	"crypto/tls"
	"errors"
	"net"
)

// tlsListener terminates TLS before the HTTP server sees a connection, so that
// the connection seams get plain bytes and one server serves both. The client's
// first bytes show the version of HTTP; they must match the result of ALPN.
func tlsListener(l net.Listener, cert tls.Certificate) net.Listener {
	conf := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{cert},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	return connListener{l, func(c net.Conn) net.Conn { return tlsConn{tls.Server(c, conf)} }}
}

// tlsConn hides TLS from net/http, whose server would otherwise leave HTTP/2 to
// ALPN. The handshake happens at the first read.
type tlsConn struct{ net.Conn }

// plainHTTPAnswer is the response to a client that speaks HTTP without TLS.
const plainHTTPAnswer = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"Client sent an HTTP request to an HTTPS server.\n"

func (c tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && looksLikeHTTP(record.RecordHeader) {
		// The connection ends either way.
		_, _ = record.Conn.Write([]byte(plainHTTPAnswer))
	}
	return n, err
}

// CloseWrite tells the client that nothing follows.
func (c tlsConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// looksLikeHTTP reports whether a TLS record header is the start of a request.
func looksLikeHTTP(head [5]byte) bool {
	switch string(head[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PRI *":
		return true
	default:
		return false
	}
}
