package fleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// dialer opens the connections of a link. It guards what comes from the bus, and so does TLS itself: the guard stands above TLS,
// where nats.go has no place for it.
type dialer struct {
	link *link
	tls  *tls.Config // nil: TLS is for a server that demands it
}

var _ nats.CustomDialer = (*dialer)(nil)

// SkipTLSHandshake tells nats.go that the connections have TLS already.
func (*dialer) SkipTLSHandshake() bool { return true }

// Dial opens a connection. A bus that broke the protocol once is not asked again.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	if err := d.link.broken(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), dialWithin)
	defer stop()
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g, err := d.greet(ctx, raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return g, nil
}

// greet reads the INFO line, and begins TLS as the line and the bus want it. It reads no byte behind the line: there is nothing in
// plain text after it when TLS begins.
func (d *dialer) greet(ctx context.Context, raw net.Conn) (*guarded, error) {
	end, _ := ctx.Deadline()
	if err := raw.SetDeadline(end); err != nil {
		return nil, err
	}
	g := &guarded{Conn: raw, link: d.link}
	one := make([]byte, 1)
	for !bytes.HasSuffix(g.info, []byte("\n")) {
		if len(g.info) == longestLine {
			return nil, d.link.breaks(fmt.Errorf("its first line is longer than %d bytes", longestLine))
		}
		n, err := raw.Read(one)
		if g.info = append(g.info, one[:n]...); err != nil && n == 0 {
			return nil, err
		}
	}
	var info struct {
		Required  bool `json:"tls_required"`
		Available bool `json:"tls_available"`
	}
	// nats.go reads the line again, and says what is wrong with it.
	_ = json.Unmarshal(bytes.TrimPrefix(g.info, []byte("INFO ")), &info)
	if info.Required || d.tls != nil && info.Available {
		secure := tls.Client(raw, d.config())
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", nats.ErrTLS, err)
		}
		g.Conn = secure
	}
	return g, raw.SetDeadline(time.Time{})
}

// config returns the configuration of TLS.
func (d *dialer) config() *tls.Config {
	if d.tls != nil {
		return d.tls.Clone()
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if u, err := url.Parse(d.link.bus.URL); err == nil {
		c.ServerName = u.Hostname()
	}
	return c
}

// guarded is a connection to a bus. A Read of what no NATS server sends is an error.
type guarded struct {
	net.Conn

	link *link
	info []byte // what is left of the INFO line
	scan scanner
}

// Read reads the INFO line, and then what comes behind it.
func (g *guarded) Read(p []byte) (int, error) {
	if len(g.info) > 0 {
		n := copy(p, g.info)
		g.info = g.info[n:]
		return n, nil
	}
	n, err := g.Conn.Read(p)
	if bad := g.scan.scan(p[:n]); bad != nil {
		return 0, g.link.breaks(bad)
	}
	return n, err
}
