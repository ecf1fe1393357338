package canned

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// ErrSystem reports that the canned gateway needs epoll, which this system lacks.
var ErrSystem = errors.New("a canned gateway needs Linux")

// Server is a running canned gateway.
type Server struct {
	url  string
	stop func()
	done chan error
	once sync.Once
	err  error
}

// Start serves a file on an address, HOST:PORT, over HTTP/1.1 and HTTP/2 with prior
// knowledge. Every request but those for /health needs the token as X-Access-Token, unless the token is empty.
// Start returns once connections are accepted; ErrSystem where there is no epoll.
func Start(listen string, f *File, token string) (*Server, error) {
	l, err := net.Listen("tcp", listen) //nolint:noctx // it does not block
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", listen, err)
	}
	defer l.Close()
	s := &Server{url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	if s.stop, err = serve(l, f, token, s.done); err != nil {
		return nil, err
	}
	return s, nil
}

// URL returns the base URL of the server.
func (s *Server) URL() string { return s.url }

// Close stops the server, closes its connections and returns the error of the loop, if any.
// It may be called more than once.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.stop()
		s.err = <-s.done
	})
	return s.err
}
