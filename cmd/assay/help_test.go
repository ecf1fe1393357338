package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"assay/internal/termsafe"
)

// Every visible command has two examples, and each starts with the program's name and an
// existing command.
func TestEveryCommandHasTwoExamples(t *testing.T) {
	root := newRoot(stdio{in: strings.NewReader(""), out: termsafe.Writer{To: &bytes.Buffer{}}, err: termsafe.Writer{To: &bytes.Buffer{}}})
	for _, c := range append(root.Commands(), root) {
		if c.Hidden {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			examples := commandLines(c.Example)
			if len(examples) < 2 {
				t.Errorf("%d examples, want at least 2", len(examples))
			}
			for _, line := range examples {
				checkExample(t, root, line)
			}
		})
	}
}

// commandLines returns the lines of an example that run this program.
func commandLines(example string) []string {
	var out []string
	for line := range strings.Lines(example) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "assay ") {
			out = append(out, line)
		}
	}
	return out
}

// checkExample requires that the command and every flag of the line exist.
func checkExample(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(line)
	c, _, err := root.Find(words[1:2])
	if err != nil || c == root {
		t.Errorf("%q: no command %q", line, words[1])
		return
	}
	for _, w := range words[2:] {
		name, isFlag := strings.CutPrefix(w, "--")
		if !isFlag {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if c.Flags().Lookup(name) == nil {
			t.Errorf("%q: %s has no flag --%s", line, c.Name(), name)
		}
	}
}
