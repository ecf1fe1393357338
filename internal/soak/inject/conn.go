package inject

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"assay/internal/load"
	"assay/internal/soak/client"
	"assay/internal/target"
)

// conn is a connection with a Start request on it.
type conn struct {
	net.Conn
	raw net.Conn // below TLS
}

// dial opens a connection and sends a Start of a shell text.
func dial(ctx context.Context, t *target.Target, run, text string) (*conn, error) {
	d := load.Dialect{Protocol: load.ProtocolConnect, Codec: load.CodecJSON, Target: t, Command: text, Run: run}
	start, err := d.Start()
	if err != nil {
		return nil, err
	}
	raw, err := (&net.Dialer{Timeout: t.Scaled(client.HeadLimit)}).DialContext(ctx, "tcp", t.Addr())
	if err != nil {
		return nil, err
	}
	c := &conn{raw, raw}
	if secure := t.Transport(load.HTTP11).TLS; t.Secure() {
		if secure == nil {
			secure = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		secure = secure.Clone()
		secure.NextProtos = []string{"http/1.1"}
		c.Conn = tls.Client(raw, secure)
	}
	if err := c.send(ctx, t, &start); err != nil {
		reset(raw)
		return nil, err
	}
	return c, nil
}

func (c *conn) send(ctx context.Context, t *target.Target, start *load.Request) error {
	r, err := http.NewRequestWithContext(ctx, start.Method, "http://"+t.Authority()+start.Path, bytes.NewReader(start.Body))
	if err != nil {
		return err
	}
	for _, h := range start.Headers {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Host":
			r.Host = h.Value
		case "Connection", "Content-Length":
		default:
			r.Header.Set(h.Name, h.Value)
		}
	}
	return r.Write(c.Conn)
}

// began reads until the start event; false if it does not come in time.
func (c *conn) began(limit time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(limit))
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	var seen []byte
	buf := make([]byte, 4<<10)
	for len(seen) < 64<<10 {
		n, err := c.Read(buf)
		seen = append(seen, buf[:n]...)
		if bytes.Contains(seen, []byte(`"pid"`)) {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}
