package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"assay/internal/bundle"
)

// The HTTP versions that a connection can speak, as axes name them.
const (
	HTTP1 = "1.1"    // HTTP/1.1, in plain or over TLS
	H2C   = "h2c"    // HTTP/2 in plain, with prior knowledge
	H2TLS = "h2-tls" // HTTP/2 over TLS, agreed on by ALPN
)

// Options say how a connection is opened.
type Options struct {
	// HTTP is 1.1 (default), h2c or h2-tls. With TLS set and 1.1, HTTP/1.1 over TLS.
	HTTP string
	// TLS is set for https; it is not changed. The protocol that is offered by ALPN
	// follows from HTTP, the server name from the address where it has none.
	TLS *tls.Config
	// Raw sends no preface and no SETTINGS, and acknowledges nothing by itself (HTTP/2).
	Raw bool
}

// Open opens a connection to addr (host:port) with TCP_NODELAY, within ctx and
// at most 10 s, TLS handshake included. On HTTP/2, unless raw, the client preface,
// our SETTINGS and the connection's window have been sent when it returns, and
// the peer's SETTINGS have come, for which it waits three seconds at most. The failure
// is a *DialError and is recorded as a Conn with DialError too.
func Open(ctx context.Context, rec *Recorder, name, addr string, o Options) (*Conn, error) {
	c := newConn(rec, name, addr)
	c.meta.HTTP = o.HTTP
	if o.HTTP == "" {
		c.meta.HTTP = HTTP1
	}
	if err := c.open(ctx, addr, o); err != nil {
		c.meta.DialError = err.Error()
		rec.addFailed(c.meta)
		return nil, &DialError{Conn: c.id, Addr: addr, Err: err}
	}
	now := rec.clock.Stamp()
	c.meta.Connected = &now
	c.meta.Local, c.meta.Remote = c.tcp.LocalAddr().String(), c.tcp.RemoteAddr().String()
	if c.meta.HTTP != HTTP1 {
		c.h2 = newMux(c, o)
	}
	workers := 1
	if c.h2 != nil {
		workers = 2
	}
	if !rec.addConn(c, workers) {
		_ = c.nc.Close()
		return nil, &DialError{Conn: c.id, Addr: addr, Err: errFinished}
	}
	if c.h2 == nil {
		go c.read()
		return c, nil
	}
	c.h2.greet(ctx)
	go c.read()
	go c.h2.writeControl()
	if !o.Raw {
		c.h2.settle(ctx)
	}
	return c, nil
}

// Dial is Open with the zero options: HTTP/1.1 in plain.
func Dial(ctx context.Context, rec *Recorder, name, addr string) (*Conn, error) {
	return Open(ctx, rec, name, addr, Options{})
}

// open makes the connection of TCP, and of TLS over it.
func (c *Conn) open(ctx context.Context, addr string, o Options) error {
	switch c.meta.HTTP {
	case HTTP1:
	case H2C:
		if o.TLS != nil {
			return errors.New("h2c is HTTP/2 in plain: with TLS it is h2-tls")
		}
	case H2TLS:
		if o.TLS == nil {
			return errors.New("h2-tls needs TLS: give a configuration, or speak h2c")
		}
	default:
		return fmt.Errorf("no HTTP version %q: there are 1.1, h2c and h2-tls", o.HTTP)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	var ok bool
	if c.tcp, ok = nc.(*net.TCPConn); !ok {
		_ = nc.Close()
		return fmt.Errorf("a connection of TCP was expected, not %T", nc)
	}
	c.nc = nc
	if o.TLS == nil {
		return nil
	}
	if err := c.handshake(ctx, addr, o.TLS); err != nil {
		_ = nc.Close()
		return err
	}
	return nil
}

// handshake puts TLS over the connection and agrees on the protocol by ALPN.
func (c *Conn) handshake(ctx context.Context, addr string, given *tls.Config) error {
	config := given.Clone()
	want := "http/1.1"
	if c.meta.HTTP == H2TLS {
		want = "h2"
	}
	config.NextProtos = []string{want}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		config.ServerName = host
	}
	tc := tls.Client(c.tcp, config)
	if err := tc.HandshakeContext(ctx); err != nil {
		var remote *net.OpError
		if want == "h2" && errors.As(err, &remote) && remote.Op == "remote error" && remote.Err.Error() == alertNoProtocol {
			return &NoH2Error{}
		}
		return fmt.Errorf("TLS: %w", err)
	}
	state := tc.ConnectionState()
	if want == "h2" && state.NegotiatedProtocol != want {
		return &NoH2Error{Chosen: state.NegotiatedProtocol}
	}
	c.nc = tc
	c.meta.TLS = &bundle.TLS{Version: tls.VersionName(state.Version), ALPN: state.NegotiatedProtocol}
	if len(state.PeerCertificates) > 0 {
		c.meta.TLS.Subject = state.PeerCertificates[0].Subject.String()
	}
	return nil
}

// alertNoProtocol is how crypto/tls words the alert of a peer that speaks none of
// the protocols that were offered (RFC 7301, section 3.2); its number is not exported.
const alertNoProtocol = "tls: no application protocol"

// NoH2Error says that a peer did not agree to HTTP/2 by ALPN.
type NoH2Error struct {
	// Chosen is the protocol that it chose instead, "" for none.
	Chosen string
}

// Error names what was chosen.
func (e *NoH2Error) Error() string {
	if e.Chosen == "" {
		return "TLS: the peer does not agree to HTTP/2: it chose nothing by ALPN"
	}
	return fmt.Sprintf("TLS: the peer does not agree to HTTP/2: it chose %q by ALPN", e.Chosen)
}

// HTTP2 reports whether the connection speaks HTTP/2.
func (c *Conn) HTTP2() bool { return c.h2 != nil }
