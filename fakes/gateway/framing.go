package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"assay/fakes/strict"
)

// framedConn looks for requests of HTTP/1.1 with both Content-Length and Transfer-Encoding. Two servers in a row may disagree about where such a
// request ends, so its connection must not serve another (RFC 9112, section 6.1). net/http removes the one field and keeps the connection.
//
// framedConn does not follow the bodies: a body that looks like such a head also ends its connection, which is legal.
type framedConn struct {
	net.Conn

	ambiguous atomic.Bool
	http2     bool
	line      []byte // the start of the current line
	sized     bool   // the current block of lines has Content-Length
	encoded   bool   // and Transfer-Encoding
}

// lineStart is as much of a line as is looked at.
const lineStart = len("Transfer-Encoding") + 1

func (c *framedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.http2 {
		c.scan(p[:n])
	}
	return n, err
}

func (c *framedConn) scan(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		line := p
		if end >= 0 {
			line = p[:end]
		}
		c.line = append(c.line, line[:min(len(line), max(0, lineStart-len(c.line)))]...)
		if end < 0 {
			return
		}
		c.endLine()
		c.line = c.line[:0]
		p = p[end+1:]
	}
}

func (c *framedConn) endLine() {
	is := func(name string) bool {
		return len(c.line) >= len(name) && strings.EqualFold(string(c.line[:len(name)]), name)
	}
	switch line := bytes.TrimSuffix(c.line, []byte("\r")); {
	case len(line) == 0:
		c.sized, c.encoded = false, false
	case is("PRI * HTTP/2.0"):
		c.http2 = true
	case is("Content-Length"):
		c.sized = true
	case is("Transfer-Encoding"):
		c.encoded = true
	}
	if c.sized && c.encoded {
		c.ambiguous.Store(true)
	}
}

// CloseWrite tells the client that nothing follows.
func (c *framedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// connKey is the key of the framedConn in a request's context.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// closeAmbiguous ends a connection after the response to an ambiguous request.
func closeAmbiguous(w http.ResponseWriter, r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*framedConn); ok && r.ProtoMajor == 1 && c.ambiguous.Load() {
		w.Header().Set("Connection", "close")
	}
}

// tidied ends the connection of an ambiguous request, and does not wait long for the rest of a body that its handler
// has not read.
func tidied(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closeAmbiguous(w, r)
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &seenBody{ReadCloser: r.Body}
		r.Body = body
		defer func() {
			if !body.ended.Load() {
				strict.LimitRest(w) // the server reads the rest
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// seenBody notes that a body has ended.
type seenBody struct {
	io.ReadCloser
	ended atomic.Bool
}

func (b *seenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}
