package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes/canned"
	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/scenarios"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen, metricsPrefix, wrap, tokenFile string
	processes, like, caOut, prefix, shell  string
	home                                   string
	faults, variants, http, protocols      []string
	origins, without                       []string
	tls, insecureLocal                     bool
	clockScale                             float64
	seed                                   uint64
	canned                                 string
	issuer                                 issuerFlags
	control                                controlFlags
	quiet                                  quietFlag
}

func newServe(io stdio) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the reference gateway, correct or broken in a named way",
		Long: `Runs the reference gateway: process.Process and filesystem.Filesystem over Connect,
gRPC and gRPC-Web, on HTTP/1.1 and HTTP/2, the NDJSON alias /commands, stdio over
WebSocket on /attach (docs/stdio.md) with a terminal for browsers on /terminal, uploads and downloads on /files, /envs, /init,
/metrics and /health. Commands and files are virtual: they are inside this process
and have no access to the machine; --processes os runs real ones, with your rights,
and needs a token or --insecure-local. Without a token the gateway refuses requests
to other hosts than its address, from web pages, and with the body of a form.

--issuer requires tokens with scopes, and starts an issuer that gives them to
whoever asks, good ones and bad ones; a second line on stdout is its URL.

--control-plane serves sandboxes instead, each a gateway of its own, behind the REST
API that the SDKs of E2B call (docs/control-plane.md).

--fault breaks it in a named way, --variant makes it differ in a legal way;
` + "`assay selftest`" + ` checks that the scenarios detect the first and accept the second.`,
		Example: `  # a gateway to test a client against
  assay serve --listen 127.0.0.1:8081
  curl -N --json '{"cmd":"seq 1 5"}' http://127.0.0.1:8081/commands
  curl -F file=@notes.txt http://127.0.0.1:8081/files

  # a gateway that never ends its streams
  assay serve --listen 127.0.0.1:8081 --fault eos-dropped

  # a gateway that behaves like the E2B daemon, over TLS
  assay serve --listen 127.0.0.1:8443 --like envd --tls --ca-out ca.pem

  # a gateway that requires JWTs, and their issuer
  assay serve --listen 127.0.0.1:8081 --issuer 127.0.0.1:8082
  curl --json '{"cmd":"seq 1 5"}' -H "Authorization: Bearer $(curl -s http://127.0.0.1:8082/mint)" http://127.0.0.1:8081/commands

  # sandboxes for an SDK
  assay serve --listen 127.0.0.1:8081 --control-plane
  curl --json '{"templateID":"base","timeout":60}' http://127.0.0.1:8081/sandboxes

  # a canned gateway that costs almost nothing, to measure load drivers
  assay serve --listen 127.0.0.1:8081 --canned w1`,
		Args:              exactly(0, "serve takes none"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			io := io.quieted(f.quiet)
			if f.canned != "" {
				return f.serveCanned(c, io)
			}
			o, err := f.options(io)
			if err != nil {
				return usage(err)
			}
			return f.serve(c.Context(), io, o)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.listen, "listen", "127.0.0.1:8081", "address to listen on; any but loopback needs a token")
	fs.StringSliceVar(&f.faults, "fault", nil, "break the gateway with these faults (assay list --faults)")
	fs.StringSliceVar(&f.variants, "variant", nil, "vary the gateway with these variants (assay list --faults)")
	fs.StringVar(&f.processes, "processes", gateway.ProcessesVirtual, "where commands run: virtual, or os (real processes; needs a token or --insecure-local)")
	fs.BoolVar(&f.insecureLocal, "insecure-local", false, "with --processes os on loopback, require no token: every program of this machine can then run commands with your rights")
	fs.StringVar(&f.home, "home", "", "home directory of real processes (default: a fresh one, removed at the end)")
	fs.StringVar(&f.like, "like", "", "behave like one of these gateways, deviations included: "+ids(zoo.Likes(), func(l zoo.Like) string { return l.ID }))
	fs.BoolVar(&f.tls, "tls", false, "serve https with a generated certificate")
	fs.StringVar(&f.caOut, "ca-out", "", "write the CA certificate to this file, for --cacert")
	fs.StringSliceVar(&f.http, "http", nil, "serve only these HTTP versions: 1.1, 2")
	fs.StringSliceVar(&f.protocols, "protocol", nil, "serve only these protocols: connect, grpc, grpc-web")
	fs.StringVar(&f.prefix, "prefix", "", "path prefix of every surface, for example /sandbox")
	fs.StringVar(&f.shell, "shell", "", "accept only commands that begin with these words, for example \"/bin/bash -l -c\"")
	fs.StringVar(&f.metricsPrefix, "metrics-prefix", "coppice", "prefix of the process counters on /metrics")
	fs.StringVar(&f.wrap, "wrap", "", "prefix of every command, ignored if its binary is absent; {sandbox} is the sandbox id")
	fs.StringVar(&f.tokenFile, "token-file", "", "file with the access token that clients must send (default: the variable ASSAY_TOKEN)")
	fs.StringSliceVar(&f.origins, "allow-origin", nil, "let pages of these origins call the gateway, for example http://localhost:3000; * is all (default: all with a token, none without)")
	fs.StringSliceVar(&f.without, "without", nil, "do not serve these features: "+strings.Join(gateway.Features(), ", "))
	fs.Float64Var(&f.clockScale, "clock-scale", 1, "speed up the gateway's own timers by this factor")
	fs.StringVar(&f.canned, "canned", "", "respond to every Start with the pre-encoded events of this file; built in: "+strings.Join(canned.Examples(), ", "))
	fs.Uint64Var(&f.seed, "seed", 0, "phase of intermittent faults")
	f.issuer.register(fs)
	f.control.register(fs)
	f.quiet.register(c)
	return c
}

