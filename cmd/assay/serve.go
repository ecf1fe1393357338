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
	"assay/internal/engine/reproduce"
	"assay/scenarios"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	zoo.Options
	tokenFile, caOut, shell, canned string
	issuer                          issuerFlags
	control                         controlFlags
	quiet                           quietFlag
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
			if err := f.complete(io); err != nil {
				return usage(err)
			}
			return f.serve(c.Context(), io)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.Listen, "listen", "127.0.0.1:8081", "address to listen on; any but loopback needs a token")
	fs.StringSliceVar(&f.Faults, "fault", nil, "break the gateway with these faults (assay list --faults)")
	fs.StringSliceVar(&f.Variants, "variant", nil, "vary the gateway with these variants (assay list --faults)")
	fs.StringVar(&f.Processes, "processes", gateway.ProcessesVirtual, "where commands run: virtual, or os (real processes; needs a token or --insecure-local)")
	fs.BoolVar(&f.InsecureLocal, "insecure-local", false, "with --processes os on loopback, require no token: every program of this machine can then run commands with your rights")
	fs.StringVar(&f.Home, "home", "", "home directory of real processes (default: a fresh one, removed at the end)")
	fs.StringVar(&f.Like, "like", "", "behave like one of these gateways, deviations included: "+ids(zoo.Likes(), func(l zoo.Like) string { return l.ID }))
	fs.BoolVar(&f.TLS, "tls", false, "serve https with a generated certificate")
	fs.StringVar(&f.caOut, "ca-out", "", "write the CA certificate to this file, for --cacert")
	fs.StringSliceVar(&f.HTTP, "http", nil, "serve only these HTTP versions: 1.1, 2")
	fs.StringSliceVar(&f.Protocols, "protocol", nil, "serve only these protocols: connect, grpc, grpc-web")
	fs.StringVar(&f.Prefix, "prefix", "", "path prefix of every surface, for example /sandbox")
	fs.StringVar(&f.shell, "shell", "", "accept only commands that begin with these words, for example \"/bin/bash -l -c\"")
	fs.StringVar(&f.MetricsPrefix, "metrics-prefix", "coppice", "prefix of the process counters on /metrics")
	fs.StringVar(&f.Wrap, "wrap", "", "prefix of every command, ignored if its binary is absent; {sandbox} is the sandbox id")
	fs.StringVar(&f.tokenFile, "token-file", "", "file with the access token that clients must send (default: the variable ASSAY_TOKEN)")
	fs.StringSliceVar(&f.Origins, "allow-origin", nil, "let pages of these origins call the gateway, for example http://localhost:3000; * is all (default: all with a token, none without)")
	fs.StringSliceVar(&f.Without, "without", nil, "do not serve these features: "+strings.Join(gateway.Features(), ", "))
	fs.Float64Var(&f.ClockScale, "clock-scale", 1, "speed up the gateway's own timers by this factor")
	fs.StringVar(&f.canned, "canned", "", "respond to every Start with the pre-encoded events of this file; built in: "+strings.Join(canned.Examples(), ", "))
	fs.Uint64Var(&f.Seed, "seed", 0, "phase of intermittent faults")
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

// complete validates the flags, and completes the options of the gateway.
func (f *serveFlags) complete(io stdio) (err error) {
	f.Log, f.Shell = logger(io), strings.Fields(f.shell)
	if err := f.checkTLS(); err != nil {
		return err
	}
	if f.ClockScale <= 0 || f.ClockScale > 10000 {
		return fmt.Errorf("--clock-scale %g: want a factor above 0, at most 10000", f.ClockScale)
	}
	if err := f.checkInsecure(); err != nil {
		return err
	}
	if f.Token, err = f.token(); err != nil {
		return err
	}
	if err := f.control.install(f); err != nil {
		return err
	}
	if f.InsecureLocal && f.Token != "" {
		return errors.New("--insecure-local does not go with " + f.secretFlag() + ", which makes it needless")
	}
	return nil
}

// checkTLS rejects a file for a certificate that there is not.
func (f *serveFlags) checkTLS() error {
	if f.caOut != "" && !f.TLS {
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
	host, _, err := net.SplitHostPort(f.Listen)
	switch {
	case !f.InsecureLocal:
		return nil
	case f.Processes != gateway.ProcessesOS:
		return errors.New("--insecure-local is only for --processes os: virtual processes need no token on loopback")
	case err != nil || !isLoopback(host):
		return fmt.Errorf("--insecure-local is only for a loopback address, and --listen is %s: set a token with %s", f.Listen, f.secretFlag())
	}
	return nil
}

// token reads the token, which an address other than loopback needs.
func (f *serveFlags) token() (string, error) {
	token, err := f.secret()
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return "", fmt.Errorf("--listen %q: want HOST:PORT: %w", f.Listen, err)
	}
	if !isLoopback(host) && token == "" {
		return "", hint{fmt.Errorf("--listen %s is reachable from other machines", f.Listen), "set a token with " + f.secretFlag() + ", or listen on 127.0.0.1"}
	}
	return token, nil
}

// secret reads what clients must send: the token, or the key of the control plane.
func (f *serveFlags) secret() (string, error) {
	if f.control.on {
		return secretOf("--api-key-file", f.control.keyFile, apiKeyVariable)
	}
	return secretOf("--token-file", f.tokenFile, reproduce.TokenVariable)
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

// inZoo adds the nearest id to the error of an unknown fault, variant or like.
func inZoo(err error) error {
	var unknown *zoo.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	return fmt.Errorf("%w: %s", err, cmp.Or(scenarios.DidYouMean(unknown.ID, unknown.Known), "assay list --faults lists them"))
}

// serve runs the gateway until it is interrupted. Its first line on stdout is the URL; the second, with --issuer, is that of the issuer.
func (f *serveFlags) serve(ctx context.Context, io stdio) (err error) {
	i, err := f.issuer.start(ctx, io, &f.Options)
	if err != nil {
		return usage(err)
	}
	if i != nil {
		defer func() { err = errors.Join(err, i.Close()) }()
	}
	if f.InsecureLocal {
		io.errorf("WARNING: --insecure-local: every program and user of this machine can run commands as you on %s\n", f.Listen)
	}
	g, err := zoo.Start(ctx, f.Options)
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
