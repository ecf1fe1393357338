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

// client returns an HTTP client for a target, which sends its headers and follows no redirect. A
// socket needs HTTP/1.1. A new connection becomes what made returns for it.
func client(t *target.Target, scale float64, socket bool, made func(net.Conn) net.Conn) *http.Client {
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
		ForceAttemptHTTP2:   !socket,
	}
	if socket {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
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
		case !strings.EqualFold(field.Name, "connection"):
			r.Header.Set(field.Name, field.Value)
		}
	}
	return h.next.RoundTrip(r)
}
