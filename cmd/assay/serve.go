package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes"
	"assay/fakes/canned"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen, metricsPrefix, wrap, tokenFile string
	processes, like, caOut, prefix, shell  string
	home                                   string
	faults, variants, http, protocols      []string
	tls                                    bool
	clockScale                             float64
	seed                                   uint64
	canned                                 string
}

func newServe(io stdio) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the reference gateway, correct or broken in a named way",
		Long: `Runs the reference gateway: process.Process over Connect, gRPC and gRPC-Web, on
HTTP/1.1 and HTTP/2, the NDJSON alias /commands, /metrics and /health. Commands
run in a virtual shell inside this process and have no access to the machine;
--processes os runs real ones, with your rights, and needs a token.

--fault breaks it in one named way, --variant makes it differ in one legal way;
` + "`assay selftest`" + ` proves that the suites notice the first and tolerate the second.`,
		Example: `  # a gateway to point a client at
  assay serve --listen 127.0.0.1:8081
  curl -N -d '{"cmd":"seq 1 5"}' http://127.0.0.1:8081/commands

  # one that forgets to end its streams
  assay serve --listen 127.0.0.1:8081 --fault eos-dropped

  # one that answers as the daemon does, over TLS
  assay serve --listen 127.0.0.1:8443 --like envd --tls --ca-out ca.pem

  # one that costs next to nothing, to measure drivers against
  assay serve --listen 127.0.0.1:8081 --canned w1`,
		Args:              exactly(0, "serve takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.canned != "" {
				return f.serveCanned(c, io)
			}
			o, err := f.options(io)
			if err != nil {
				return usage(err)
			}
			return serve(c.Context(), io, o, f.caOut)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8081", "address to listen on; other than loopback needs a token")
	fs.StringSliceVar(&f.faults, "fault", nil, "break it: "+ids(fakes.Faults(), func(f fakes.Fault) string { return f.ID }))
	fs.StringSliceVar(&f.variants, "variant", nil, "vary it: "+ids(fakes.Variants(), func(v fakes.Variant) string { return v.ID }))
	fs.StringVar(&f.processes, "processes", fakes.ProcessesVirtual, "where commands run: virtual, or os (real processes; needs a token)")
	fs.StringVar(&f.home, "home", "", "home directory of real processes (default: a fresh one, removed at the end)")
	fs.StringVar(&f.like, "like", "", "answer as a gateway that exists, deviations included: "+ids(fakes.Likes(), func(l fakes.Like) string { return l.ID }))
	fs.BoolVar(&f.tls, "tls", false, "serve https with a self-made certificate")
	fs.StringVar(&f.caOut, "ca-out", "", "write the authority of that certificate to this file, for --cacert")
	fs.StringSliceVar(&f.http, "http", nil, "serve only these HTTP versions: 1.1, 2")
	fs.StringSliceVar(&f.protocols, "protocol", nil, "serve only these protocols: connect, grpc, grpc-web")
	fs.StringVar(&f.prefix, "prefix", "", "path before every surface, for example /sandbox")
	fs.StringVar(&f.shell, "shell", "", "accept only commands that begin with these words, for example \"/bin/bash -l -c\"")
	fs.StringVar(&f.metricsPrefix, "metrics-prefix", "coppice", "prefix of the process counters on /metrics")
	fs.StringVar(&f.wrap, "wrap", "", "put this before every command, unless its binary is absent; {sandbox} is the sandbox id")
	fs.StringVar(&f.tokenFile, "token-file", "", "file with the access token that clients must send (or ASSAY_TOKEN)")
	fs.Float64Var(&f.clockScale, "clock-scale", 1, "run the gateway's own timers this much faster")
	fs.StringVar(&f.canned, "canned", "", "answer every Start with the events of this file, at the cost of the kernel; built in: "+strings.Join(canned.Examples(), ", "))
	fs.Uint64Var(&f.seed, "seed", 0, "phase of faults that strike only sometimes")
	return c
}

func ids[T any](all []T, id func(T) string) string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = id(a)
	}
	return strings.Join(names, ", ")
}

// options checks the flags whole.
func (f *serveFlags) options(io stdio) (fakes.Options, error) {
	o := fakes.Options{
		Listen: f.listen, Faults: f.faults, Variants: f.variants, MetricsPrefix: f.metricsPrefix,
		Wrap: f.wrap, ClockScale: f.clockScale, Seed: f.seed, Log: logger(io),
		Processes: f.processes, Like: f.like, TLS: f.tls, HTTP: f.http, Protocols: f.protocols, Prefix: f.prefix, Home: f.home,
		Shell: strings.Fields(f.shell),
	}
	if f.caOut != "" && !f.tls {
		return o, errors.New("--ca-out: there is no certificate without --tls")
	}
	if f.clockScale <= 0 || f.clockScale > 10000 {
		return o, fmt.Errorf("--clock-scale %g: want a factor above 0, at most 10000", f.clockScale)
	}
	var err error
	if o.Token, err = readToken(f.tokenFile); err != nil {
		return o, err
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return o, fmt.Errorf("--listen %q: want HOST:PORT: %w", f.listen, err)
	}
	if !isLoopback(host) && o.Token == "" {
		return o, hint{fmt.Errorf("--listen %s can be reached from other machines", f.listen), "give it a token with --token-file, or listen on 127.0.0.1"}
	}
	return o, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve runs until it is interrupted. The URL is the one line on stdout.
func serve(ctx context.Context, io stdio, o fakes.Options, caOut string) error {
	g, err := fakes.Start(ctx, o)
	if err != nil {
		return usage(err)
	}
	if caOut != "" {
		if err := os.WriteFile(caOut, g.CACert(), 0o644); err != nil { //nolint:gosec // a certificate is public
			return usage(errors.Join(fmt.Errorf("--ca-out: %w", err), g.Close()))
		}
	}
	if err := io.printf("%s\n", g.URL()); err != nil {
		return defect(err)
	}
	io.errorf("serving on %s; Ctrl-C ends it\n", g.URL())
	<-ctx.Done()
	return g.Close()
}
