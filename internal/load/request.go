package load

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assay/internal/wire"
)

// HTTP returns the request as one of net/http, for the gateway of a plan. Its body cannot
// be sent twice, so that no client repeats a Start by itself.
func (r *Request) HTTP(ctx context.Context, p *Plan) *http.Request {
	h := &http.Request{
		Method: r.Method, URL: &url.URL{Scheme: "http", Host: p.Addr, Opaque: r.Path}, Host: p.Addr,
		Header: make(http.Header, len(r.Headers)), ProtoMajor: 1, ProtoMinor: 1,
	}
	if p.TLS != nil {
		h.URL.Scheme = "https"
	}
	for _, f := range r.Headers {
		switch name := strings.ToLower(f.Name); name {
		case "host":
			h.Host = f.Value
		case "connection", "upgrade":
			if r.Upgrades() {
				h.Header.Set(name, f.Value)
			}
		case "keep-alive", "proxy-connection", "transfer-encoding", "content-length":
		default:
			h.Header[http.CanonicalHeaderKey(name)] = []string{f.Value}
		}
	}
	if r.Body != nil {
		h.Body, h.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	}
	return h.WithContext(ctx)
}

// Fields converts header fields of net/http.
func Fields(h http.Header) []wire.Field {
	all := make([]wire.Field, 0, len(h))
	for name, values := range h {
		for _, v := range values {
			all = append(all, wire.Field{Name: name, Value: v})
		}
	}
	return all
}

// maxAnswer bounds the body of a unary response: a List of 20,000 processes fits.
const maxAnswer = 32 << 20

// call makes a unary call outside an engine.
func (d *Dialect) call(ctx context.Context, c *http.Client, p *Plan, r Request) ([]byte, error) {
	resp, err := c.Do(r.HTTP(ctx, p))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	return d.Reply(&Answer{Status: resp.StatusCode, Fields: Fields(resp.Header), Trailers: Fields(resp.Trailer), Body: body})
}

// client returns an HTTP client for the gateway of a plan, outside an engine. limit bounds a
// request, and half of it the time in which the peer of an HTTP/2 connection reads nothing: without that,
// net/http waits for such a peer for ever.
func (p *Plan) client(limit time.Duration) *http.Client {
	t := &http.Transport{
		MaxIdleConns: scrapesAtOnce, MaxIdleConnsPerHost: scrapesAtOnce, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		Protocols: new(http.Protocols), TLSClientConfig: p.TLS, HTTP2: &http.HTTP2Config{WriteByteTimeout: limit / 2},
	}
	t.Protocols.SetHTTP1(p.HTTP == HTTP11)
	t.Protocols.SetUnencryptedHTTP2(p.HTTP == H2C)
	t.Protocols.SetHTTP2(p.HTTP == H2TLS)
	return &http.Client{Transport: t, Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
