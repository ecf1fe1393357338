package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"assay/fakes/gateway"
)

// hostileH2 is the behaviour of an HTTP/2-only server after the first HEADERS frame of a
// client. It ends with its connection.
var hostileH2 = map[string]func(f *http2.Framer, c *net.TCPConn, id uint32){
	"h2-goaway": func(f *http2.Framer, _ *net.TCPConn, _ uint32) {
		_ = f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("calm down"))
	},
	"h2-rst": func(f *http2.Framer, _ *net.TCPConn, id uint32) { _ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
	"h2-continuation-flood": func(f *http2.Framer, _ *net.TCPConn, id uint32) {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
		more := fields("x-more", strings.Repeat("more ", 200))
		for i := 0; err == nil && i < 1<<16; i++ {
			err = f.WriteContinuation(id, false, more)
		}
	},
	"h2-endless-head": func(f *http2.Framer, _ *net.TCPConn, id uint32) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
	},
	"h2-huge-head": func(f *http2.Framer, _ *net.TCPConn, id uint32) {
		p := fields(":status", "200", "x-huge", strings.Repeat("x", 4<<20))
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p[:16000]})
		for p = p[16000:]; err == nil && len(p) > 0; p = p[min(16000, len(p)):] {
			err = f.WriteContinuation(id, len(p) <= 16000, p[:min(16000, len(p))])
		}
	},
	"h2-data-on-0": func(f *http2.Framer, _ *net.TCPConn, _ uint32) {
		_ = f.WriteRawFrame(http2.FrameData, 0, 0, []byte("data"))
	},
	"h2-silent": func(*http2.Framer, *net.TCPConn, uint32) {},
}

// fields is a header block.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

// talkH2 reads the preface, sends the settings, and misbehaves at every HEADERS frame.
func talkH2(do func(*http2.Framer, *net.TCPConn, uint32), ack bool, settings ...http2.Setting) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			_ = c.Close()
			return
		}
		f := http2.NewFramer(c, c)
		_ = f.WriteSettings(settings...)
		for {
			frame, err := f.ReadFrame()
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if ack && !frame.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				do(f, c, frame.StreamID)
			}
			if err != nil {
				_ = c.Close()
				return
			}
		}
	}
}

// proxyTalk is what a proxy in front of the reference gateway does with a request.
var proxyTalk = map[string]func(p http.Handler, w http.ResponseWriter, r *http.Request){
	// close-framed ends responses by closing the connection.
	"close-framed": func(p http.Handler, w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(&closeFramed{ResponseWriter: w}, r)
	},
	// one-stream allows one HTTP/2 stream at a time.
	"one-stream": func(p http.Handler, w http.ResponseWriter, r *http.Request) { p.ServeHTTP(w, r) },
	// latin-1 sends a header that is not UTF-8, of a reserved name, with every error.
	"latin-1": func(p http.Handler, w http.ResponseWriter, r *http.Request) { p.ServeHTTP(&latin1{w}, r) },
	"garbage-metrics": func(p http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = w.Write([]byte("\x00\xff<html>"))
			return
		}
		p.ServeHTTP(w, r)
	},
	"silent-metrics": func(p http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			<-r.Context().Done()
			return
		}
		p.ServeHTTP(w, r)
	},
}

// latin1 is a response whose errors have a header that is not UTF-8.
type latin1 struct{ http.ResponseWriter }

// WriteHeader sends the head.
func (l *latin1) WriteHeader(status int) {
	if status >= 400 {
		l.Header().Set("Connect-Who", "caf\xe9")
	}
	l.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the response, for http.ResponseController.
func (l *latin1) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// startProxy starts the reference gateway behind a proxy that misbehaves.
func startProxy(kind string) (at string, stop func(), err error) {
	g, err := gateway.Start(context.Background(), gateway.Options{})
	if err != nil {
		return "", nil, err
	}
	upstream, err := url.Parse(g.URL())
	if err != nil {
		return "", nil, err
	}
	p := httputil.NewSingleHostReverseProxy(upstream)
	p.FlushInterval = -1
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	talk := proxyTalk[kind]
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Protocols: new(http.Protocols)}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { talk(p, w, r) })
	s.Protocols.SetHTTP1(true)
	if kind == "one-stream" {
		s.Protocols.SetUnencryptedHTTP2(true)
		s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	}
	go func() { _ = s.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _, _ = s.Close(), g.Close() }, nil
}

// closeFramed makes net/http end a response by closing its connection.
type closeFramed struct{ http.ResponseWriter }

func (c *closeFramed) WriteHeader(status int) {
	c.Header().Del("Content-Length")
	c.Header().Set("Connection", "close")
	c.Header()["Transfer-Encoding"] = []string{"identity"} // net/http then leaves chunks out
	c.ResponseWriter.WriteHeader(status)
}

func (c *closeFramed) Unwrap() http.ResponseWriter { return c.ResponseWriter }
