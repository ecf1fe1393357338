package zoo

import (
	"bytes"
	"net"
	"net/http"

	"assay/fakes/strict"
)

// connectionVariants returns the variants in the handling of connections.
func connectionVariants() []variant {
	return []variant{
		{Variant{
			ID:     "connection-closed-after-error",
			Title:  "Over HTTP/1.1, a response that begins with an error has Connection: close and ends the connection",
			Source: "RFC 9112 section 9.6: a server may close after any response; routers that close the connection with the request",
		}, closeAfterErrors},
		{Variant{
			ID:     "idle-close",
			Title:  "An HTTP/1.1 connection is closed after every response, without Connection: close",
			Source: "RFC 9112 section 9.5: a server may close an idle connection at any time",
		}, func(b *build) { b.kept.closesIdle = true }},
		{Variant{
			ID:     "refuses-pipelining",
			Title:  "An HTTP/1.1 connection with pipelined requests is closed after the first response",
			Source: "RFC 9112 section 9.3.2: a client that pipelines must be ready to send again; servers without pipelining",
		}, func(b *build) { b.kept.refusesPipelining = true }},
		{Variant{
			ID:     "one-byte-writes",
			Title:  "The first 256 bytes of every write are sent one by one, including the head",
			Source: "TCP has no message boundaries: a head may arrive in any number of segments",
		}, onConn(func(c net.Conn) net.Conn { return dripConn{c} })},
		{Variant{
			ID:     "one-byte-chunks",
			Title:  "Every byte of a chunked response is a separate HTTP chunk",
			Source: "rig#1758; RFC 9112 section 7.1: chunk boundaries mean nothing",
		}, onConn(reframe{perChunk: 1}.on)},
		{Variant{
			ID:     "chunk-extensions",
			Title:  "Every chunk has extensions",
			Source: "RFC 9112 section 7.1.1: unknown extensions are ignored",
		}, onConn(reframe{extension: `;sig=0a1b;note="a;b"`}.on)},
		{Variant{
			ID:     "lower-case-headers",
			Title:  "Header names are in lower case, without a space after the colon",
			Source: "RFC 9112 section 5: names are case-insensitive, white space is optional; nginx behind HTTP/2",
		}, onConn(reframe{head: lowerNames}.on)},
		{Variant{
			ID:     "no-reason-phrase",
			Title:  "The status line has no reason phrase",
			Source: "RFC 9112 section 4: the reason phrase is optional",
		}, onConn(reframe{head: dropReason}.on)},
	}
}

// onConn decorates every connection.
func onConn(decorate func(next net.Conn) net.Conn) func(*build) {
	return func(b *build) { b.Seams.Conn = around(b.Seams.Conn, decorate) }
}

// onServer changes the HTTP server before it serves, and its listener.
func onServer(change func(s *http.Server, l net.Listener) net.Listener) func(*build) {
	return func(b *build) {
		inner := b.Seams.Server
		b.Seams.Server = func(s *http.Server, l net.Listener) net.Listener {
			if inner != nil {
				l = inner(s, l)
			}
			return change(s, l)
		}
	}
}

// closeAfterErrors adds Connection: close to unary errors, by their status, and
// to streams that begin with an error.
func closeAfterErrors(b *build) {
	onHead(func(r *http.Request, h http.Header, status int) int {
		if status >= http.StatusBadRequest && r.ProtoMajor == 1 {
			h.Set("Connection", "close")
		}
		return status
	})(b)
	onOpening(func(o *strict.Opening) {
		if o.Request.ProtoMajor == 1 && failureOf(o) != nil {
			o.Header.Set("Connection", "close")
		}
	})(b)
}

// drip is how many bytes of a write are sent one by one.
const drip = 256

// dripConn sends the first bytes of every write one by one.
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

// lowerNames puts the header names of a head in lower case.
func lowerNames(head []byte) []byte {
	var out []byte
	for i, line := range bytes.SplitAfter(head, []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(": "))
		if i == 0 || !ok {
			out = append(out, line...)
			continue
		}
		out = append(append(out, bytes.ToLower(name)...), ':')
		out = append(out, value...)
	}
	return out
}

// dropReason removes the reason phrase from a head.
func dropReason(head []byte) []byte {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	const codeEnd = len("HTTP/1.1 200 ")
	if len(line) > codeEnd {
		line = line[:codeEnd]
	}
	return append(append(bytes.Clone(line), "\r\n"...), rest...)
}
