package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/base/safefile"
	"assay/scenarios"
)

// The limits of what lint reads in all.
const (
	maxLintFiles = 10000
	maxLintBytes = 64 << 20
)

// lintSources reads the files and the folders that the user named, each file once.
func lintSources(names []string) ([]scenarios.LintSource, error) {
	r := lintReader{seen: map[string]bool{}}
	for _, name := range names {
		var err error
		if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
			err = r.folder(name)
		} else {
			err = r.file(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(r.sources, r.context()...), nil
}

// lintReader collects files.
type lintReader struct {
	sources []scenarios.LintSource
	seen    map[string]bool // clean paths
	bytes   int
}

// file adds a file that the user named.
func (r *lintReader) file(name string) error {
	text, err := safefile.Read(name, safefile.Limit)
	if err != nil {
		return err
	}
	return r.add(scenarios.LintSource{Name: name, Text: text})
}

// folder adds the .yaml files of a folder and of the folders in it. A file that cannot be read is
// a finding.
func (r *lintReader) folder(dir string) error {
	root, err := safefile.Folder(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	before := len(r.seen)
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && leftAlone(e.Name()):
			return fs.SkipDir
		case e.IsDir(), !isYAML(name):
			return nil
		}
		text, err := safefile.ReadIn(root, name, safefile.Limit)
		return r.add(scenarios.LintSource{Name: path.Join(filepath.ToSlash(dir), name), Text: text, Folder: dir, Err: errors.Unwrap(err)}) // the finding names the file
	})
	if err == nil && len(r.seen) == before {
		return fmt.Errorf("%s contains no .yaml file to check", dir)
	}
	return err
}

// leftAlone reports whether a folder in a folder is not checked.
func leftAlone(name string) bool {
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "vendor"}, name)
}

func isYAML(name string) bool {
	return (path.Ext(name) == ".yaml" || path.Ext(name) == ".yml") && !strings.HasPrefix(path.Base(name), ".")
}

func (r *lintReader) add(s scenarios.LintSource) error {
	clean := filepath.Clean(s.Name)
	if r.seen[clean] {
		return nil
	}
	r.seen[clean] = true
	r.sources = append(r.sources, s)
	if r.bytes += len(s.Text); len(r.sources) > maxLintFiles || r.bytes > maxLintBytes {
		return errors.New("too many files to check at once: name fewer folders")
	}
	return nil
}

// context returns the rules.yaml for each file that was named itself: in its folder or, for a
// script in an area, in the one above.
func (r *lintReader) context() []scenarios.LintSource {
	var more []scenarios.LintSource
	for _, s := range r.sources {
		if s.Folder != "" {
			continue
		}
		dir := filepath.Dir(s.Name)
		for _, name := range []string{filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "..", "rules.yaml")} {
			if r.seen[name] {
				continue
			}
			if text, err := safefile.Read(name, safefile.Limit); err == nil {
				r.seen[name] = true
				more = append(more, scenarios.LintSource{Name: name, Text: text, Context: true})
			}
		}
	}
	return more
}
