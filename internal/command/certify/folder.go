package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/safefile"
	"assay/internal/judge"
	"assay/internal/load"
	"assay/internal/load/soak"
	"assay/internal/record/bundle"
	"assay/scenarios"
)

// The files of a certificate, besides certificate.json and PRODUCT.yaml.
const (
	ConformFolder = "evidence/conform"
	LoadFolder    = "evidence/load"
	SoakFolder    = "evidence/soak"
	SelftestFile  = "evidence/selftest.json"
	ProfileFile   = "profile.yaml"
	SignedFile    = "statement.dsse.json" // a DSSE envelope
	UnsignedFile  = "statement.json"
	KeyFile       = "key.pub"
)

// The limits of a certificate.
const (
	maxFiles    = 20_000
	maxDocument = 16 << 20
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Prepare creates the folder of a certificate. A folder with something in it is an error, and stays as it is: what is
// there may be evidence of another run.
func Prepare(dir string) error {
	for _, at := range []string{dir, filepath.Join(dir, "evidence")} {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil && !info.IsDir() { // reading a pipe would wait for its writer
			err = fmt.Errorf("%s is not a directory: name a new directory with --out", at)
		}
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if at != dir || e.Name() != "evidence" {
				return fmt.Errorf("%s is not empty (it has %s): name a new directory with --out", at, e.Name())
			}
		}
	}
	return os.MkdirAll(filepath.Join(dir, "evidence"), 0o755) //nolint:gosec // a certificate is public
}

// Read returns the evidence in a folder, judged again. The profile is parsed from the folder's copy, unless it is
// built-in. Errors name the file.
func Read(dir string, level string, build bundle.Build, cat *scenarios.Catalogue) (*Evidence, error) {
	e := &Evidence{Level: level, Build: build, Catalogue: cat}
	text, err := safefile.Read(filepath.Join(dir, ProfileFile), maxDocument)
	if err != nil {
		return nil, err
	}
	if e.Profile, err = profileOf(filepath.Join(dir, ProfileFile), text); err != nil {
		return nil, err
	}
	if e.Conform, err = bundle.Open(filepath.Join(dir, ConformFolder)); err != nil {
		return nil, err
	}
	j := &judge.Judge{Rules: cat, Profile: e.Profile}
	if e.Verdicts, e.Report, err = j.Bundle(e.Conform); err != nil {
		return nil, err
	}
	return e, e.Gather(dir)
}

// Gather reads the self-test, and if the level asks for them the load and the soak, as far as they are in the folder.
func (e *Evidence) Gather(dir string) (err error) {
	if e.Selftest, err = readSelftest(filepath.Join(dir, SelftestFile)); err != nil || !e.withLoad() {
		return err
	}
	run, err := load.Open(filepath.Join(dir, LoadFolder))
	switch {
	case err == nil:
		e.Load = run.Report
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if e.Soak, err = soak.Open(filepath.Join(dir, SoakFolder)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// profileOf returns the built-in profile with this text, or parses it.
func profileOf(name string, text []byte) (*scenarios.Profile, error) {
	p, err := scenarios.ParseProfile(name, text)
	if err != nil {
		return nil, err
	}
	if own, err := scenarios.LoadProfile(p.ID); slices.Contains(scenarios.ProfileNames(), p.ID) && err == nil && string(own.Text) == string(text) {
		return own, nil
	}
	return p, nil
}

func readSelftest(name string) (*bundle.SelftestReport, error) {
	text, err := safefile.Read(name, maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // a requirement says that it is missing
	}
	if err != nil {
		return nil, err
	}
	return ParseSelftest(name, text)
}

// ParseSelftest parses the report of a self-test.
func ParseSelftest(name string, text []byte) (*bundle.SelftestReport, error) {
	r := &bundle.SelftestReport{}
	if err := bundle.DecodeDocument(text, r, bundle.SelftestSchema); err != nil {
		return nil, fmt.Errorf("%s: it is no report of a self-test (assay selftest --format json): %w", name, err)
	}
	return r, nil
}

// Write writes a certificate into the folder that has its evidence: the product, pages by name, the certificate
// itself, and the statement, signed if there is a key.
func Write(ctx context.Context, dir string, c *bundle.Certificate, product []byte, pages map[string][]byte, k *Key) error {
	files := map[string][]byte{ProductFile: product}
	for name, text := range pages {
		files[name] = text
	}
	if k != nil {
		files[KeyFile] = k.PEM()
	}
	for name, text := range files {
		if err := Keep(dir, name, text); err != nil {
			return err
		}
	}
	var err error
	if c.Files, err = digests(ctx, dir, nil); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := Keep(dir, bundle.CertificateFile, text); err != nil {
		return err
	}
	payload, err := statement(c, text)
	if err != nil || k == nil {
		return errors.Join(err, Keep(dir, UnsignedFile, payload))
	}
	signed, err := envelope(ctx, payload, k)
	if err != nil {
		return err
	}
	return Keep(dir, SignedFile, signed)
}

// Keep writes a file of a certificate, by its name with slashes.
func Keep(dir, name string, text []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return bundle.ReplaceFile(root, filepath.FromSlash(name), text, true)
}

// outside are the files that certificate.json does not list: itself, and the statement about it.
var outside = []string{bundle.CertificateFile, SignedFile, UnsignedFile}

// digests returns the digests of all files below a folder, sorted by name, except those outside. With a list, a file that
// is not in it or has another size is not read, and has only its size: it may be of any length.
func digests(ctx context.Context, dir string, listed map[string]bundle.FileDigest) ([]bundle.FileDigest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	all := []bundle.FileDigest{}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() || slices.Contains(outside, name):
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is no file: a certificate has no links, pipes or devices", filepath.Join(dir, name))
		case len(all) == maxFiles:
			return fmt.Errorf("%s has more than %d files", dir, maxFiles)
		}
		if listed != nil {
			info, err := entry.Info()
			if err != nil {
				return err
			}
			if want, ok := listed[name]; !ok || want.Size != info.Size() {
				all = append(all, bundle.FileDigest{Name: name, Size: info.Size()})
				return nil
			}
		}
		one, err := bundle.Digest(ctx, root, name)
		all = append(all, one)
		return err
	})
	slices.SortFunc(all, func(a, b bundle.FileDigest) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}
