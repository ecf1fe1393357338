package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"assay/internal/record/bundle"
)

// The HTTP versions of a connection, by their names in axes.
const (
	HTTP1 = "1.1"    // HTTP/1.1, in cleartext or over TLS
	H2C   = "h2c"    // HTTP/2 in cleartext, with prior knowledge
	H2TLS = "h2-tls" // HTTP/2 over TLS, agreed on by ALPN
)

// Options configure a connection.
type Options struct {
	// HTTP is 1.1 (default), h2c or h2-tls. With TLS set and 1.1, HTTP/1.1 over TLS.
	HTTP string
	// TLS is set for https; it is not modified. HTTP determines the ALPN protocol; the
	// default server name is the address.
	TLS *tls.Config
	// Raw sends no preface and no SETTINGS, and acknowledges nothing by itself (HTTP/2); it
	// answers neither pings nor the close of a WebSocket.
	Raw bool
}

// Open opens a connection to addr (host:port) with TCP_NODELAY, within ctx and
// at most 10 s, including the TLS handshake. On HTTP/2, unless raw, it sends the client
// preface, our SETTINGS and the connection's window, and waits for the peer's SETTINGS
// for at most three seconds. A failure is a *DialError, and is recorded as a Conn with
// DialError.
func Open(ctx context.Context, rec *Recorder, name, addr string, o Options) (*Conn, error) {
	c := newConn(rec, name, addr)
	nc, err := dial(ctx, addr, o)
	if err != nil {
		var timed net.Error
		c.meta.DialTimeout = ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.As(err, &timed) && timed.Timeout()
		err = rec.redact.failure(err)
		c.meta.HTTP = cmp.Or(o.HTTP, HTTP1)
		c.meta.DialError = err.Error()
		rec.addFailed(c.meta)
		return nil, &DialError{Conn: c.id, Addr: addr, Err: err}
	}
	return c.attach(ctx, nc, o)
}

// Attach is Open on an existing connection of any kind. Only TCP connections can be
// reset and half-closed. o.TLS only sets the scheme to https.
func Attach(ctx context.Context, rec *Recorder, name string, nc net.Conn, o Options) (*Conn, error) {
	return newConn(rec, name, nc.RemoteAddr().String()).attach(ctx, nc, o)
}

// attach starts the protocol on nc. It closes nc if the recorder has finished.
func (c *Conn) attach(ctx context.Context, nc net.Conn, o Options) (*Conn, error) {
	c.nc, c.base = nc, nc
	if tc, ok := nc.(*tls.Conn); ok {
		c.base = tc.NetConn()
		state := tc.ConnectionState()
		c.meta.TLS = &bundle.TLS{Version: tls.VersionName(state.Version), ALPN: state.NegotiatedProtocol}
		if len(state.PeerCertificates) > 0 {
			c.meta.TLS.Subject = c.recorder.redact.Text(state.PeerCertificates[0].Subject.String())
		}
	}
	now := c.recorder.clock.Stamp()
	c.meta.Connected = &now
	c.meta.Local, c.meta.Remote = nc.LocalAddr().String(), nc.RemoteAddr().String()
	c.meta.HTTP = cmp.Or(o.HTTP, HTTP1)
	c.rawSocket = o.Raw
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

// dial opens a TCP connection, with TLS if o.TLS is set.
func dial(ctx context.Context, addr string, o Options) (net.Conn, error) {
	switch o.HTTP {
	case "", HTTP1:
	case H2C:
		if o.TLS != nil {
			return nil, errors.New("h2c is HTTP/2 in cleartext: with TLS it is h2-tls")
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

// handshake runs the TLS handshake and negotiates the protocol by ALPN.
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

// alertNoProtocol is the text of crypto/tls for the alert of a peer that supports none of
// the offered protocols (RFC 7301, section 3.2); the alert's number is not exported.
const alertNoProtocol = "tls: no application protocol"

// NoH2Error reports that a peer did not choose HTTP/2 by ALPN.
type NoH2Error struct {
	// Chosen is the protocol that the peer chose instead, "" for none.
	Chosen string
}

// Error names the chosen protocol.
func (e *NoH2Error) Error() string {
	if e.Chosen == "" {
		return "TLS: the peer does not agree to HTTP/2: it chose nothing by ALPN"
	}
	return fmt.Sprintf("TLS: the peer does not agree to HTTP/2: it chose %q by ALPN", e.Chosen)
}
