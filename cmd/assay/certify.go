package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/base/safefile"
	"assay/internal/command/certify"
	"assay/internal/command/selftest"
	"assay/internal/load"
	"assay/internal/load/soak"
	"assay/internal/record/bundle"
	"assay/internal/target"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// certifyFlags are the flags of certify.
type certifyFlags struct {
	reachFlags
	quiet quietFlag
	child childFlags

	claim, vendor, keyFile, level, out, selftest, format string
	jobs                                                 int
}

func newCertify(io stdio) *cobra.Command {
	var f certifyFlags
	c := &cobra.Command{
		Use:   "certify [URL]",
		Short: "Test a product by a whole profile, and write a certificate that anybody can check",
		Long: `Certifies the gateway at URL: every scenario of the profile, slow and destructive ones
included, three times; the load of the profile, and its soak; and the self-test of
this program for the profile. Without a URL it certifies the embedded reference gateway.

The certificate is a folder: the evidence, the statement of what it proves, a page in
HTML and Markdown, a badge, and PRODUCT.yaml, which the vendor writes (--vendor). With
--key the statement is signed: an in-toto statement in a DSSE envelope, with a key of
Ed25519 or ECDSA P-256. Without, it says plainly that it is not signed.

Levels: core (every must rule), full (every should and may rule as well), with-load
(load and soak as well; the default). A product that misses a requirement gets no
certificate; the evidence stays in the folder. Nothing is certified that is flaky,
inconclusive, cut short, or excused by a list of known failures.

The self-test takes a quarter of an hour; --selftest takes its report instead, if it is
of this build: assay selftest --profile P --format json > selftest.json.

Exit codes: 0 certified · 1 a requirement is not met · 5 one is undecided · 130 interrupted.`,
		Example: `  # certify a product, signed
  openssl genpkey -algorithm ed25519 -out key.pem
  assay certify http://127.0.0.1:8081 --profile e2b --vendor PRODUCT.yaml --key key.pem --out certificate

  # anybody can check it, without a network
  assay verify certificate

  # without load and soak
  assay certify http://127.0.0.1:8081 --profile connect --level full --vendor PRODUCT.yaml --out certificate

  # a sandbox of a control plane
  assay certify --control-plane http://127.0.0.1:3000 --api-key-file key --profile sandbox --vendor PRODUCT.yaml --out certificate

  # PRODUCT.yaml
  assay schema product`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, args []string) error { return runCertify(c, io, f, args) },
	}
	f.register(c)
	f.quiet.register(c)
	fs := flagsOf(c)
	fs.StringVar(&f.claim, "profile", "", "what the product claims to be: "+strings.Join(scenarios.ProfileNames(), ", ")+", or a file (required)")
	fs.StringVar(&f.vendor, "vendor", "", "`FILE` with vendor, product, version, URL and contact (required; format: assay schema product)")
	fs.StringVar(&f.keyFile, "key", "", "private key, PEM `FILE`, to sign with: Ed25519 or ECDSA P-256")
	levels := strings.Join(bundle.Levels(), ", ")
	fs.word(&f.level, "level", bundle.LevelWithLoad, levels, "one of "+levels, bundle.Levels()...)
	fs.StringVar(&f.out, "out", "", "new directory for the certificate (required)")
	fs.StringVar(&f.selftest, "selftest", "", "report of assay selftest of this build, instead of running it")
	f.child.register(fs)
	fs.jobs(&f.jobs)
	fs.format(&f.format, "format on stdout: text or json", "text", "json")
	return c
}

// certification is a certification in progress.
type certification struct {
	certifyFlags
	io      stdio
	target  target.Options
	profile *scenarios.Profile
	build   *bundle.Build
	cat     *scenarios.Catalogue
	product bundle.Product
	text    []byte       // of the product file
	key     *certify.Key // nil: unsigned
	wait    time.Duration
	words   []string              // the flags of a replay
	tested  []byte                // the report of --selftest, nil to run it
	restart func(context.Context) // starts the gateway of --exec again; nil without
	seen    *certify.Evidence
}

