package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"assay/internal/load/soak/client"
	"assay/internal/target"
)

// dial returns a client of a gateway of a test.
func dial(t *testing.T, gateway http.Handler) *client.Client {
	t.Helper()
	s := httptest.NewServer(gateway)
	t.Cleanup(s.Close)
	at, err := target.New(target.Options{URL: s.URL, Token: "secret-token"})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(at, "run")
	t.Cleanup(c.Close)
	return c
}

// A redirect is a response like another one: the token goes to nobody but the target.
func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		call   func(context.Context, *client.Client) error
	}{
		"of a Start": {http.StatusTemporaryRedirect, func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Start(ctx, "true", false)
			return err
		}},
		"of a GET": {http.StatusFound, func(ctx context.Context, c *client.Client) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL("metrics", ""), http.NoBody)
			if err != nil {
				return err
			}
			c.Sign(r)
			resp, err := c.HTTP.Do(r)
			if err != nil {
				return err
			}
			if resp.StatusCode != http.StatusFound {
				t.Errorf("HTTP %d, want the redirect itself", resp.StatusCode)
			}
			return resp.Body.Close()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				t.Errorf("the other host got %s with the headers %v", r.URL, r.Header)
			}))
			defer other.Close()
			c := dial(t, http.RedirectHandler(other.URL+"/elsewhere", tt.status))
			err := tt.call(t.Context(), c)
			if tt.status == http.StatusTemporaryRedirect && err == nil {
				t.Error("a redirected Start is no error")
			}
			if asked.Load() > 0 {
				t.Errorf("%d requests to the other host", asked.Load())
			}
		})
	}
}

// A message above the limit ends the stream with an error, and is not read whole.
func TestAMessageIsLimited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		padding int
		want    connect.Code // 0 is no error
	}{
		"a message of 7 MB": {7 << 20, 0},
		"a message of 9 MB": {9 << 20, connect.CodeResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/connect+json")
				start := append([]byte(`{"event":{"start":{"pid":7}}}`), bytes.Repeat([]byte(" "), tt.padding)...)
				for flags, text := range [][]byte{0: start, 2: []byte("{}")} {
					if text != nil {
						_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{byte(flags)}, uint32(len(text)))) //nolint:gosec // a few MB
						_, _ = w.Write(text)
					}
				}
			}))
			stream, pid, err := c.Start(t.Context(), "true", false)
			if err != nil && connect.CodeOf(err) != tt.want || err == nil && (tt.want != 0 || pid != 7) {
				t.Errorf("pid %d, %v; want the code %v", pid, err, tt.want)
			}
			if err == nil {
				_ = stream.Close()
			}
		})
	}
}
