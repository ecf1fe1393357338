package main

import (
	"github.com/spf13/cobra"

	"assay/internal/load"
	"assay/internal/load/fast"
	"assay/internal/load/portable"
)

// loadWorker is the name of the command that load runs when one process has too few
// descriptors.
const loadWorker = "load-worker"

// newLoadWorker is an internal command: it runs a part of a plan that load writes to its
// stdin, and reports to its stdout.
func newLoadWorker(io stdio) *cobra.Command {
	var loops loopCount
	c := &cobra.Command{
		Use:    loadWorker,
		Short:  "Run a part of a load plan (started by load)",
		Hidden: true,
		Args:   exactly(0, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error {
			stayLean()
			return defect(load.Work(c.Context(), io.in, io.out.To, portable.Engine{}, fast.Engine{Loops: int(loops)}))
		},
	}
	loops.register(c.Flags())
	return c
}
