package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"assay/internal/record/bundle"
	"assay/suites"
)

// memoryFlag is the flag --memory.
type memoryFlag struct{ size sizeValue }

func (f *memoryFlag) register(c *cobra.Command) {
	f.size = suites.DefaultMemory
	c.Flags().Var(&f.size, "memory", "maximum memory of the program; a response that does not fit is not read to its end, and its verdicts are inconclusive")
}

// garbage is how much garbage, in percent of the memory in use, is left for the collector. A run
// waits more than it computes, and keeps 60 MB; Go's default of 100 would add another 15 MB.
const garbage = 60

// apply validates the flag and makes the garbage collector respect it.
func (f *memoryFlag) apply() (int64, error) {
	n := int64(f.size)
	if n < suites.MinMemory || n > 1<<40 {
		return 0, fmt.Errorf("--memory %s: want %s or more", &f.size, bundle.Megabytes(suites.MinMemory))
	}
	soft := n / 8 * 7 // the program's own pages are not garbage-collected
	debug.SetMemoryLimit(min(soft, debug.SetMemoryLimit(-1)))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	return n, nil
}
