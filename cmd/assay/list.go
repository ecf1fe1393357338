package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes"
	"assay/reports"
	"assay/scenarios"
)

func newList(io stdio) *cobra.Command {
	var format, selection string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios and the rules they prove",
		Example: `  # all scenarios, by area
  assay list

  # what proves a rule, for a program
  assay list --select rule:connect.stream.envelope-complete --format json`,
		Args:              exactly(0, "list takes none; --select limits it"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return list(io, format, selection)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().StringVar(&selection, "select", "", "limit the scenarios to these terms (as for conform)")
	return c
}

func list(io stdio, format, selection string) error {
	cat, err := scenarios.Load()
	if err != nil {
		return defect(err)
	}
	instances, err := cat.Select(selection)
	if err != nil {
		return nothingRun(err)
	}
	if selection != "" {
		cat = cat.Of(instances)
	}
	switch format {
	case "text":
		err = reports.List(io.out, cat, faultsByRule(), style(io.out, false))
	case "json":
		err = reports.ListJSON(io.out, cat, faultsByRule())
	default:
		return usage(fmt.Errorf("--format %q: want text or json", format))
	}
	return defect(err)
}

// faultsByRule says which faults break a rule.
func faultsByRule() reports.Faults {
	m := reports.Faults{}
	for _, f := range fakes.Faults() {
		for _, rule := range f.Breaks {
			m[rule] = append(m[rule], f.ID)
		}
	}
	return m
}

// completeScenarios completes the first argument with scenario ids.
func completeScenarios(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	cat, err := scenarios.Load()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, s := range cat.Scenarios {
		if strings.HasPrefix(s.ID, prefix) {
			ids = append(ids, s.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
