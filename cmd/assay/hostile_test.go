package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// startHostile starts a server on 127.0.0.1 that misbehaves in the named way.
func startHostile(kind string) (url string, stop func(), err error) {
	switch kind {
	case "html":
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<!doctype html><title>It works</title>"))
		}))
		return s.URL, s.Close, nil
	case "tls":
		s := httptest.NewTLSServer(http.NotFoundHandler())
		return "http://" + s.Listener.Addr().String(), s.Close, nil
	}
	if _, ok := proxyTalk[kind]; ok {
		return startProxy(kind)
	}
	talk, ok := hostileTalk[kind]
	if do, is := hostileH2[kind]; is {
		talk, ok = talkH2(do, true), true
	}
	if !ok {
		return "", nil, fmt.Errorf("no hostile server %q", kind)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var open sync.Map
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Store(c, true)
			go talk(c.(*net.TCPConn))
		}
	}()
	return "http://" + l.Addr().String(), func() {
		_ = l.Close()
		open.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil || true })
	}, nil
}

// hostileTalk handles each connection of a raw server.
var hostileTalk = map[string]func(*net.TCPConn){
	"silent": func(c *net.TCPConn) { readSome(c) },
	"closing": func(c *net.TCPConn) {
		readSome(c)
		_ = c.Close()
	},
	"reset": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n"))
		_ = c.SetLinger(0)
		_ = c.Close()
	},
	"endless-headers": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
		for range 1 << 20 {
			if _, err := c.Write([]byte("X-More: and more and more and more and more and more\r\n")); err != nil {
				return
			}
		}
	},
	"huge-length": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/connect+json\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"5\r\n\x00\x7f\xff\xff\xff\r\n"))
	},
	"h2-window-zero":      talkH2(func(*http2.Framer, *net.TCPConn, uint32) {}, true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}),
	"h2-settings-unacked": talkH2(func(*http2.Framer, *net.TCPConn, uint32) {}, false),
	"h2-garbage": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("\x00\x00\x00\xff\xff\xff\xff\xff\xffnonsense"))
		_ = c.CloseWrite() // closing with unread data would send a reset, which may discard written data
		_, _ = io.Copy(io.Discard, c)
	},
	"escapes": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/\xc2\x9b2J\xe2\x80\xae\x9b\r\nConnection: close\r\n\r\n\x1b]0;owned\x07"))
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	},
	"escapes-early": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("\x1b]0;owned\x07\x1b[2J\r\n\r\n"))
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	},
	"garbage": func(c *net.TCPConn) {
		readSome(c)
		_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n\x00\x01\x02"))
	},
}

func readSome(c *net.TCPConn) {
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Read(make([]byte, 4096))
}
