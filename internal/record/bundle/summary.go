package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Summary is the manifest of a whole bundle, with the report of its kind; the others are nil.
type Summary struct {
	Manifest *Manifest
	// Digest is the SHA-256 of the manifest.
	Digest  string
	Conform *Report
	Load    *LoadReport
	Soak    *SoakReport
}

// ErrUnsealed means that a directory has no manifest: it is no bundle, or an unfinished one.
var ErrUnsealed = errors.New("it has no " + ManifestFile)

// Sealed returns the digest of the manifest of a directory, and an error that is ErrUnsealed if there is none. Links are
// not followed.
func Sealed(dir string) (digest string, err error) {
	r, err := openReader(dir)
	if err != nil {
		return "", err
	}
	defer r.close()
	d, err := r.digest(ManifestFile)
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrUnsealed
	}
	return d.SHA256, err
}

// Summarize reads the manifest and the report of a bundle, and none of its evidence. The report must be the one that
// the manifest lists.
func Summarize(dir string) (*Summary, error) {
	r, err := openReader(dir)
	if err != nil {
		return nil, err
	}
	defer r.close()
	s := &Summary{Manifest: &Manifest{}}
	d, err := r.digest(ManifestFile)
	if err != nil {
		return nil, err
	}
	s.Digest = d.SHA256
	if err := r.document(ManifestFile, s.Manifest, ManifestSchema); err != nil {
		return nil, err
	}
	var name, schema string
	var into any
	switch s.Manifest.Kind {
	case KindConform:
		s.Conform = &Report{}
		name, schema, into = resultFile, ReportSchema, s.Conform
	case KindLoad:
		s.Load = &LoadReport{}
		name, schema, into = loadFile, LoadSchema, s.Load
	case KindSoak:
		s.Soak = &SoakReport{}
		name, schema, into = SoakFile, SoakSchema, s.Soak
	default:
		return nil, fmt.Errorf("a bundle of kind %q", clip(string(s.Manifest.Kind)))
	}
	d, err = r.digest(name)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Manifest.Files {
		if f.Name == name && f.SHA256 == d.SHA256 {
			return s, r.document(name, into, schema)
		}
	}
	return nil, fmt.Errorf("%s is not the one that the manifest lists", name)
}

// Unsealed reports whether a directory without a manifest has the files of a run: it lost its manifest, or the run was
// killed or is still in progress.
func Unsealed(dir string) bool {
	r, err := openReader(dir)
	if err != nil {
		return false
	}
	defer r.close()
	for name, schema := range map[string]string{runFile: RunSchema, loadFile: LoadSchema, SoakFile: SoakSchema} {
		f, err := openRegular(r.root, name)
		if err != nil {
			continue
		}
		head, err := io.ReadAll(io.LimitReader(f, 512)) // the rest may be truncated
		kind, _, _ := strings.Cut(schema, "/")
		if _ = f.Close(); err == nil && bytes.Contains(head, []byte(`"`+kind+"/")) {
			return true
		}
	}
	return false
}

// Heading returns what is known of a bundle that need not be whole: its manifest, or without one the same members of its
// run.json. It is nil if neither is readable.
func Heading(dir string) *Manifest {
	r, err := openReader(dir)
	if err != nil {
		return nil
	}
	defer r.close()
	m := &Manifest{}
	if err := r.document(ManifestFile, m, ManifestSchema); err == nil {
		return m
	}
	run := &Run{}
	if err := r.document(runFile, run, RunSchema); err != nil {
		return nil
	}
	return &Manifest{Kind: KindConform, Run: run.ID, Tool: run.Tool, Started: run.Started, Target: run.Target, Profile: run.Profile}
}

// IsEvidence reports whether the directory of a bundle is one of the evidence of a certificate, or whether that cannot be
// told.
func IsEvidence(dir string) bool {
	at, err := filepath.EvalSymlinks(dir)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err != nil {
		return true
	}
	folder := filepath.Dir(at)
	if filepath.Base(folder) != "evidence" {
		return false
	}
	_, err = os.Lstat(filepath.Join(filepath.Dir(folder), CertificateFile))
	return !errors.Is(err, os.ErrNotExist)
}

// digest is Digest for a document. One that is too long to be read is not digested, which may take hours.
func (r *reader) digest(name string) (FileDigest, error) {
	size, err := sizeOf(r.root, name)
	if err == nil && size > maxDocument {
		err = fmt.Errorf("%s: %w", name, tooLong(size, maxDocument))
	}
	if err != nil {
		return FileDigest{}, err
	}
	return Digest(context.Background(), r.root, name)
}

// Remove removes a whole bundle: the files that its manifest lists, the manifest, and the directories, if nothing else
// is in them. It refuses a bundle with other files, and changes nothing then.
func Remove(dir string) error {
	r, err := openReader(dir)
	if err != nil {
		return err
	}
	defer r.close()
	m := &Manifest{}
	if err := r.document(ManifestFile, m, ManifestSchema); err != nil {
		return err
	}
	problems, err := integrity(context.Background(), r.root, m)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("it is not whole: %s", problems[0].Message)
	}
	for _, f := range m.Files {
		if err := r.root.Remove(f.Name); err != nil {
			return err
		}
	}
	if err := r.root.Remove(ManifestFile); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := r.root.Remove(folder); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Remove(dir)
}
