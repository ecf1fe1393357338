package sdk_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/fakes/zoo"
)

// endpoint is a server that answers calls.
type endpoint struct {
	url   string
	token string // or the API key; "" when it demands none
	ca    string // file of the authority of its certificate; "" without TLS
}

// serve starts a gateway on a free port until the test ends.
func serve(t *testing.T, o zoo.Options) endpoint {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	running, err := zoo.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	g := endpoint{url: running.URL(), token: o.Token}
	if o.TLS {
		g.ca = secret(t, string(running.CACert()))
	}
	return g
}

// faulty is a gateway with one fault.
func faulty(id string) zoo.Options { return zoo.Options{Faults: []string{id}} }

// secret writes a file that holds text.
func secret(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// transport reaches the gateway, and no proxy.
func (g endpoint) transport() (http.RoundTripper, error) {
	tr := &http.Transport{Proxy: nil, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	if g.ca != "" {
		pem, err := os.ReadFile(g.ca)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", g.ca)
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return tr, nil
}

// counters reads /metrics: values by name and labels.
func (g endpoint) counters(ctx context.Context) (map[string]string, error) {
	tr, err := g.transport()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	if g.token != "" {
		req.Header.Set("X-Access-Token", g.token)
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %s: %s", resp.Status, text)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			all[name] = value
		}
	}
	return all, nil
}
