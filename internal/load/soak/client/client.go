package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"assay/internal/envd/call"
	"assay/internal/envd/process"
	"assay/internal/envd/process/processconnect"
	"assay/internal/record/bundle"
	"assay/internal/target"
)

// version is the version of HTTP of all calls.
const version = "1.1"

// HeadLimit bounds the time to the head of a response, before the time scale.
const HeadLimit = 10 * time.Second

// maxMessage is the longest message that is read. Output comes in pieces of some kilobytes.
const maxMessage = 8 << 20

// Client calls one target. It is for one goroutine.
type Client struct {
	// Target is the target, HTTP its client, and RPC that of its process service.
	Target *target.Target
	HTTP   *http.Client
	RPC    processconnect.ProcessClient
	// Run names the run, in the mark of every process and in every request.
	Run string
	// Ledger counts the processes.
	Ledger bundle.LoadLedger
}

// New returns a client of a target. It does not follow redirects: they would take the secrets of the target to another host.
func New(t *target.Target, run string) *Client {
	c := &Client{Target: t, Run: run, HTTP: &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: t.Transport(version).TLS, DisableCompression: true, MaxIdleConnsPerHost: 4, ResponseHeaderTimeout: t.Scaled(HeadLimit),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.RPC = processconnect.NewProcessClient(c.HTTP, c.URL("process", ""), connect.WithProtoJSON(), connect.WithReadMaxBytes(maxMessage), connect.WithInterceptors(signer{c}))
	return c
}

// URL returns the URL of a path of a surface.
func (c *Client) URL(surface, rest string) string {
	scheme := "http"
	if c.Target.Secure() {
		scheme = "https"
	}
	return scheme + "://" + c.Target.Authority() + strings.TrimSuffix(c.Target.Path(surface, rest), "/")
}

// Sign sets the headers of a request.
func (c *Client) Sign(r *http.Request) {
	for _, h := range c.Target.Headers("soak", c.Run) {
		switch h.Name {
		case "host":
			r.Host = h.Value
		case "connection":
		default:
			r.Header.Set(h.Name, h.Value)
		}
	}
}

// Do makes a request outside the process service, and returns at most so many bytes of the response. Any status but 2xx
// is an error.
func (c *Client) Do(ctx context.Context, method, url string, body []byte, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.Sign(r)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return text, err
}

// Close closes the idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Stream is the response to a Start.
type Stream = connect.ServerStreamForClient[process.StartResponse]

// Start starts a shell text, waits for the start event and returns the pid. The ledger counts the process as
// started, or as uncertain if there is no start event.
func (c *Client) Start(ctx context.Context, text string, stdin bool) (*Stream, uint32, error) {
	words := append(c.Target.Shell(), text)
	stream, err := c.RPC.Start(ctx, connect.NewRequest(&process.StartRequest{
		Process: &process.ProcessConfig{Cmd: words[0], Args: words[1:], Envs: map[string]string{call.Mark: c.Run + "/soak"}}, Stdin: &stdin,
	}))
	if err != nil {
		c.Ledger.Uncertain++
		return nil, 0, fmt.Errorf("start: %w", err)
	}
	for stream.Receive() {
		if s := stream.Msg().GetEvent().GetStart(); s != nil {
			c.Ledger.Started++
			return stream, s.GetPid(), nil
		}
	}
	c.Ledger.Uncertain++
	return nil, 0, fmt.Errorf("start: no start event: %w", errors.Join(stream.Err(), stream.Close()))
}

// signer sets the headers of RPCs.
type signer struct{ c *Client }

var _ connect.Interceptor = signer{}

func (s signer) sign(h http.Header) { s.c.Sign(&http.Request{Header: h}) }

// WrapUnary sets the headers of unary calls.
func (s signer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		s.sign(r.Header())
		return next(ctx, r)
	}
}

// WrapStreamingClient sets the headers of streams.
func (s signer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		c := next(ctx, spec)
		s.sign(c.RequestHeader())
		return c
	}
}

// WrapStreamingHandler is for servers.
func (signer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
