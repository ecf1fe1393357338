package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"assay/internal/base/safefile"
)

// integrity compares the files of root with a manifest: all listed files exist unchanged,
// and there are no others.
func integrity(ctx context.Context, root *os.Root, m *Manifest) ([]Problem, error) {
	problems := checkList(m)
	listed := map[string]bool{ManifestFile: true}
	for _, want := range m.Files {
		listed[want.Name] = true
		if !isOurs(want.Name) {
			continue // reported by checkList
		}
		got, err := compared(ctx, root, want)
		switch {
		case safefile.NoDescriptors(err), ctx.Err() != nil:
			return nil, err
		case errors.Is(err, fs.ErrNotExist):
			problems = append(problems, Problem{ProblemMissing, want.Name, want.Name + " is missing: the manifest has " + sized(want)})
		case err != nil:
			problems = append(problems, Problem{ProblemEdited, want.Name, want.Name + " cannot be read: " + err.Error()})
		case got != want:
			problems = append(problems, Problem{ProblemEdited, want.Name, fmt.Sprintf("%s was changed: the manifest has %s, the file %s", want.Name, sized(want), sized(got))})
		}
	}
	names, err := allFiles(root)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !listed[name] {
			problems = append(problems, Problem{ProblemStranger, name, fmt.Sprintf("%q does not belong to the bundle: the manifest does not list it", clip(name))})
		}
	}
	return problems, nil
}

// sized describes a digest.
func sized(d FileDigest) string {
	if d.SHA256 == "" {
		return fmt.Sprintf("%d bytes", d.Size)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %.12s…", d.Size, d.SHA256)
}

// compared returns the current digest of a file, or only its length if that differs.
func compared(ctx context.Context, root *os.Root, want FileDigest) (FileDigest, error) {
	size, err := sizeOf(root, want.Name)
	if err != nil || size != want.Size {
		return FileDigest{Name: want.Name, Size: size}, err
	}
	return Digest(ctx, root, want.Name)
}

// sizeOf returns the length of a file without reading it.
func sizeOf(root *os.Root, name string) (int64, error) {
	f, err := openRegular(root, name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// checkList finds invalid names in a manifest: paths outside the bundle, duplicates, and
// names that some file systems treat as equal.
func checkList(m *Manifest) []Problem {
	var problems []Problem
	seen := map[string]string{}
	for _, f := range m.Files {
		other, twice := seen[strings.ToLower(f.Name)]
		seen[strings.ToLower(f.Name)] = f.Name
		var what string
		switch {
		case !isOurs(f.Name) || f.Name == ManifestFile:
			what = fmt.Sprintf("the manifest lists %q, which is not a file of a bundle; it was not opened", clip(f.Name))
		case twice && other == f.Name:
			what = fmt.Sprintf("the manifest lists %q twice", clip(f.Name))
		case twice:
			what = fmt.Sprintf("the manifest lists %q and %q, which differ only in case", clip(other), clip(f.Name))
		case f.Size < 0 || len(f.SHA256) != 64:
			what = fmt.Sprintf("the manifest lacks the size and digest of %q", clip(f.Name))
		default:
			continue
		}
		problems = append(problems, Problem{ProblemManifest, ManifestFile, what})
	}
	if !slices.ContainsFunc(m.Files, func(f FileDigest) bool { return f.Name == runFile || f.Name == loadFile || f.Name == SoakFile }) {
		problems = append(problems, Problem{ProblemManifest, ManifestFile, "the manifest lists none of " + runFile + ", " + loadFile + " and " + SoakFile})
	}
	return problems
}
