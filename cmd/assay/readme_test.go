package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"assay/internal/printable"
)

// The commands and flags in the README exist.
func TestReadmeCommandsExist(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(stdio{in: strings.NewReader(""), out: printable.Writer{To: &bytes.Buffer{}}, err: printable.Writer{To: &bytes.Buffer{}}})
	n := 0
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		for _, prefix := range []string{"bin/assay ", "$ assay ", "go run ./cmd/assay "} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				n++
				checkExample(t, root, strings.TrimSuffix("assay "+rest, "\\"))
			}
		}
	}
	if n < 5 {
		t.Errorf("%d commands found, want at least 5", n)
	}
}
