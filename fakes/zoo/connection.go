package zoo

import (
	"bytes"
	"net"
	"net/http"

	"assay/fakes/strict"
)

// connectionVariants treat connections otherwise than to keep them.
func connectionVariants() []variant {
	return []variant{
		{Variant{
			ID:     "connection-closed-after-error",
			Title:  "Over HTTP/1.1, an answer that is an error from its first byte on says Connection: close, and ends the connection",
			Source: "RFC 9112 section 9.6: a server may close after any answer; routers that give up the connection with the request",
		}, closeAfterErrors},
		{Variant{
			ID:     "idle-close",
			Title:  "A connection of HTTP/1.1 is closed behind every answer, which does not say so",
			Source: "RFC 9112 section 9.5: a server may close an idle connection at any time",
		}, func(b *build) { b.kept.closesIdle = true }},
		{Variant{
			ID:     "refuses-pipelining",
			Title:  "A connection of HTTP/1.1 on which requests were sent together is closed behind the first answer",
			Source: "RFC 9112 section 9.3.2: a client that pipelines must be ready to send again; servers without pipelining",
		}, func(b *build) { b.kept.refusesPipelining = true }},
		{Variant{
			ID:     "one-byte-writes",
			Title:  "The first 256 bytes of what is written at once are written one by one, the head included",
			Source: "TCP has no borders: a head may come in any number of segments",
		}, onConn(func(c net.Conn) net.Conn { return dripConn{c} })},
		{Variant{
			ID:     "one-byte-chunks",
			Title:  "Every byte of a chunked answer is an HTTP chunk of its own",
			Source: "rig#1758; RFC 9112 section 7.1: chunk borders mean nothing",
		}, onConn(reframe{perChunk: 1}.on)},
		{Variant{
			ID:     "chunk-extensions",
			Title:  "Every chunk has extensions",
			Source: "RFC 9112 section 7.1.1: unknown extensions are ignored",
		}, onConn(reframe{extension: `;sig=0a1b;note="a;b"`}.on)},
		{Variant{
			ID:     "lower-case-headers",
			Title:  "The names of headers are in small letters, without a space after the colon",
			Source: "RFC 9112 section 5: names are compared without case, white space is optional; nginx behind HTTP/2",
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

// closeAfterErrors says so of unary errors by their status, and of streams by how
// they begin.
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

// lowerNames writes the names of a head in small letters.
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

// dropReason leaves the reason phrase out of a head.
func dropReason(head []byte) []byte {
	line, rest, _ := bytes.Cut(head, []byte("\r\n"))
	const codeEnd = len("HTTP/1.1 200 ")
	if len(line) > codeEnd {
		line = line[:codeEnd]
	}
	return append(append(bytes.Clone(line), "\r\n"...), rest...)
}
