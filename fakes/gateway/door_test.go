package gateway

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"assay/fakes/gatewaytest"
)

// send sends a request head, and a body with its length, on a connection of its own.
func send(t *testing.T, g *Gateway, head []string, body string) gatewaytest.Answer {
	t.Helper()
	c := gatewaytest.Dial(t, g)
	text := strings.Join(head, "\r\n") + "\r\n"
	if body != "" {
		text += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	if _, err := io.WriteString(c, text+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	return c.Answer(strings.Fields(head[0])[0])
}

func TestOnlyTheGatewaysOwnNamesAreServedWithoutAToken(t *testing.T) {
	t.Parallel()
	open, closed := startGateway(t, Options{}), startGateway(t, Options{Token: "secret"})
	for host, served := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8081": true, "localhost": true, "LocalHost:1": true, "localhost.": true, "[::1]:80": true, "[::1]": true, "gateway:80": true,
		"evil.example": false, "evil.example:8081": false, "127.0.0.1.evil.example": false, "localhost.evil.example.": false, "a.b": false,
	} {
		for _, path := range []string{"/health", "/commands"} {
			want := 4
			if served {
				want = 2
			}
			if a := send(t, open, []string{"GET " + path + " HTTP/1.1", "Host: " + host}, ""); a.Status/100 != want {
				t.Errorf("%s at %s: %d, want %dxx", path, host, a.Status, want)
			}
			if a := send(t, closed, []string{"GET " + path + " HTTP/1.1", "Host: " + host, "X-Access-Token: secret"}, ""); a.Status/100 != 2 {
				t.Errorf("%s at %s with a token: %d", path, host, a.Status)
			}
		}
	}
}

func TestPagesNeedPermissionWithoutAToken(t *testing.T) {
	t.Parallel()
	const page, evil = "http://page.example", "http://evil.example"
	for _, c := range []struct {
		name    string
		o       Options
		origin  string
		status  int
		allowed string
	}{
		{"no page may call", Options{}, evil, 403, ""},
		{"not even one without an origin", Options{}, "null", 403, ""},
		{"the gateway's own may", Options{}, "http://127.0.0.1:1", 200, ""},
		{"an allowed one may", Options{Origins: []string{page}}, page, 200, page},
		{"others may not", Options{Origins: []string{page}}, evil, 403, ""},
		{"all may if asked for", Options{Origins: []string{AnyOrigin}}, evil, 200, "*"},
		{"all may with a token", Options{Token: "secret"}, evil, 200, "*"},
		{"the allowed ones may with a token", Options{Token: "secret", Origins: []string{page}}, evil, 403, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := startGateway(t, c.o)
			for _, head := range [][]string{
				{"OPTIONS " + gatewaytest.ListPath + " HTTP/1.1", "Access-Control-Request-Method: POST"},
				{"POST " + gatewaytest.ListPath + " HTTP/1.1", gatewaytest.UnaryJSON, "X-Access-Token: secret"},
			} {
				if c.allowed == "" && c.status == 200 && strings.HasPrefix(head[0], "OPTIONS") {
					continue // no browser asks about its own origin
				}
				a := send(t, g, append(head, "Host: 127.0.0.1:1", "Origin: "+c.origin), "{}")
				if a.Status/100 != c.status/100 || a.Header.Get("Access-Control-Allow-Origin") != c.allowed {
					t.Errorf("%s: %d, allows %q, want %d and %q", head[0], a.Status, a.Header.Get("Access-Control-Allow-Origin"), c.status, c.allowed)
				}
			}
		})
	}
}

func TestAFormRunsNoCommandWithoutAToken(t *testing.T) {
	t.Parallel()
	open, closed := startGateway(t, Options{}), startGateway(t, Options{Token: "secret"})
	for kind, ran := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "application/x-ndjson": true,
		"text/plain": false, "Text/Plain;charset=UTF-8": false, "application/x-www-form-urlencoded": false, "multipart/form-data; boundary=x": false,
	} {
		head := []string{"POST /commands HTTP/1.1", "Host: localhost", "Content-Type: " + kind}
		want := 400
		if ran {
			want = 200
		}
		if a := send(t, open, head, `{"cmd":"true"}`); a.Status != want {
			t.Errorf("%s: %d, want %d", kind, a.Status, want)
		}
		if a := send(t, closed, append(head, "X-Access-Token: secret"), `{"cmd":"true"}`); a.Status != 200 {
			t.Errorf("%s with a token: %d", kind, a.Status)
		}
	}
	wantBooks(t, open, 3, 3, 0, 0, 0)
}

func TestOriginsAreChecked(t *testing.T) {
	t.Parallel()
	for origin, ok := range map[string]bool{"*": true, "http://a": true, "https://a.example:8443": true, "a.example": false, "http://a/": false, "http://": false, "": false} {
		o := Options{Origins: []string{origin}}
		if err := o.complete(); (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

func TestAmbiguousLengthsEndTheConnection(t *testing.T) {
	t.Parallel()
	g := startGateway(t, Options{})
	const path = "POST " + gatewaytest.ListPath + " HTTP/1.1\r\nHost: localhost\r\n" + gatewaytest.UnaryJSON + "\r\n"
	for _, c := range []struct {
		name, request string
		closed        bool
	}{
		{"both", path + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", true},
		{"both the other way round, in other letters", path + "TRANSFER-ENCODING: chunked\ncontent-length: 2\n\n2\r\n{}\r\n0\r\n\r\n", true},
		{"a length", path + "Content-Length: 2\r\n\r\n{}", false},
		{"chunks", path + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := gatewaytest.Dial(t, g)
			for i := range 2 {
				if _, err := io.WriteString(conn, c.request); err != nil {
					return // the second, on a closed connection
				}
				if i == 1 && c.closed {
					if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
						t.Error("the connection served another request")
					}
					return
				}
				if a := conn.Answer("POST"); a.Status != 200 {
					t.Errorf("%d", a.Status)
				}
			}
		})
	}
}

func TestTheScanFindsHeadsHoweverTheyArrive(t *testing.T) {
	t.Parallel()
	const head = "POST / HTTP/1.1\r\nContent-Length: 2\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
	for size := 1; size <= len(head); size++ {
		c := &framedConn{}
		for rest := head; rest != ""; {
			n := min(size, len(rest))
			c.scan([]byte(rest[:n]))
			rest = rest[n:]
		}
		if !c.ambiguous.Load() {
			t.Errorf("in pieces of %d it was not found", size)
		}
	}
	c := &framedConn{}
	c.scan([]byte("POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nPOST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"))
	if c.ambiguous.Load() {
		t.Error("two requests were taken for one")
	}
}
