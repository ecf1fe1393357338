package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/command/certify"
	"assay/internal/command/selftest"
	"assay/internal/record/bundle"
	"assay/reports"
	"assay/scenarios"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	format, key string
	submission  bool
}

func newVerify(io stdio) *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Check that a stored run or a certificate is intact and yields the same verdicts",
		Long: `Checks a bundle against its manifest and for consistency: the size and SHA-256
digest of every file, the absence of other files, the schema of every file, the
stored verdicts against verdicts derived again from the evidence, and the result
against the verdicts.

A digest shows a change, not its author: whoever edits a bundle can write a new
manifest, but cannot produce evidence that yields other verdicts.

Checks a certificate of assay certify in the same way, with its signature: with --key by
the vendor's public key, else by the one in the certificate, which shows only that
nothing was changed since. Every requirement of its level is decided again from the
evidence, by the catalogue of this program, which must be the certificate's.

--submission also checks what a registry of certificates asks for: the folder
certified/PROFILE/VERSION/vendor-product, a signature, and a built-in profile.

Exit codes: 0 good · 1 not good, or unfinished · 2 not a bundle, or a newer format`,
		Example: `  # is the evidence unchanged?
  assay verify run

  # as JSON
  assay verify run --format json

  # a certificate, with the key of its vendor
  assay verify certificate --key vendor.pub

  # in the CI of a registry, for each changed folder
  assay verify --submission certified/e2b/1.0.0/acme-gateway`,
		Args: exactly(1, "want the directory of a bundle or a certificate"),
		RunE: func(c *cobra.Command, args []string) error {
			return verify(c.Context(), io, f, args[0])
		},
	}
	flagsOf(c).format(&f.format, "format on stdout: text or json", "text", "json")
	c.Flags().StringVar(&f.key, "key", "", "public key, PEM `FILE`, that a certificate must be signed with")
	c.Flags().BoolVar(&f.submission, "submission", false, "also check what a registry asks for: the folder, a signature, a built-in profile")
	return c
}

func verify(ctx context.Context, io stdio, f verifyFlags, dir string) error {
	var v *bundle.Verification
	var err error
	switch {
	case certify.Is(dir):
		v, err = verifyCertificate(ctx, f, dir)
	case f.key != "" || f.submission:
		err = usage(fmt.Errorf("%s is no certificate: it has no %s; --key and --submission are for certificates", dir, bundle.CertificateFile))
	default:
		v, err = verifyBundle(ctx, dir)
	}
	if err != nil {
		return err
	}
	if f.format == "json" {
		err = reports.VerificationJSON(io.out.To, v)
	} else {
		err = reports.Verification(io.out.To, v, style(io.out.To, false))
	}
	if err != nil {
		return defect(err)
	}
	return code(v.Exit)
}

func verifyCertificate(ctx context.Context, f verifyFlags, dir string) (*bundle.Verification, error) {
	build, err := thisBuild()
	if err != nil {
		return nil, defect(err)
	}
	of := &certify.Verifier{Build: *build, Wanted: selftest.Wanted, Pages: reports.CertificatePages, Bundle: func(dir string) (*bundle.Verification, error) { return verifyBundle(ctx, dir) }}
	if of.Catalogue, err = scenarios.Load(); err != nil {
		return nil, defect(err)
	}
	if f.key != "" {
		if of.Key, err = certify.ReadPublicKey(f.key); err != nil {
			return nil, usage(fmt.Errorf("--key: %w", err))
		}
	}
	v, err := of.Verify(ctx, dir)
	if err == nil && f.submission {
		certify.Submitted(dir, v)
	}
	return v, usage(err)
}

// verifyBundle verifies one bundle.
func verifyBundle(ctx context.Context, dir string) (*bundle.Verification, error) {
	v, err := bundle.Verify(ctx, dir)
	if err != nil {
		return nil, usage(err)
	}
	by := bundle.Tool{Name: "assay", Version: version}
	v.By = by
	switch v.Kind {
	case bundle.KindLoad:
	case bundle.KindSoak:
		verifySoak(dir, v)
	default:
		verifyVerdicts(dir, by, v)
	}
	return v, nil
}

// verifyVerdicts judges the bundle again. An error is a problem of the bundle.
func verifyVerdicts(dir string, by bundle.Tool, v *bundle.Verification) {
	b, err := bundle.Open(dir)
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	if v.Tool.Name == "" {
		v.Tool, v.Run = b.Run.Tool, b.Run.ID
	}
	j, err := judgeOf(b, judging{})
	if err != nil {
		v.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	j.Verify(b, by, v)
}
