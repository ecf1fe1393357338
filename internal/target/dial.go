package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/netip"
	"net/url"

	"assay/internal/target/transport"
)

// Authority returns host and port as in the URL, for Host and :authority.
func (t *Target) Authority() string { return t.url.Host }

// Secure reports whether the target uses TLS.
func (t *Target) Secure() bool { return t.url.Scheme == schemeHTTPS }

// IsLocal reports whether the URL names this machine, by a loopback address or as localhost.
func (t *Target) IsLocal() bool {
	host := t.url.Hostname()
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Versions returns the HTTP versions possible for the URL, plainest first: 1.1 and h2c for
// http, 1.1 and h2-tls for https. Probe finds out which of them the target speaks.
func (t *Target) Versions() []string {
	if t.Secure() {
		return []string{transport.HTTP1, transport.H2TLS}
	}
	return []string{transport.HTTP1, transport.H2C}
}

// Transport returns the options for a connection of an HTTP version (1.1, h2c or h2-tls).
// h2 means the HTTP/2 version that fits the URL, "" means 1.1. Dialing fails for a version
// that does not fit the URL.
func (t *Target) Transport(version string) transport.Options {
	if version == "h2" {
		version = t.Versions()[1]
	}
	return transport.Options{HTTP: version, TLS: t.tls}
}

// Dial opens a connection with the Transport of an HTTP version, under the given name. It
// records a failure and returns it as a *transport.DialError.
func (t *Target) Dial(ctx context.Context, rec *transport.Recorder, name, version string) (*transport.Conn, error) {
	return transport.Open(ctx, rec, name, t.Addr(), t.Transport(version))
}

// tlsConfig returns the TLS configuration of the target, nil for http.
func tlsConfig(u *url.URL, o Options) (*tls.Config, error) {
	if u.Scheme != schemeHTTPS {
		if len(o.CACert) > 0 || o.Insecure {
			return nil, errors.New("--cacert and --insecure need an https URL; this one is http")
		}
		return nil, nil
	}
	c := &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: o.Insecure} // set explicitly by --insecure
	if len(o.CACert) == 0 {
		return c, nil
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(o.CACert) {
		return nil, errors.New("the file of --cacert has no certificate: want PEM (-----BEGIN CERTIFICATE-----)")
	}
	return c, nil
}
