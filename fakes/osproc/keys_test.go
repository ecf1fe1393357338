//go:build unix

package osproc_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"assay/fakes/virtual"
)

// TestRandomKeysDoTheSameOnBothKindsOfTerminals types random keys: the echo and the input of the reader must equal the kernel's. It
// excludes keys that race with the process on a real terminal: signals, ^S, ^Q, and ^D before the end.
func TestRandomKeysDoTheSameOnBothKindsOfTerminals(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("SKIPPED: no pseudo-terminals here")
	}
	const seed = 8
	keys := []string{"a", "b", "_", " ", "  ", "ab cd", "\t", "\x7f", "\x7f\x7f", "\b", "\x15", "\x17", "\x16", "\x16\x7f", "\x12", "\r", "\n", "\x01", "\x1b", "\x00",
		"é", "€", "\xff", "\x80", ";", ".", strings.Repeat("long ", 20), "\x0f"}
	modes := []string{"sane", "iutf8", "-echo", "-iexten", "-icrnl", "-onlcr", "-opost", "-ixon", "iutf8 -echo"}
	both := kinds(t)
	for round := range 3 * len(modes) {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		var input strings.Builder
		for range 1 + random.IntN(40) {
			input.WriteString(keys[random.IntN(len(keys))])
		}
		input.WriteString("\n\n\x04") // the first newline may be literal; no mode drops both
		mode := modes[round%len(modes)]
		var seen [2]string
		for i, k := range both {
			dir := "/tmp"
			if k.name == "os" {
				dir = t.TempDir()
			}
			s := &screen{}
			p, err := k.start(virtual.Spec{
				Argv: []string{"/bin/sh", "-c", "stty " + mode + "; printf r; cat >f; printf =; cat f"}, Dir: dir, PTY: &virtual.Size{Cols: 80, Rows: 24}, Output: s.output,
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (step{await: "r", write: input.String()}).do(p, s, 0); err != nil {
				t.Fatal(err)
			}
			arrives(t, "the end with mode "+mode, p.Drained())
			seen[i] = s.out.String()
		}
		if seen[0] != seen[1] {
			t.Errorf("round %d, stty %s, keys %q\n%s %q\n%s %q", round, mode, input.String(), both[0].name, seen[0], both[1].name, seen[1])
		}
	}
}