// prepare validates everything before any work.
func (f *certifyFlags) prepare(fs flags, io stdio, args []string) (*certification, error) {
	url := argument(args, 0)
	c := &certification{certifyFlags: *f, io: io, words: fs.words(nil)}
	var err error
	if c.target, err = f.options(url, f.child.exec); err != nil {
		return nil, err
	}
	for _, need := range []struct{ flag, value, why string }{
		{"--profile", f.claim, "what the product claims to be"},
		{"--vendor", f.vendor, "the product file of the vendor"},
		{"--out", f.out, "a new directory for the certificate"},
	} {
		if need.value == "" {
			return nil, fmt.Errorf("%s: want %s", need.flag, need.why)
		}
	}
	if f.child.wait < 0 {
		return nil, errors.New("--wait: want a positive duration, for example 30s")
	}
	if c.wait, err = f.child.options(url); err != nil {
		return nil, err
	}
	if c.profile, err = scenarios.LoadProfile(f.claim); err != nil {
		return nil, err
	}
	if f.level == bundle.LevelWithLoad && c.profile.Certification == nil {
		return nil, fmt.Errorf("--level %s: the profile %s has no load and soak; its highest level is %s", f.level, c.profile.ID, bundle.LevelFull)
	}
	if c.cat, err = scenarios.Load(); err != nil {
		return nil, defect(err)
	}
	if c.build, err = thisBuild(); err != nil {
		return nil, defect(err)
	}
	return c, c.files()
}

// files reads the files of the vendor, and creates the folder.
func (c *certification) files() (err error) {
	if c.product, c.text, err = certify.ReadProduct(c.vendor); err != nil {
		return err
	}
	if c.keyFile != "" {
		if c.key, err = certify.ReadKey(c.keyFile); err != nil {
			return err
		}
	}
	if c.selftest != "" {
		if c.tested, err = safefile.Read(c.selftest, 16<<20); err != nil {
			return fmt.Errorf("--selftest: %w", err)
		}
		r, err := certify.ParseSelftest(c.selftest, c.tested)
		if err != nil {
			return err
		}
		if r.Build == nil || r.Build.Version != c.build.Version || r.Build.Catalogue != c.build.Catalogue {
			return fmt.Errorf("--selftest %s: it is of another build of assay; make it with this one: assay selftest --profile %s --format json", c.selftest, c.claim)
		}
	}
	if err := certify.Prepare(c.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

func runCertify(c *cobra.Command, io stdio, f certifyFlags, args []string) error {
	run, err := f.prepare(flagsOf(c), io, args)
	if err != nil {
		return usage(err)
	}
	io.guard.hide(run.target.Secrets())
	run.io = io.quieted(f.quiet)
	suite := run.suite()
	stop, err := f.child.start(c.Context(), io, &suite)
	if err != nil {
		return err
	}
	defer stop()
	run.restart = suite.Restart
	release, err := f.lease.create(c.Context(), io, &run.target)
	if err != nil {
		return nothingRun(err)
	}
	defer release()
	return run.run(c.Context())
}

// part is a part of a certification. level is the lowest that has it.
type part struct {
	name, level string
	run         func(ctx context.Context) error
}

// run gathers the evidence, and stops where no certificate can come of it any more: the later parts take long.
func (c *certification) run(ctx context.Context) error {
	if err := certify.Keep(c.out, certify.ProfileFile, c.profile.Text); err != nil {
		return defect(err)
	}
	var parts []part
	for _, p := range []part{
		{"the scenarios of the profile, three times", bundle.LevelCore, c.conform},
		{"the load", bundle.LevelWithLoad, c.load},
		{"the soak", bundle.LevelWithLoad, c.soak},
		{"the self-test of this program", bundle.LevelCore, c.test},
	} {
		if slices.Index(bundle.Levels(), p.level) <= slices.Index(bundle.Levels(), c.level) {
			parts = append(parts, p)
		}
	}
	for i, p := range parts {
		c.io.notef("certify %d/%d: %s\n", i+1, len(parts), p.name)
		err := p.run(ctx)
		if ctx.Err() != nil {
			return &exitError{exitInterrupted, fmt.Errorf("interrupted in part %d of %d: nothing is certified; the evidence is in %s", i+1, len(parts), c.out)}
		}
		if err != nil {
			return err
		}
		if err := c.gather(); err != nil {
			return defect(err)
		}
		c.seen.Partial = i < len(parts)-1
		if all := certify.Assess(c.seen); !certify.Met(all) {
			return c.refuse(all)
		}
	}
	return c.conclude(ctx)
}

// gather reads what a part has left. The scenarios come first, and are judged once.
func (c *certification) gather() (err error) {
	if c.seen != nil {
		return c.seen.Gather(c.out)
	}
	if c.seen, err = certify.Read(c.out, c.level, *c.build, c.cat); err != nil {
		return err
	}
	c.seen.Faults, c.seen.Variants, err = selftest.Wanted(c.claim)
	return err
}

// suite returns the options of the scenarios.
func (c *certification) suite() suites.Options {
	return suites.Options{
		Target: c.target, Profile: c.claim, Jobs: c.jobs, Repeat: certify.Repeats, Wait: c.wait, Destructive: true, Slow: true,
		Seed: c.reachFlags.target.seed, Out: filepath.Join(c.out, certify.ConformFolder), OutLimit: bundle.MaxLimit, Version: version,
		Flags: c.words, CACert: c.reachFlags.target.caCert, Log: logger(c.io), Progress: newProgress(c.io.progress(), nil),
		Restart: c.restart,
	}
}

func (c *certification) conform(ctx context.Context) error {
	out, err := suites.Run(ctx, c.suite())
	if out == nil {
		return nothingRun(err)
	}
	return defect(err)
}

// withGateway calls a part with the options of the target: that of the URL, or an embedded one of its own.
func (c *certification) withGateway(ctx context.Context, part func(target.Options) error) (failed error) {
	t := c.target
	if t.URL == "" {
		stop, err := embed(ctx, c.io, &t)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, stop()) }()
	}
	return part(t)
}

