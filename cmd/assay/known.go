package main

import (
	"fmt"
	"io"
	"os"

	"assay/internal/bundle"
	"assay/scenarios"
)

// maxKnown limits the size of a list of known failures, in bytes.
const maxKnown = 1 << 20

// knownFrom reads the list of known failures of --known; nil for no file.
func knownFrom(file string) (*scenarios.Known, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a nil list excuses nothing
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--known: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKnown+1))
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
