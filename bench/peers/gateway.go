//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// gateway is a canned gateway in a separate process.
type gateway struct {
	cmd    *exec.Cmd
	url    string
	ca     string // the file with its certificate; "" without TLS
	client *http.Client
}

// serve starts `assay serve --canned file`, with a certificate of its own for TLS.
func (b *bench) serve(ctx context.Context, file string, secure bool) (*gateway, error) {
	argv := []string{"serve", "--canned", file, "--listen", "127.0.0.1:0"}
	g := &gateway{client: http.DefaultClient}
	if secure {
		g.ca = b.fresh() + ".pem"
		argv = append(argv, "--tls", "--ca-out", g.ca)
	}
	g.cmd = exec.CommandContext(ctx, b.assay, argv...)
	g.cmd.Cancel = func() error { return g.cmd.Process.Signal(syscall.SIGTERM) }
	g.cmd.WaitDelay = 5 * time.Second
	g.cmd.Stderr = os.Stderr
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the gateway's stdout: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the gateway: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		g.close()
		return nil, fmt.Errorf("the gateway printed no URL: %w", err)
	}
	g.url = strings.TrimSpace(line)
	if !secure {
		return g, nil
	}
	pem, err := os.ReadFile(g.ca)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		g.close()
		return nil, errors.Join(err, fmt.Errorf("the gateway wrote no certificate to %s", g.ca))
	}
	g.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	return g, nil
}

// close ends the gateway and ignores its exit code.
func (g *gateway) close() {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	_ = g.cmd.Wait()
}

// addr returns HOST:PORT.
func (g *gateway) addr() string {
	_, addr, _ := strings.Cut(g.url, "://")
	return addr
}

// start returns the URL of Start.
func (g *gateway) start() string { return g.url + "/process.Process/Start" }

// books are the gateway's counters; late is the p99.9 of the lateness of its events.
type books struct {
	started, active, events int64
	late                    time.Duration
}

// read scrapes the books.
func (g *gateway) read(ctx context.Context) (books, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/metrics", nil)
	if err != nil {
		return books{}, fmt.Errorf("GET /metrics: %w", err)
	}
	req.Close = true
	resp, err := g.client.Do(req)
	if err != nil {
		return books{}, fmt.Errorf("GET /metrics: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return books{}, fmt.Errorf("GET /metrics: %w", err)
	}
	return parseBooks(string(text))
}

// parseBooks reads the counters of an exposition.
func parseBooks(text string) (books, error) {
	var b books
	want := map[string]*int64{
		"coppice_commands_started_total": &b.started, "coppice_commands_active": &b.active, "canned_events_total": &b.events,
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == `canned_lateness_seconds{quantile="0.999"}` {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return b, fmt.Errorf("/metrics: %s: %w", name, err)
			}
			b.late = time.Duration(seconds * float64(time.Second))
		}
		into, ok := want[name]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return b, fmt.Errorf("/metrics: %s: %w", name, err)
		}
		*into = n
		delete(want, name)
	}
	for name := range want {
		return b, fmt.Errorf("/metrics: %s is missing", name)
	}
	return b, nil
}

// run runs a driver to its end and reads the gateway's books before and after.
func (g *gateway) run(ctx context.Context, dir string, argv []string) (result, error) {
	before, err := g.read(ctx)
	if err != nil {
		return result{}, err
	}
	cpu, err := cpuOf(g.cmd.Process.Pid)
	if err != nil {
		return result{}, err
	}
	c, err := start(ctx, dir, argv)
	if err != nil {
		return result{}, err
	}
	r, err := c.wait()
	if err != nil {
		return r, err
	}
	after, err := g.read(ctx)
	if err != nil {
		return r, err
	}
	now, err := cpuOf(g.cmd.Process.Pid)
	r.Streams, r.Events, r.ServerCPU = after.started-before.started, after.events-before.events, now-cpu
	return r, err
}
