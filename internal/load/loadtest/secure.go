package loadtest

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"sync"

	"assay/internal/load"
)

// Way is how a driver reaches a scripted gateway: in clear, or over TLS.
type Way struct {
	Name string
	// Version is the newest TLS version that the gateway speaks, 0 in clear.
	Version uint16
}

// Ways returns all ways: in clear, over the newest TLS, and over an older one.
func Ways() []Way {
	return []Way{{Name: "clear"}, {Name: "TLS 1.3", Version: tls.VersionTLS13}, {Name: "TLS 1.2", Version: tls.VersionTLS12}}
}

// Serve returns what serves a connection this way; serve gets its contents. A connection whose
// handshake fails is closed.
func (w Way) Serve(serve func(c net.Conn)) func(c net.Conn) {
	if w.Version == 0 {
		return serve
	}
	config := ServerTLS()
	config.MaxVersion = w.Version
	return func(c net.Conn) {
		s := tls.Server(c, config)
		if s.Handshake() == nil { //nolint:noctx // the listener closes it at the end of the test
			serve(s)
		}
	}
}

// Plan makes a plan reach its gateway this way. It comes after the choice of the HTTP version.
func (w Way) Plan(p *load.Plan) {
	if w.Version == 0 {
		return
	}
	p.TLS = ClientTLS()
	if p.Multiplexed() {
		p.HTTP = load.H2TLS
		p.TLS.NextProtos = []string{"h2"}
	}
}

// ServerTLS returns the configuration of a server on 127.0.0.1 for both versions of HTTP.
func ServerTLS() *tls.Config {
	return &tls.Config{Certificates: certificate().Certificates, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
}

// ClientTLS returns the configuration of a client over HTTP/1.1 that trusts ServerTLS.
func ClientTLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(certificate().Certificates[0].Leaf)
	return &tls.Config{
		RootCAs: roots, ServerName: "127.0.0.1", NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
		ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
}

// certificate returns the test certificate of httptest.
var certificate = sync.OnceValue(func() *tls.Config {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	c := s.TLS.Clone()
	c.Certificates[0].Leaf = s.Certificate()
	return c
})
