package main

import (
	"bytes"
	"testing"

	"assay/internal/termsafe"
)

func TestAFarewellNamesTheSandboxesThatAreLeft(t *testing.T) {
	var stderr bytes.Buffer
	io := stdio{err: termsafe.Writer{To: &stderr}, farewell: new(farewell)}
	io.farewell.say(io) // nothing is left yet
	left := []string{"one", "two"}
	io.farewell.set(func() []string { return left })
	io.farewell.say(io)
	left = nil
	io.farewell.say(io)
	if got, want := stderr.String(), "assay: not deleted: one, two\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
