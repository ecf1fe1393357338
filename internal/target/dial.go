package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"assay/internal/transport"
)

// Authority is host and port as they stand in the URL: what Host and :authority say.
func (t *Target) Authority() string { return t.url.Host }

// Secure reports whether the target is spoken to over TLS.
func (t *Target) Secure() bool { return t.url.Scheme == schemeHTTPS }

// Versions are the HTTP versions that the URL leaves open, plainest first: 1.1
// and h2c for http, 1.1 and h2-tls for https. Which of them the target speaks is
// for Probe to find out.
func (t *Target) Versions() []string {
	if t.Secure() {
		return []string{transport.HTTP1, transport.H2TLS}
	}
	return []string{transport.HTTP1, transport.H2C}
}

// Transport is how a connection of an HTTP version (1.1, h2c or h2-tls) is
// opened; h2 means the one of the two that goes with the URL, and "" is 1.1. A
// version that does not go with the URL is refused when it is opened.
func (t *Target) Transport(version string) transport.Options {
	if version == "h2" {
		version = t.Versions()[1]
	}
	return transport.Options{HTTP: version, TLS: t.tls}
}

// Dial opens a connection that speaks an HTTP version, as Transport has it, under
// that name. Its failure is a *transport.DialError, and is recorded.
func (t *Target) Dial(ctx context.Context, rec *transport.Recorder, name, version string) (*transport.Conn, error) {
	return transport.Open(ctx, rec, name, t.Addr(), t.Transport(version))
}

// tlsConfig is how the target's certificate is checked, nil for http.
func tlsConfig(secure bool, o Options) (*tls.Config, error) {
	if !secure {
		if len(o.CACert) > 0 || o.Insecure {
			return nil, errors.New("--cacert and --insecure are for https: the URL is http")
		}
		return nil, nil
	}
	c := &tls.Config{InsecureSkipVerify: o.Insecure} // asked for by name
	if len(o.CACert) == 0 {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(o.CACert) {
		return nil, errors.New("the file of --cacert holds no certificate: PEM is expected (-----BEGIN CERTIFICATE-----)")
	}
	return c, nil
}
