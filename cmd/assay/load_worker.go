package main

import (
	"github.com/spf13/cobra"

	"assay/internal/load"
	"assay/internal/load/fast"
)

// loadWorker is the name of the command that load starts this program with, where one
// process may not have enough descriptors.
const loadWorker = "load-worker"

// newLoadWorker is no command for people: it works on a part of a plan that load
// writes to its stdin, and reports to its stdout.
func newLoadWorker(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:    loadWorker,
		Short:  "Work on a part of a plan of load (started by load)",
		Hidden: true,
		Args:   exactly(0, "it takes none"),
		RunE: func(c *cobra.Command, _ []string) error {
			stayLean()
			return defect(load.Work(c.Context(), io.in, io.out, load.Portable{}, fast.Engine{}))
		},
	}
}
