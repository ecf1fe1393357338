package canned

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"assay/fakes/certificate"
)

// ErrSystem reports that the canned gateway needs epoll, which this system lacks.
var ErrSystem = errors.New("a canned gateway needs Linux")

// Options say how a canned gateway is served.
type Options struct {
	// Listen is the address, HOST:PORT.
	Listen string
	// Token is what every request but those for /health needs as X-Access-Token; "" admits
	// everyone.
	Token string
	// TLS serves https with a new certificate. ALPN offers HTTP/2 and HTTP/1.1; the version
	// of a connection is that of its first bytes, as without TLS, whatever ALPN chose.
	TLS bool
}

// Server is a running canned gateway.
type Server struct {
	url  string
	ca   []byte
	stop func()
	done chan error
	once sync.Once
	err  error
}

// Start serves a file over HTTP/1.1 and HTTP/2; without TLS, HTTP/2 needs prior knowledge.
// Start returns once connections are accepted; ErrSystem where there is no epoll.
func Start(f *File, o Options) (*Server, error) {
	l, err := net.Listen("tcp", o.Listen) //nolint:noctx // it does not block
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.Listen, err)
	}
	defer l.Close()
	s := &Server{url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	g := served{file: f, token: o.Token}
	if o.TLS {
		if g.secure, err = s.secure(o.Listen); err != nil {
			return nil, fmt.Errorf("serve TLS on %s: %w", o.Listen, err)
		}
		s.url = "https://" + l.Addr().String()
	}
	if s.stop, err = serve(l, g, s.done); err != nil {
		return nil, err
	}
	return s, nil
}

// served is what a loop serves.
type served struct {
	file   *File
	token  string
	secure *tls.Config // nil: no TLS
}

// secure makes the certificate.
func (s *Server) secure(listen string) (*tls.Config, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	cert, ca, err := certificate.SelfSigned(host, nil, time.Now())
	if err != nil {
		return nil, err
	}
	s.ca = ca
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
		DynamicRecordSizingDisabled: true, // an event in several records costs a system call for each
	}, nil
}

// CACert returns the certificate, in PEM, that clients have to trust; nil without TLS.
func (s *Server) CACert() []byte { return s.ca }

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
