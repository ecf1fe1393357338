package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"assay/internal/soak/client"
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
