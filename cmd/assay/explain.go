package main

import (
	"errors"

	"github.com/spf13/cobra"

	"assay/reports"
	"assay/scenarios"
)

func newExplain(io stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a rule or a scenario",
		Example: `  # what a rule demands, where it comes from, and what proves it
  assay explain connect.stream.envelope-complete

  # what a scenario does
  assay explain coppice.kill-races-exit`,
		Args:              exactly(1, "want the id of a rule or of a scenario"),
		ValidArgsFunction: completeScenarios,
		RunE: func(_ *cobra.Command, args []string) error {
			cat, err := scenarios.Load()
			if err != nil {
				return defect(err)
			}
			topic := reports.Topic{Catalogue: cat, Faults: faultsByRule(), ID: args[0]}
			err = reports.Explain(io.out, topic, style(io.out, false))
			var unknown *reports.UnknownIDError
			if errors.As(err, &unknown) {
				return usage(err)
			}
			return defect(err)
		},
	}
}
