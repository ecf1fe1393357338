package fakes

import (
	"net"
	"net/http"

	"assay/fakes/strict"
)

// connectionVariants treat connections otherwise than to keep them.
func connectionVariants() []variantDecorator {
	return []variantDecorator{
		{Variant{
			ID:     "connection-closed-after-error",
			Title:  "Over HTTP/1.1, an answer that is an error from its first byte on says Connection: close, and ends the connection",
			Source: "RFC 9112 section 9.6: a server may close after any answer; routers that give up the connection with the request",
		}, closeAfterErrors},
		{Variant{
			ID:     "idle-close",
			Title:  "A connection of HTTP/1.1 is closed behind every answer, which does not say so",
			Source: "RFC 9112 section 9.5: a server may close an idle connection at any time",
		}, func(s *seams, _ uint64) { s.kept.closesIdle = true }},
		{Variant{
			ID:     "refuses-pipelining",
			Title:  "A connection of HTTP/1.1 on which requests were sent together is closed behind the first answer",
			Source: "RFC 9112 section 9.3.2: a client that pipelines must be ready to send again; servers without pipelining",
		}, func(s *seams, _ uint64) { s.kept.refusesPipelining = true }},
		{Variant{
			ID:     "one-byte-writes",
			Title:  "The first 256 bytes of what is written at once are written one by one, the head included",
			Source: "TCP has no borders: a head may come in any number of segments",
		}, func(s *seams, _ uint64) {
			s.conn = around(s.conn, func(c net.Conn) net.Conn { return dripConn{c} })
		}},
	}
}

// closeAfterErrors says so of unary errors by their status, and of streams by how
// they begin.
func closeAfterErrors(s *seams, seed uint64) {
	onHead(func(r *http.Request, h http.Header, status int) int {
		if status >= http.StatusBadRequest && r.ProtoMajor == 1 {
			h.Set("Connection", "close")
		}
		return status
	})(s, seed)
	onOpening(func(o *strict.Opening) {
		if o.Request.ProtoMajor == 1 && failureOf(o) != nil {
			o.Header.Set("Connection", "close")
		}
	})(s, seed)
}

// drip is how much of a write goes byte by byte.
const drip = 256

// dripConn writes slowly to begin with.
type dripConn struct{ net.Conn }

func (c dripConn) Write(p []byte) (int, error) {
	for n := range min(drip, len(p)) {
		if _, err := c.Conn.Write(p[n : n+1]); err != nil {
			return n, err
		}
	}
	if len(p) <= drip {
		return len(p), nil
	}
	n, err := c.Conn.Write(p[drip:])
	return drip + n, err
}
