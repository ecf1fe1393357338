package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"assay/internal/base/safefile"
	"assay/internal/judge/known"
	"assay/internal/record/bundle"
	"assay/scenarios"
	"assay/suites"
)

// knownFrom reads the list of known failures of --known; nil for no file.
func knownFrom(file string) (*scenarios.Known, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a nil list excuses nothing
	}
	text, err := safefile.Read(file, safefile.Limit)
	if err != nil {
		return nil, fmt.Errorf("--known: %w", err)
	}
	return scenarios.ParseKnown(file, text)
}

// knownOf returns the stored list of known failures of a run.
func knownOf(b *bundle.Bundle) (*scenarios.Known, error) {
	if b.Run.KnownText == "" {
		return nil, nil //nolint:nilnil // a nil list excuses nothing
	}
	return scenarios.ParseKnown(b.Run.KnownFile, []byte(b.Run.KnownText))
}

// mayWriteKnown refuses a file of --write-known that exists, before the run: it may be a list that
// somebody has completed.
func mayWriteKnown(file string) error {
	if file == "" {
		return nil
	}
	_, err := os.Lstat(file)
	switch {
	case err == nil:
		return fmt.Errorf("--write-known: %s exists already: remove it, or give another name", file)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fmt.Errorf("--write-known: %w", err)
}

// writeKnown writes the first list of known failures of a run.
func writeKnown(io stdio, file string, out *suites.Outcome) (err error) {
	if file == "" {
		return nil
	}
	first := known.FirstOf(out.Run, out.Verdicts)
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // a list is public, as reports are
	if err != nil {
		return fmt.Errorf("--write-known: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.guard.writer(f).Write(first.Text); err != nil {
		return fmt.Errorf("--write-known: %w", err)
	}
	entries := "entries"
	if first.Entries == 1 {
		entries = "entry"
	}
	said := fmt.Sprintf("wrote %s with %d %s: each needs a reason and a link", file, first.Entries, entries)
	if first.Entries == 0 {
		said = fmt.Sprintf("wrote %s without an entry: no rule of a scenario is broken", file)
	}
	if first.Beyond > 0 {
		said += fmt.Sprintf("; %d failures of the run as a whole cannot be listed", first.Beyond)
	}
	io.errorf("assay: %s\n", said)
	return nil
}
