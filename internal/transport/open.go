package transport

import (
	"cmp"
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
	nc, err := dial(ctx, addr, o)
	if err != nil {
		c.meta.HTTP = cmp.Or(o.HTTP, HTTP1)
		c.meta.DialError = err.Error()
		rec.addFailed(c.meta)
		return nil, &DialError{Conn: c.id, Addr: addr, Err: err}
	}
	return c.attach(ctx, nc, o)
}

// Attach is Open on a connection that is open already, of any kind: only TCP can be
// reset and half-closed. Of o, TLS says no more than that the scheme is https.
func Attach(ctx context.Context, rec *Recorder, name string, nc net.Conn, o Options) (*Conn, error) {
	return newConn(rec, name, nc.RemoteAddr().String()).attach(ctx, nc, o)
}

// attach begins to speak on nc, which it closes where the recorder has finished.
func (c *Conn) attach(ctx context.Context, nc net.Conn, o Options) (*Conn, error) {
	c.nc, c.base = nc, nc
	if tc, ok := nc.(*tls.Conn); ok {
		c.base = tc.NetConn()
		state := tc.ConnectionState()
		c.meta.TLS = &bundle.TLS{Version: tls.VersionName(state.Version), ALPN: state.NegotiatedProtocol}
		if len(state.PeerCertificates) > 0 {
			c.meta.TLS.Subject = state.PeerCertificates[0].Subject.String()
		}
	}
	now := c.recorder.clock.Stamp()
	c.meta.Connected = &now
	c.meta.Local, c.meta.Remote = nc.LocalAddr().String(), nc.RemoteAddr().String()
	c.meta.HTTP = cmp.Or(o.HTTP, HTTP1)
	if c.HTTP2() {
		c.proto = newMux(c, o)
	}
	if !c.recorder.addConn(c) {
		_ = nc.Close()
		return nil, &DialError{Conn: c.id, Addr: c.meta.Remote, Err: errFinished}
	}
	c.proto.start(ctx)
	return c, nil
}

// Dial is Open with the zero options: HTTP/1.1 in plain.
func Dial(ctx context.Context, rec *Recorder, name, addr string) (*Conn, error) {
	return Open(ctx, rec, name, addr, Options{})
}

// dial makes a connection of TCP, and of TLS over it.
func dial(ctx context.Context, addr string, o Options) (net.Conn, error) {
	switch o.HTTP {
	case "", HTTP1:
	case H2C:
		if o.TLS != nil {
			return nil, errors.New("h2c is HTTP/2 in plain: with TLS it is h2-tls")
		}
	case H2TLS:
		if o.TLS == nil {
			return nil, errors.New("h2-tls needs TLS: give a configuration, or speak h2c")
		}
	default:
		return nil, fmt.Errorf("no HTTP version %q: there are 1.1, h2c and h2-tls", o.HTTP)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil || o.TLS == nil {
		return nc, err
	}
	tc, err := handshake(ctx, nc, addr, o)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return tc, nil
}

// handshake puts TLS over a connection and agrees on the protocol by ALPN.
func handshake(ctx context.Context, nc net.Conn, addr string, o Options) (*tls.Conn, error) {
	config := o.TLS.Clone()
	want := "http/1.1"
	if o.HTTP == H2TLS {
		want = "h2"
	}
	config.NextProtos = []string{want}
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		config.ServerName = host
	}
	tc := tls.Client(nc, config)
	if err := tc.HandshakeContext(ctx); err != nil {
		var remote *net.OpError
		if want == "h2" && errors.As(err, &remote) && remote.Op == "remote error" && remote.Err.Error() == alertNoProtocol {
			return nil, &NoH2Error{}
		}
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if chosen := tc.ConnectionState().NegotiatedProtocol; want == "h2" && chosen != want {
		return nil, &NoH2Error{Chosen: chosen}
	}
	return tc, nil
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
