package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/reports"
)

func newExplain(io stdio) *cobra.Command {
	var own string
	c := &cobra.Command{
		Use:   "explain ID",
		Short: "Explain whatever has an id: a rule, a scenario, a profile, a feature",
		Example: `  # the requirement of a rule, its source, and the scenarios that prove it
  assay explain connect.stream.envelope-complete

  # the script of a scenario
  assay explain coppice.kill-races-exit

  # the features that a profile requires, the rules that it raises and allows
  assay explain envd`,
		Args:              exactly(1, "want the id of a rule, a scenario, a profile or a feature"),
		ValidArgsFunction: completeTopics,
		RunE: func(_ *cobra.Command, args []string) error {
			cat, err := catalogueOf(own, "")
			if err != nil {
				return err
			}
			profiles, err := allProfiles(cat)
			if err != nil {
				return defect(err)
			}
			topic := reports.Topic{Catalogue: cat, Profiles: profiles, Faults: faultsByRule(), ID: args[0]}
			err = reports.Explain(io.out.To, topic, style(io.out.To, false))
			var unknown *reports.UnknownIDError
			if errors.As(err, &unknown) {
				return usage(err)
			}
			return defect(err)
		},
	}
	registerScenarios(c, &own, "folder of scripts to use instead of the built-in ones (as for conform)")
	return c
}

// completeTopics completes the first argument with the ids of rules, scenarios and profiles.
func completeTopics(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ids, directive := completeScenarios(c, args, prefix)
	cat, err := catalogueOfFlags(c)
	if err != nil || len(args) > 0 {
		return ids, directive
	}
	for _, r := range cat.Rules {
		if strings.HasPrefix(r.ID, prefix) && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	for _, name := range cat.ProfileNames() {
		if strings.HasPrefix(name, prefix) {
			ids = append(ids, name)
		}
	}
	return ids, directive
}
