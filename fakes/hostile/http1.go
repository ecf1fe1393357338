package hostile

import (
	"net"
	"net/http"
	"strconv"
	"strings"
)

// http1Modes break HTTP/1.1 in response to every request.
func http1Modes() []Mode {
	const (
		ok     = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		length = "Content-Length: "
	)
	mode := func(id string, talk func(*net.TCPConn)) Mode {
		return Mode{ID: id, Layer: "http/1.1", Scope: Everything, talk: func(c *net.TCPConn) {
			readSome(c)
			talk(c)
		}}
	}
	// then sends a beginning and repeats the rest without end.
	then := func(id, head, more string) Mode {
		return mode(id, func(c *net.TCPConn) {
			if send(c, head) && more != "" {
				flood(c, more)
			}
		})
	}
	return []Mode{
		then("endless-headers", "HTTP/1.1 200 OK\r\n", "X-More: and more and more and more and more and more\r\n"),
		then("endless-1xx", "", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
		then("giant-header", "HTTP/1.1 200 OK\r\nX-Giant: ", strings.Repeat("x", 64<<10)),
		then("endless-status-line", "HTTP/1.1 200 ", strings.Repeat("OK ", 1<<14)),
		then("endless-chunks", streamHead, "1\r\n\x00\r\n"),
		then("endless-chunk-extension", streamHead+"1;", strings.Repeat("x", 64<<10)),
		then("endless-trailers", streamHead+"7\r\n\x02\x00\x00\x00\x02{}\r\n0\r\n", "X-More: and more and more and more\r\n"),
		then("endless-body", ok+"\r\n{\"processes\":[", `{"pid":1},`+strings.Repeat(" ", 1<<14)),
		then("chunk-overflow", streamHead+"fffffffffffffffffffff\r\n", ""),
		then("huge-length", streamHead+"5\r\n\x00\x7f\xff\xff\xff\r\n", ""),
		then("length-negative", ok+length+"-1\r\n\r\n{}", ""),
		then("length-duplicate", ok+length+"2\r\n"+length+"3\r\n\r\n{}", ""),
		then("length-overflow", ok+length+"99999999999999999999\r\n\r\n{}", ""),
		then("length-and-chunked", ok+length+"2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", ""),
		then("garbage-status", "HTTP/1.1 2OO\x00 \xff\r\n\r\n", ""),
		mode("http-0.9", func(c *net.TCPConn) {
			send(c, "<html><body>It works</body></html>")
			_ = c.Close()
		}),
		mode("line-64mb", func(c *net.TCPConn) {
			line := strings.Repeat("x", 1<<20)
			send(c, ok+length+strconv.Itoa(64<<20)+"\r\n\r\n")
			for range 64 {
				send(c, line)
			}
		}),
		mode("escapes-in-type", func(c *net.TCPConn) {
			send(c, "HTTP/1.1 200 OK\r\nContent-Type: text/\xc2\x9b2J\xe2\x80\xae\x9b\r\nConnection: close\r\n\r\n\x1b]0;owned\x07")
			_ = c.CloseWrite()
		}),
		mode("escapes-for-http", func(c *net.TCPConn) {
			send(c, "\x1b]0;owned\x07\x1b[2J\r\n\r\n")
			_ = c.CloseWrite()
		}),
		mode("escapes-in-head", func(c *net.TCPConn) {
			send(c, "HTTP/1.1 418 "+escapes+"\r\nContent-Type: text/"+escapes+"\r\nX-"+escapes+": "+escapes+"\r\nContent-Length: "+
				strconv.Itoa(len(escapes))+"\r\n\r\n"+escapes)
		}),
	}
}

// escapes are sequences that change a terminal: title, colour, clipboard, screen, and the
// right-to-left override.
const escapes = "\x1b]0;owned\x07\x1b[31m\x1b]52;c;b3duZWQ=\x07\x1b[2J\x9b2J\u202e\b\b\b"

// statusModes respond to every request with one status.
func statusModes() []Mode {
	var modes []Mode
	for _, status := range []int{401, 404, 429, 500, 503} {
		modes = append(modes, Mode{
			ID: "status-" + strconv.Itoa(status), Layer: "http", Scope: Everything,
			front: func(w http.ResponseWriter, _ *call) bool { w.WriteHeader(status); return true },
		})
	}
	return append(modes, Mode{
		ID: "redirect-loop", Layer: "http", Scope: Everything,
		front: func(w http.ResponseWriter, r *call) bool {
			http.Redirect(w, r.Request, r.URL.Path, http.StatusTemporaryRedirect)
			return true
		},
	})
}