func ids[T any](all []T, id func(T) string) string {
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = id(a)
	}
	return strings.Join(names, ", ")
}

// options validates all flags.
func (f *serveFlags) options(io stdio) (zoo.Options, error) {
	o := zoo.Options{
		Like: f.like, Faults: f.faults, Variants: f.variants, Seed: f.seed,
		Options: gateway.Options{
			Listen: f.listen, MetricsPrefix: f.metricsPrefix, Wrap: f.wrap, ClockScale: f.clockScale, Log: logger(io),
			Processes: f.processes, TLS: f.tls, HTTP: f.http, Protocols: f.protocols, Prefix: f.prefix, Home: f.home,
			Shell: strings.Fields(f.shell), Origins: f.origins, Without: f.without, InsecureLocal: f.insecureLocal,
		},
	}
	if err := f.checkTLS(); err != nil {
		return o, err
	}
	if f.clockScale <= 0 || f.clockScale > 10000 {
		return o, fmt.Errorf("--clock-scale %g: want a factor above 0, at most 10000", f.clockScale)
	}
	if err := f.checkInsecure(); err != nil {
		return o, err
	}
	var err error
	if o.Token, err = f.token(); err == nil {
		err = f.control.install(f, &o)
	}
	if err == nil && f.insecureLocal && o.Token != "" {
		err = errors.New("--insecure-local does not go with " + f.secretFlag() + ", which makes it needless")
	}
	return o, err
}

// checkTLS rejects a file for a certificate that there is not.
func (f *serveFlags) checkTLS() error {
	if f.caOut != "" && !f.tls {
		return errors.New("--ca-out needs --tls")
	}
	return nil
}

// writeCA writes the certificate that clients have to trust, if requested.
func (f *serveFlags) writeCA(pem []byte) error {
	if f.caOut == "" {
		return nil
	}
	if err := os.WriteFile(f.caOut, pem, 0o644); err != nil { //nolint:gosec // a certificate is public
		return fmt.Errorf("--ca-out: %w", err)
	}
	return nil
}

// checkInsecure rejects --insecure-local where it means nothing, or too much.
func (f *serveFlags) checkInsecure() error {
	host, _, err := net.SplitHostPort(f.listen)
	switch {
	case !f.insecureLocal:
		return nil
	case f.processes != gateway.ProcessesOS:
		return errors.New("--insecure-local is only for --processes os: virtual processes need no token on loopback")
	case err != nil || !isLoopback(host):
		return fmt.Errorf("--insecure-local is only for a loopback address, and --listen is %s: set a token with %s", f.listen, f.secretFlag())
	}
	return nil
}

// warn says what the gateway is open to.
func (f *serveFlags) warn(io stdio) {
	if f.insecureLocal {
		io.errorf("WARNING: --insecure-local: every program and user of this machine can run commands as you on %s\n", f.listen)
	}
}

// token reads the token, which an address other than loopback needs.
func (f *serveFlags) token() (string, error) {
	token, err := f.secret()
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return "", fmt.Errorf("--listen %q: want HOST:PORT: %w", f.listen, err)
	}
	if !isLoopback(host) && token == "" {
		return "", hint{fmt.Errorf("--listen %s is reachable from other machines", f.listen), "set a token with " + f.secretFlag() + ", or listen on 127.0.0.1"}
	}
	return token, nil
}

// secret reads what clients must send: the token, or the key of the control plane.
func (f *serveFlags) secret() (string, error) {
	if f.control.on {
		return f.control.key()
	}
	return readToken(f.tokenFile)
}

// secretFlag is the flag that names the file of the secret.
func (f *serveFlags) secretFlag() string {
	if f.control.on {
		return "--api-key-file"
	}
	return "--token-file"
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// serve runs the gateway until it is interrupted. Its first line on stdout is the URL; the second, with --issuer, is that of the issuer.
// inZoo adds the nearest id to the error of an unknown fault, variant or like.
func inZoo(err error) error {
	var unknown *zoo.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	return fmt.Errorf("%w: %s", err, cmp.Or(scenarios.DidYouMean(unknown.ID, unknown.Known), "assay list --faults lists them"))
}

func (f *serveFlags) serve(ctx context.Context, io stdio, o zoo.Options) (err error) {
	i, err := f.issuer.start(ctx, io, &o)
	if err != nil {
		return usage(err)
	}
	if i != nil {
		defer func() { err = errors.Join(err, i.Close()) }()
	}
	f.warn(io)
	g, err := zoo.Start(ctx, o)
	if err != nil {
		return usage(inZoo(err))
	}
	if err := f.writeCA(g.CACert()); err != nil {
		return usage(errors.Join(err, g.Close()))
	}
	lines, hint := g.URL()+"\n", ""
	if i != nil {
		lines, hint = lines+i.URL()+"\n", tryTokens(i.URL(), g.URL())
	}
	if err := io.printf("%s", lines); err != nil {
		return defect(err)
	}
	if f.control.on {
		hint = f.control.try(g.URL())
	} else if attach := g.AttachURL(); attach != "" {
		io.notef("stdio over WebSocket on %s?cmd=COMMAND\n", attach)
		if page := g.TerminalURL(); page != "" {
			io.notef("a terminal for browsers on %s\n", page)
		}
	}
	io.notef("serving on %s; stop with Ctrl-C\n%s", g.URL(), hint)
	<-ctx.Done()
	return g.Close()
}
