package certify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"assay/internal/base/safefile"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// Verifier checks certificates.
type Verifier struct {
	// Build and Catalogue are those of the verifying program.
	Build     bundle.Build
	Catalogue *scenarios.Catalogue
	// Key is the vendor's public key; nil takes the one in the certificate, which proves only that nothing was changed since.
	Key *Key
	// Wanted returns the faults and the variants that a self-test for a profile must try. The profile is a name, or the path of a file.
	Wanted func(profile string) (faults, variants []string, err error)
	// Pages renders the pages of a certificate, by file name.
	Pages func(c *bundle.Certificate) (map[string][]byte, error)
	// Bundle verifies one bundle.
	Bundle func(dir string) (*bundle.Verification, error)
}

// Is reports whether a directory is a certificate.
func Is(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, bundle.CertificateFile))
	return err == nil
}

// Verify checks a certificate without a network: the digests, the signature, that the evidence yields the verdicts
// under the catalogue and profile named in it, and that it meets the level. Each defect is a Problem. An error means that
// dir is no certificate, or one of an unknown version, or that the check could not end.
func (v *Verifier) Verify(ctx context.Context, dir string) (*bundle.Verification, error) {
	c, text, err := readCertificate(dir)
	if err != nil {
		return nil, err
	}
	f := &bundle.Verification{
		Schema: bundle.VerificationSchema, Bundle: dir, Kind: bundle.KindCertificate, Problems: []bundle.Problem{}, OK: true,
		Tool: bundle.Tool{Name: c.Build.Name, Version: c.Build.Version}, By: bundle.Tool{Name: v.Build.Name, Version: v.Build.Version},
		Certificate: &bundle.CertificateCheck{Product: c.Product, Profile: c.Profile, Level: c.Level, Requirements: []bundle.Requirement{}},
	}
	if err := v.files(ctx, dir, c, f); err != nil {
		return nil, err
	}
	v.signature(ctx, dir, c, text, f)
	v.product(dir, c, f)
	if v.catalogue(dir, c, f) {
		if err := v.evidence(dir, c, f); err != nil {
			return nil, err
		}
	}
	if f.OK { // else they differ because of what was found
		v.pages(dir, c, f)
	}
	return f, nil
}

// readCertificate reads certificate.json, and checks it against its schema.
func readCertificate(dir string) (*bundle.Certificate, []byte, error) {
	name := filepath.Join(dir, bundle.CertificateFile)
	text, err := safefile.Read(name, maxDocument)
	if err != nil {
		return nil, nil, err
	}
	c := &bundle.Certificate{}
	if err := bundle.DecodeDocument(text, c, bundle.CertificateSchema); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := bundle.Conforms("certificate", text); err != nil {
		return nil, nil, fmt.Errorf("%s %w", name, err)
	}
	return c, text, nil
}

