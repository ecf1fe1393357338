package attach

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"

	"assay/internal/target"
)

// dialTimeout bounds the time to a connection, and handshakeTimeout that to a response, both before
// the time scale.
const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 15 * time.Second
)

// version is what an HTTP client speaks.
type version int

const (
	onlyHTTP1 version = iota // a socket needs it
	anyHTTP                  // HTTP/1.1, or what TLS negotiates
	onlyHTTP2                // also without TLS: gRPC needs it
)

// client returns an HTTP client for a target, which sends its headers and follows no redirect. A new connection becomes what made returns for it.
func client(t *target.Target, scale float64, v version, made func(net.Conn) net.Conn) *http.Client {
	dialer := &net.Dialer{Timeout: scaled(dialTimeout, scale)}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return made(conn), nil
		},
		TLSClientConfig:     t.Transport("").TLS,
		TLSHandshakeTimeout: scaled(dialTimeout, scale),
		DisableCompression:  true,
		ForceAttemptHTTP2:   v != onlyHTTP1,
		// Without it, net/http waits for ever for the peer of an HTTP/2 connection that reads nothing.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: scaled(handshakeTimeout, scale)},
	}
	switch v {
	case onlyHTTP1:
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	case onlyHTTP2:
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	case anyHTTP:
	}
	return &http.Client{
		Transport:     headed{t, transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func scaled(d time.Duration, scale float64) time.Duration { return time.Duration(float64(d) * scale) }

// headed adds the headers of a target to every request.
type headed struct {
	target *target.Target
	next   *http.Transport
}

// CloseIdleConnections closes the connections without a call.
func (h headed) CloseIdleConnections() { h.next.CloseIdleConnections() }

// RoundTrip sends a request.
func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, field := range h.target.Headers("attach", "attach") {
		switch {
		case strings.EqualFold(field.Name, "host"):
			r.Host = field.Value
		case strings.EqualFold(field.Name, "authorization") && r.Header.Get("Authorization") != "": // the bearer of a socket
		case !strings.EqualFold(field.Name, "connection"):
			r.Header.Set(field.Name, field.Value)
		}
	}
	return h.next.RoundTrip(r)
}
