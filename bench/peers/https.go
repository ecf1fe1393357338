//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
)

// The names of the HTTP versions over TLS in tables.
const (
	https1 = "https 1.1"
	https2 = "https h2"
)

// serveTLS starts a canned gateway with a certificate of its own.
func (b *bench) serveTLS(ctx context.Context, file string) (*gateway, error) {
	ca := b.fresh() + ".pem"
	g, err := serve(ctx, b.assay, file, "--tls", "--ca-out", ca)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(ca)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		g.close()
		return nil, errors.Join(err, fmt.Errorf("the gateway wrote no certificate to %s", ca))
	}
	g.ca = ca
	g.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	return g, nil
}

// shortTLS lists the drivers of W1 over TLS. wrk and h2load do not verify the certificate, k6
// and fortio are told not to; a verification is once per connection.
func (b *bench) shortTLS(on string) []driver {
	all := b.withBase(on)
	clients := []driver{
		{Name: "net/http", argv: clientTLS("nethttp", on)},
		{Name: "connect-go JSON", argv: clientTLS("connectgo", on)},
		{Name: "fortio", argv: fortioTLS(on), Part: slowPart},
		{Name: "k6", argv: k6TLS(on), Part: slowPart},
	}
	if on == https2 {
		return append(append(all, driver{Name: "h2load", argv: h2load2}), clients...)
	}
	return append(append(all, driver{Name: "wrk", argv: wrk}, driver{Name: "h2load", argv: h2load1}), clients...)
}

func clientTLS(name, on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		flags := []string{"-cacert", g.ca}
		if on == https2 {
			flags = append(flags, "-h2")
		}
		return client(name, flags...)(b, g, n)
	}
}

func fortioTLS(on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		argv := fortio(b, g, n)
		flags := []string{"-k"}
		if on == https2 {
			flags = append(flags, "-h2")
		}
		last := len(argv) - 1 // the URL
		return append(append(argv[:last:last], flags...), argv[last])
	}
}

// k6TLS runs k6, which chooses HTTP/2 where it can. The variable keeps it from that.
func k6TLS(on string) func(*bench, *gateway, int) []string {
	return func(b *bench, g *gateway, n int) []string {
		argv := append(k6(b, g, n), "--insecure-skip-tls-verify")
		if on == https1 {
			argv = append([]string{"env", "GODEBUG=http2client=0"}, argv...)
		}
		return argv
	}
}

// measureTLS measures short and held streams over https.
func (b *bench) measureTLS(ctx context.Context, p *page) error {
	return errors.Join(
		b.shortOverTLS(ctx, p, workload{"w1", "one write per event"}),
		b.shortOverTLS(ctx, p, workload{b.file("together.yaml"), "one write per response"}),
		b.evenTLS(ctx, p), b.memoryTLS(ctx, p))
}

func (b *bench) shortOverTLS(ctx context.Context, p *page, w workload) error {
	g, err := b.serveTLS(ctx, w.file)
	if err != nil {
		return err
	}
	defer g.close()
	return b.measureOver(ctx, p, g, w, []string{https1, https2})
}

func (b *bench) evenTLS(ctx context.Context, p *page) error {
	g, err := b.serveTLS(ctx, b.file("even.yaml"))
	if err != nil {
		return err
	}
	defer g.close()
	return b.even(ctx, p, g, []heldAim{{https2, 0.30}})
}

// memoryTLS measures the memory of one more open stream over HTTP/2 and TLS.
func (b *bench) memoryTLS(ctx context.Context, p *page) error {
	g, err := b.serveTLS(ctx, b.file("held.yaml"))
	if err != nil {
		return err
	}
	defer g.close()
	all := []holder{b.holder(https2)}
	if b.missing["h2load"] == "" {
		all = append(all, holder{name: "h2load", on: https2, runs: 1, argv: b.heldByH2load()})
	}
	return b.slopes(ctx, p, g, append(all, holder{name: "connect-go JSON", on: https2, runs: 1, argv: b.heldByConnect("-h2")}))
}

// heldByH2load returns the command line of h2load with n streams on ten connections.
func (b *bench) heldByH2load() func(g *gateway, n int) []string {
	return func(g *gateway, n int) []string {
		return []string{b.tool("h2load"), "-t1", "-c10", "-m" + strconv.Itoa(n/10), "-n" + strconv.Itoa(n), "-d", b.file("start.bin"), "-H", contentType, g.start()}
	}
}
