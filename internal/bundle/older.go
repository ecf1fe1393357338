package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	foreign := ""
	for _, e := range entries {
		if !IsTemporary(e.Name()) {
			foreign = e.Name()
			break
		}
	}
	if foreign == "" {
		return clearTemporary(root, dir, entries)
	}
	if why := notABundle(root); why != "" {
		return fmt.Errorf("directory %s is neither empty nor an Assay bundle (it contains %q; %s): name another directory, or empty it; nothing was changed", dir, foreign, why)
	}
	for _, name := range []string{ManifestFile, resultFile, verdictsFile, observationsFile, reproducersFile, eventsFile} {
		if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("older bundle in %s: %w", dir, err)
		}
	}
	if err := clearTemporary(root, dir, entries); err != nil {
		return err
	}
	return clearScripts(root, dir)
}

// clearTemporary removes the temporary files of a killed run.
func clearTemporary(root *os.Root, dir string, entries []fs.DirEntry) error {
	for _, e := range entries {
		if !IsTemporary(e.Name()) {
			continue
		}
		if err := root.Remove(e.Name()); err != nil {
			return fmt.Errorf("older bundle in %s: %w", dir, err)
		}
	}
	return nil
}

func clearScripts(root *os.Root, dir string) error {
	entries, err := entriesOf(root, scriptsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("older bundle in %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), scriptExt) {
			continue
		}
		if err := root.Remove(scriptsDir + "/" + e.Name()); err != nil {
			return fmt.Errorf("older bundle in %s: %w", dir, err)
		}
	}
	return nil
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
