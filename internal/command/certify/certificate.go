package certify

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"assay/internal/record/bundle"
)

// Certificate returns what the evidence certifies, without its files.
func Certificate(e *Evidence, product bundle.Product, signer *bundle.Signer) *bundle.Certificate {
	run := e.Conform.Run
	c := &bundle.Certificate{
		Schema: bundle.CertificateSchema, Product: product,
		Profile: e.Profile.ID, ProfileTitle: e.Profile.Title, ProfileDigest: digestOf(e.Profile.Text), Level: e.Level,
		Build: e.Build, Target: run.Target, Started: run.Started, Ended: run.Ended,
		Requirements: Assess(e), Rules: passedRules(e), Unsupported: unsupported(e), Advisories: []string{}, Deviations: deviations(e),
		Signer: signer, Files: []bundle.FileDigest{},
	}
	if rules, _ := worst(e, bundle.Advisory); len(rules) > 0 {
		c.Advisories = rules
	}
	if e.withLoad() && e.Soak != nil {
		c.Ended = e.Soak.Started.Add(ms(e.Soak.DurationMS))
	}
	return c
}

// unsupported returns the absent features that scenarios needed, sorted.
func unsupported(e *Evidence) []string {
	names := []string{}
	if s := e.Report.Scope; s != nil {
		for _, c := range s.Unsupported {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// deviations returns the deviations of the profile that were seen.
func deviations(e *Evidence) []bundle.Exception {
	all := []bundle.Exception{}
	rules, _ := worst(e, bundle.Deviation)
	for _, rule := range rules {
		all = append(all, bundle.Exception{Rule: rule, Reason: e.Profile.Deviations[rule].Reason})
	}
	return all
}

// digestOf returns the digest of a text as sha256:HEX.
func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
