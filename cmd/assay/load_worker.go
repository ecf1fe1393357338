package main

import (
	"github.com/spf13/cobra"

	"assay/internal/load/fast"
	"assay/internal/load/fleet"
	"assay/internal/load/portable"
)

// loadWorker is the name of the command that load runs for each worker process of this machine.
const loadWorker = "load-worker"

// newLoadWorker is an internal command: it reads from its stdin where the bus is, and which part of a plan is its.
func newLoadWorker(io stdio) *cobra.Command {
	var loops loopCount
	c := &cobra.Command{
		Use:    loadWorker,
		Short:  "Do a part of a load plan (started by load)",
		Hidden: true,
		Args:   exactly(0, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error {
			stayLean()
			return defect(fleet.Serve(c.Context(), io.in, version, portable.Engine{}, fast.Engine{Loops: int(loops)}))
		},
	}
	loops.register(flagsOf(c))
	return c
}