// driver returns the options that load and soak share.
func (c *certification) driver(t target.Options) (load.Options, error) {
	engine, err := (&engineFlags{name: engineAuto}).choose()
	return load.Options{
		Target: t, Profile: c.claim, Version: version, Schedule: load.Schedule{Seed: c.reachFlags.target.seed}, Engine: engine, Fleet: localFleet(workerLine()),
	}, err
}

func (c *certification) load(ctx context.Context) error {
	return c.withGateway(ctx, func(t target.Options) error {
		o, err := c.driver(t)
		if err != nil {
			return err
		}
		o.Streams, o.Duration, o.Out = c.profile.Certification.Streams, c.profile.Certification.Duration, filepath.Join(c.out, certify.LoadFolder)
		o.Progress = newLoadProgress(c.io.progress(), nil)
		r, err := load.Run(ctx, o)
		return partEnd(r == nil, err)
	})
}

func (c *certification) soak(ctx context.Context) error {
	return c.withGateway(ctx, func(t target.Options) error {
		o, err := c.driver(t)
		if err != nil {
			return err
		}
		want := c.profile.Certification
		r, err := soak.Run(ctx, soak.Options{
			Load: o, Duration: want.Soak, Window: want.Window, Rate: soak.DefaultRate, Held: soak.DefaultHeld, Confidence: soak.DefaultConfidence,
			Seed: o.Seed, Out: filepath.Join(c.out, certify.SoakFolder), Progress: newSoakProgress(c.io.progress()),
		})
		return partEnd(r == nil, err)
	})
}

// partEnd returns the error of a part: one without a report could not run, one with a report could not write its files.
func partEnd(nothing bool, err error) error {
	var engine *load.EngineError
	if nothing && !errors.As(err, &engine) {
		return err
	}
	return defect(err)
}

func (c *certification) test(ctx context.Context) error {
	text := c.tested
	if text == nil {
		_, tty := terminal(c.io.progress().err.To)
		r, err := selftest.Run(ctx, selftest.Options{
			Profile: c.claim, Jobs: c.jobs, Seed: 1, Version: version, Build: c.build, Log: logger(c.io), Step: stepper(c.io.progress(), tty),
		})
		if err != nil {
			return defect(err)
		}
		var b bytes.Buffer
		if err := reports.SelftestJSON(&b, r); err != nil {
			return defect(err)
		}
		text = b.Bytes()
	}
	return defect(certify.Keep(c.out, certify.SelftestFile, text))
}

// refuse says why there is no certificate.
func (c *certification) refuse(all []bundle.Requirement) error {
	err := reports.Refused(c.io.out.To, c.format, &bundle.CertificateCheck{
		Product: c.product, Profile: c.profile.ID, Level: c.level, Requirements: all,
	}, c.out, style(c.io.out.To, false))
	if err != nil {
		return defect(err)
	}
	failed := slices.ContainsFunc(all, func(r bundle.Requirement) bool { return !r.OK && !r.Unsure })
	if !failed {
		return code(exitInconclusive)
	}
	return code(1)
}

// conclude writes the certificate.
func (c *certification) conclude(ctx context.Context) error {
	var signer *bundle.Signer
	if c.key != nil {
		signer = c.key.Signer()
	}
	cert := certify.Certificate(c.seen, c.product, signer)
	pages, err := reports.CertificatePages(cert)
	if err != nil {
		return defect(err)
	}
	if err := certify.Write(ctx, c.out, cert, c.text, pages, c.key); err != nil {
		return defect(err)
	}
	if c.format == "json" {
		return defect(reports.CertificateJSON(c.io.out.To, cert))
	}
	return defect(reports.Certified(c.io.out.To, cert, c.out, style(c.io.out.To, false)))
}
