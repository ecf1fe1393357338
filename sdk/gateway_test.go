package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stopLimit is what a server may take to end after an interrupt.
const stopLimit = 30 * time.Second

// setup is how a gateway is started.
type setup struct {
	token string // "" demands none
	key   string // API key of a control plane; "" demands none
	tls   bool
	args  []string
}

// gateway is a running `assay serve`.
type gateway struct {
	url   string
	token string // or the API key; "" when it demands none
	ca    string // file of the authority of its certificate; "" without TLS
}

// serve starts the program as a gateway on a free port until the test ends.
func serve(t *testing.T, program string, s setup) gateway {
	t.Helper()
	g := gateway{token: s.token + s.key}
	args := append([]string{"serve", "--listen", "127.0.0.1:0"}, s.args...)
	if s.token != "" {
		args = append(args, "--token-file", secret(t, s.token))
	}
	if s.key != "" {
		args = append(args, "--api-key-file", secret(t, s.key))
	}
	if s.tls {
		g.ca = filepath.Join(t.TempDir(), "ca.pem")
		args = append(args, "--tls", "--ca-out", g.ca)
	}
	g.url = start(t, exec.Command(program, args...))
	return g
}

// secret writes a file that holds text.
func secret(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start starts a server, which prints its URL, until the test ends.
func start(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	c.Env = append(clean(), c.Env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c, &stderr) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said no URL: %v", strings.Join(c.Args, " "), err)
	}
	return strings.TrimSpace(line)
}

// stop interrupts a server and wants it to end well.
func stop(t *testing.T, c *exec.Cmd, stderr *bytes.Buffer) {
	_ = c.Process.Signal(os.Interrupt)
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with %v:\n%s", err, stderr)
		}
	case <-time.After(stopLimit):
		_ = c.Process.Kill()
		<-ended
		t.Errorf("the server did not end within %v of an interrupt:\n%s", stopLimit, stderr)
	}
	if t.Failed() {
		t.Logf("what the server said:\n%s", stderr)
	}
}

// clean is the environment without what steers the SDK, node, or the path of
// requests: a proxy would see what is meant for 127.0.0.1.
func clean() []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "E2B_") || strings.HasPrefix(upper, "NODE_") || strings.HasSuffix(upper, "_PROXY") || upper == "ASSAY_TOKEN" || upper == "ASSAY_API_KEY" {
			continue
		}
		env = append(env, e)
	}
	return env
}

// transport reaches the gateway, and no proxy.
func (g gateway) transport() (http.RoundTripper, error) {
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
func (g gateway) counters(ctx context.Context) (map[string]string, error) {
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
