package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"assay/internal/base/safefile"
)

// ManifestSchema names the version of a bundle: of the manifest's JSON form and of every
// file that it lists.
const ManifestSchema = "assay.manifest/v1"

// Kind is the kind of the recorded run.
type Kind string

// The kinds.
const (
	KindConform Kind = "conform"
	KindLoad    Kind = "load"
	KindSoak    Kind = "soak"
	// KindCertificate is only in a verification: a certificate holds bundles, and is none.
	KindCertificate Kind = "certificate"
)

// Manifest describes a bundle. It is written last, whole or not at all, so that a
// directory with a manifest is complete; a bundle without one comes from a run that was
// killed or is still in progress.
type Manifest struct {
	Schema  string    `json:"schema"`
	Kind    Kind      `json:"kind"`
	Tool    Tool      `json:"tool"`
	Run     string    `json:"run,omitempty"` // id of the run
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Target  Target    `json:"target"`
	Profile string    `json:"profile,omitempty"`
	Seed    uint64    `json:"seed"`
	// Interrupted is set if the run ended before all planned scenarios.
	Interrupted bool `json:"interrupted,omitempty"`
	// Limit is the maximum size of the bundle in bytes; 0 is no limit.
	Limit int64 `json:"limit,omitempty"`
	// Omitted are the observations omitted to stay within the limit.
	Omitted []OmittedObservation `json:"omitted,omitempty"`
	// Files are all other files of the bundle, by name.
	Files []FileDigest `json:"files"`
}

// FileDigest is the state of a file when the bundle was sealed.
type FileDigest struct {
	Name   string `json:"name"` // with / between folder and file name
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
}

// Seal digests every file of the bundle in root and writes the manifest; m has everything
// but Schema and Files. All other files must be written and closed. Foreign files, such as
// a report that somebody put there, are not listed. `assay load` calls it at the end of
// its --out folder, and removes ManifestFile before it replaces an older run.
func Seal(root *os.Root, m Manifest) error {
	m.Schema = ManifestSchema
	names, err := ownFiles(root)
	if err != nil {
		return fmt.Errorf("sealing the bundle: %w", err)
	}
	m.Files = make([]FileDigest, 0, len(names))
	for _, name := range names {
		d, err := Digest(context.Background(), root, name)
		if err != nil {
			return fmt.Errorf("sealing the bundle: %s: %w", name, err)
		}
		m.Files = append(m.Files, d)
	}
	text, err := encode(m, "  ")
	if err != nil {
		return fmt.Errorf("sealing the bundle: %w", err)
	}
	if err := ReplaceFile(root, ManifestFile, text, true); err != nil {
		return fmt.Errorf("sealing the bundle: %w", err)
	}
	return nil
}

// ownFiles returns the bundle files in root, without the manifest, sorted.
func ownFiles(root *os.Root) ([]string, error) {
	all, err := allFiles(root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == ManifestFile || !isOurs(name) }), nil
}

// allFiles returns the names in root and in its folders, one level deep, sorted. A foreign
// folder is one name with a trailing /. More than maxFiles is an error.
func allFiles(root *os.Root) ([]string, error) {
	var names []string
	top, err := entriesOf(root, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range top {
		switch {
		case !e.IsDir():
			names = append(names, e.Name())
		case !slices.Contains(folders, e.Name()):
			names = append(names, e.Name()+"/")
		default:
			inner, err := entriesOf(root, e.Name())
			if err != nil {
				return nil, err
			}
			for _, i := range inner {
				names = append(names, e.Name()+"/"+i.Name())
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// entriesOf reads a folder of at most maxFiles entries.
func entriesOf(root *os.Root, folder string) ([]fs.DirEntry, error) {
	d, err := root.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("folder %s has more than %d files, the limit of a bundle", folder, maxFiles)
	}
	return entries, nil
}

// Digest reads a whole regular file of a folder, and returns its name, size and SHA-256 digest. It ends with ctx.
func Digest(ctx context.Context, root *os.Root, name string) (FileDigest, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return FileDigest{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, interruptible{ctx, f})
	return FileDigest{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// interruptible is a reader that ends with a context.
type interruptible struct {
	ctx context.Context //nolint:containedctx // of the one call that reads it
	in  io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.in.Read(p)
}

// errNotRegular reports a name that is not a regular file.
var errNotRegular = errors.New("not a regular file: a bundle has no links, pipes or devices")

// openRegular opens a regular file. It refuses links, and pipes, which might never end.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	return safefile.Open(root, name)
}
