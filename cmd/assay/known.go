package main

import (
	"fmt"

	"assay/internal/bundle"
	"assay/internal/regular"
	"assay/scenarios"
)

// knownFrom reads the list of known failures of --known; nil for no file.
func knownFrom(file string) (*scenarios.Known, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // a nil list excuses nothing
	}
	text, err := regular.Read(file, regular.Limit)
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
