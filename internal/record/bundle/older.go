package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// clearOlder removes the files of an older bundle, and refuses a directory with other
// content. run.json stays until it is replaced, so that the directory is recognisable as a
// bundle at any moment. Foreign files, such as reports that somebody put there, stay.
func clearOlder(root *os.Root, dir string) error {
	entries, err := entriesOf(root, ".")
	if err != nil {
		return fmt.Errorf("bundle directory %s: %w", dir, err)
	}
	foreign := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !isTemporary(e) })
	if foreign < 0 {
		return remove(root, dir, ".", entries, isTemporary)
	}
	if why := notABundle(root); why != "" {
		return fmt.Errorf("directory %s is neither empty nor an Assay bundle (it contains %q; %s): name another directory, or empty it; nothing was changed", dir, entries[foreign].Name(), why)
	}
	for _, name := range []string{ManifestFile, resultFile, verdictsFile, observationsFile, reproducersFile, eventsFile} {
		if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("older bundle in %s: %w", dir, err)
		}
	}
	if err := remove(root, dir, ".", entries, isTemporary); err != nil {
		return err
	}
	return clearScripts(root, dir)
}

// remove removes the files of a folder whose name is that of an older bundle.
func remove(root *os.Root, dir, folder string, entries []fs.DirEntry, ours func(fs.DirEntry) bool) error {
	for _, e := range entries {
		if !ours(e) {
			continue
		}
		if err := root.Remove(path.Join(folder, e.Name())); err != nil {
			return fmt.Errorf("older bundle in %s: %w", dir, err)
		}
	}
	return nil
}

// isTemporary reports whether a file is one that a killed run left.
func isTemporary(e fs.DirEntry) bool { return IsTemporary(e.Name()) }

func clearScripts(root *os.Root, dir string) error {
	entries, err := entriesOf(root, scriptsDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("older bundle in %s: %w", dir, err)
	}
	return remove(root, dir, scriptsDir, entries, func(e fs.DirEntry) bool { return !e.IsDir() && strings.HasSuffix(e.Name(), scriptExt) })
}

// notABundle says why the directory is not a bundle; "" if it is one.
func notABundle(root *os.Root) string {
	f, err := openRegular(root, runFile)
	if err != nil {
		return "it has no " + runFile
	}
	defer func() { _ = f.Close() }()
	var run struct {
		Schema string `json:"schema"`
	}
	name, _, _ := strings.Cut(RunSchema, "/")
	if err := json.NewDecoder(io.LimitReader(f, maxDocument)).Decode(&run); err != nil || !strings.HasPrefix(run.Schema, name+"/") {
		return "its " + runFile + " is not ours"
	}
	return ""
}