// ended returns err if it says nothing about a certificate: a limit of this machine, or an interrupt.
func ended(err error) error {
	if safefile.NoDescriptors(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// files compares the digests of all files with the list of the certificate.
func (v *Verifier) files(ctx context.Context, dir string, c *bundle.Certificate, f *bundle.Verification) error {
	listed := map[string]bundle.FileDigest{}
	for _, d := range c.Files {
		listed[d.Name] = d
	}
	is, err := digests(ctx, dir, listed)
	if err != nil {
		f.Add(bundle.ProblemUnreadable, "", err.Error())
		return ended(err)
	}
	f.Files = 2 // the certificate and its statement
	for _, d := range is {
		f.Files, f.Bytes = f.Files+1, f.Bytes+d.Size
		switch want, ok := listed[d.Name]; {
		case !ok:
			f.Add(bundle.ProblemStranger, d.Name, d.Name+" is not listed in "+bundle.CertificateFile)
		case want.Size != d.Size:
			f.Add(bundle.ProblemEdited, d.Name, fmt.Sprintf("%s was changed: it has %d bytes, want %d", d.Name, d.Size, want.Size))
		case want != d:
			f.Add(bundle.ProblemEdited, d.Name, fmt.Sprintf("%s was changed: it has %d bytes with the digest %.12s…, want %d with %.12s…", d.Name, d.Size, d.SHA256, want.Size, want.SHA256))
		}
		delete(listed, d.Name)
	}
	for _, d := range c.Files {
		if _, missing := listed[d.Name]; missing {
			f.Add(bundle.ProblemMissing, d.Name, d.Name+" is missing")
		}
	}
	return nil
}

// signature checks the statement: that it is about this certificate, and who signed it.
func (v *Verifier) signature(ctx context.Context, dir string, c *bundle.Certificate, text []byte, f *bundle.Verification) {
	want, err := statement(c, text)
	if err != nil {
		f.Add(bundle.ProblemSignature, bundle.CertificateFile, "no statement can be made of it: "+err.Error())
		return
	}
	f.Certificate.Signature = "unsigned"
	name, other := UnsignedFile, SignedFile
	if c.Signer != nil {
		name, other = SignedFile, UnsignedFile
	}
	if _, err := safefile.Read(filepath.Join(dir, other), maxDocument); err == nil {
		f.Add(bundle.ProblemStranger, other, other+" does not belong to this certificate")
	}
	is, err := safefile.Read(filepath.Join(dir, name), maxDocument)
	if err != nil {
		f.Add(bundle.ProblemSignature, name, err.Error())
		return
	}
	if c.Signer != nil {
		k, err := v.keyOf(dir)
		if err == nil {
			is, err = opened(ctx, is, k)
		}
		if err == nil && *k.Signer() != *c.Signer {
			err = fmt.Errorf("the certificate names the key %s, and was checked with %s", c.Signer.Fingerprint, k.signer.Fingerprint)
		}
		if err != nil {
			f.Add(bundle.ProblemSignature, name, name+": "+err.Error())
			return
		}
		f.Certificate.Signature, f.Certificate.Trusted = k.signer.Algorithm+" "+k.signer.Fingerprint, v.Key != nil
	} else if v.Key != nil {
		f.Add(bundle.ProblemSignature, name, "the certificate is not signed")
	}
	if !bytes.Equal(is, want) {
		f.Add(bundle.ProblemSignature, name, name+" is a statement about another certificate: certificate.json was changed after it was made")
	}
}

// keyOf returns the key to verify with.
func (v *Verifier) keyOf(dir string) (*Key, error) {
	if v.Key != nil {
		return v.Key, nil
	}
	return ReadPublicKey(filepath.Join(dir, KeyFile))
}

// product checks the product file.
func (v *Verifier) product(dir string, c *bundle.Certificate, f *bundle.Verification) {
	p, _, err := ReadProduct(filepath.Join(dir, ProductFile))
	switch {
	case err != nil:
		f.Add(bundle.ProblemSchema, ProductFile, err.Error())
	case !same(p, c.Product):
		f.Add(bundle.ProblemResult, bundle.CertificateFile, "the certificate is of another product than "+ProductFile)
	}
}

// catalogue checks that this program can judge: by the same catalogue, and a profile of that name.
func (v *Verifier) catalogue(dir string, c *bundle.Certificate, f *bundle.Verification) bool {
	if c.Build.Catalogue != v.Build.Catalogue {
		f.Add(bundle.ProblemCatalogue, bundle.CertificateFile, fmt.Sprintf("it was made with the catalogue %s of %s %s, and this is %s with %s: verify it with that version",
			c.Build.Catalogue, c.Build.Name, c.Build.Version, v.Build.Version, v.Build.Catalogue))
		return false
	}
	text, err := safefile.Read(filepath.Join(dir, ProfileFile), maxDocument)
	if err != nil {
		f.Add(bundle.ProblemCatalogue, ProfileFile, err.Error())
		return false
	}
	if digestOf(text) != c.ProfileDigest {
		f.Add(bundle.ProblemCatalogue, ProfileFile, "the certificate names another profile: "+c.ProfileDigest)
	}
	if !slices.Contains(scenarios.ProfileNames(), c.Profile) {
		return true
	}
	if own, err := scenarios.LoadProfile(c.Profile); err != nil || digestOf(own.Text) != c.ProfileDigest {
		f.Add(bundle.ProblemCatalogue, ProfileFile, fmt.Sprintf("the profile %s is not that of the catalogue: a profile of one's own needs another id", c.Profile))
	}
	return true
}

// evidence verifies each bundle, and decides the requirements again.
func (v *Verifier) evidence(dir string, c *bundle.Certificate, f *bundle.Verification) error {
	folders := []string{ConformFolder}
	if c.Level == bundle.LevelWithLoad {
		folders = append(folders, LoadFolder, SoakFolder)
	}
	for _, folder := range folders {
		of, err := v.Bundle(filepath.Join(dir, folder))
		if err != nil {
			f.Add(bundle.ProblemUnreadable, folder, err.Error())
			return ended(err)
		}
		f.Verdicts += of.Verdicts
		f.Changed = append(f.Changed, of.Changed...)
		for _, p := range of.Problems {
			f.Add(p.Kind, filepath.ToSlash(filepath.Join(folder, p.File)), folder+": "+p.Message)
		}
	}
	if !slices.Contains(bundle.Levels(), c.Level) {
		f.Add(bundle.ProblemResult, bundle.CertificateFile, fmt.Sprintf("there is no level %q: the levels are %s", clip(c.Level), strings.Join(bundle.Levels(), ", ")))
		return nil
	}
	e, err := Read(dir, c.Level, c.Build, v.Catalogue)
	if err != nil {
		f.Add(bundle.ProblemUnreadable, "", err.Error())
		return ended(err)
	}
	name := filepath.Join(dir, ProfileFile)
	if slices.Contains(scenarios.ProfileNames(), e.Profile.ID) {
		name = e.Profile.ID
	}
	if e.Faults, e.Variants, err = v.Wanted(name); err != nil {
		f.Add(bundle.ProblemUnreadable, ProfileFile, err.Error())
		return ended(err)
	}
	again := Certificate(e, c.Product, c.Signer)
	f.Certificate.Requirements = again.Requirements
	for _, r := range again.Requirements {
		if !r.OK {
			f.Add(bundle.ProblemRequired, "", fmt.Sprintf("%s: %s", r.ID, r.Message))
		}
	}
	if field := differs(*c, *again, sameProgram(c.Build, v.Build)); field != "" {
		f.Add(bundle.ProblemResult, bundle.CertificateFile, "the evidence yields another "+field+" than the certificate says")
	}
	return nil
}

// sameProgram reports whether two builds are of one source, wherever they run. They then say the same in the same words.
func sameProgram(a, b bundle.Build) bool {
	return a.Name == b.Name && a.Version == b.Version && a.Commit == b.Commit
}

// wordless returns requirements without their sentences.
func wordless(all []bundle.Requirement) []bundle.Requirement {
	out := make([]bundle.Requirement, len(all))
	for i, r := range all {
		out[i] = bundle.Requirement{ID: r.ID, OK: r.OK, Unsure: r.Unsure}
	}
	return out
}

// differs returns the first member in which two certificates differ, except the files; without words, whatever their
// requirements say of what was seen.
func differs(a, b bundle.Certificate, words bool) string {
	if !words {
		a.Requirements, b.Requirements = wordless(a.Requirements), wordless(b.Requirements)
	}
	one, two := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range one.NumField() {
		field := one.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "files" {
			continue
		}
		x, err := json.Marshal(one.Field(i).Interface())
		y, err2 := json.Marshal(two.Field(i).Interface())
		if err != nil || err2 != nil || !bytes.Equal(x, y) {
			return name
		}
	}
	return ""
}

// pages compares the pages with those that the certificate yields.
func (v *Verifier) pages(dir string, c *bundle.Certificate, f *bundle.Verification) {
	bare := *c
	bare.Files = []bundle.FileDigest{}
	want, err := v.Pages(&bare)
	if err != nil {
		f.Add(bundle.ProblemUnreadable, "", err.Error())
		return
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		text := want[name]
		is, err := safefile.Read(filepath.Join(dir, name), maxDocument)
		if err == nil && sameProgram(c.Build, v.Build) && !bytes.Equal(is, text) {
			f.Add(bundle.ProblemResult, name, name+" does not say what "+bundle.CertificateFile+" does")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing one is found by its digest
			f.Add(bundle.ProblemUnreadable, name, err.Error())
		}
	}
}
