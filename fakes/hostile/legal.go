package hostile

import (
	"net"
	"net/http"
	"net/http/httptest"
)

// legalModes look hostile and are within the rules, break a single one, or are no gateways.
func legalModes() []Mode {
	return []Mode{
		// The reference gateway unchanged: how long a run takes on this machine.
		{ID: "reference", Layer: "process", Scope: Everything, Legal: true, front: func(http.ResponseWriter, *call) bool { return false }},
		{ID: "html", Layer: "http", Scope: Everything, start: func() (*Server, error) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte("<!doctype html><title>It works</title>"))
			}))
			return &Server{s.URL, s.Close}, nil
		}},
		{ID: "close-framed", Layer: "http/1.1", Scope: Everything, Legal: true,
			front: func(w http.ResponseWriter, r *call) bool {
				framed := r.ProtoMajor == 1 && r.Header.Get("Upgrade") == "" // a WebSocket frames itself
				if framed {
					r.next.ServeHTTP(&closeFramed{ResponseWriter: w}, r.Request)
				}
				return framed
			}},
		{ID: "one-stream", Layer: "http/2", Scope: Everything, Legal: true,
			front: func(http.ResponseWriter, *call) bool { return false },
			server: func(s *http.Server, l net.Listener) net.Listener {
				s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
				return l
			}},
		{ID: "latin-1", Layer: "http", Scope: Everything, Mild: true,
			front: func(w http.ResponseWriter, r *call) bool {
				r.next.ServeHTTP(&latin1{w}, r.Request)
				return true
			}},
	}
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

// latin1 is a response whose errors have a header that is not UTF-8, with a reserved name.
type latin1 struct{ http.ResponseWriter }

func (l *latin1) WriteHeader(status int) {
	if status >= 400 {
		l.Header().Set("Connect-Who", "caf\xe9")
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l *latin1) Unwrap() http.ResponseWriter { return l.ResponseWriter }
