package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"assay/fakes/zoo"
	"assay/reports"
	"assay/scenarios"
)

func newList(io stdio) *cobra.Command {
	var format, selection string
	var profiles bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios and the rules they prove, or the profiles",
		Example: `  # all scenarios, by area
  assay list

  # the scenarios that prove a rule, as JSON
  assay list --select rule:connect.stream.envelope-complete --format json

  # the profiles that a gateway can claim
  assay list --profiles`,
		Args:              exactly(0, "list takes none; --select limits it"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if profiles {
				return listProfiles(io, format, selection)
			}
			return list(io, format, selection)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().StringVar(&selection, "select", "", "list only the scenarios that match these terms (as for conform)")
	c.Flags().BoolVar(&profiles, "profiles", false, "list the profiles instead")
	return c
}

// listProfiles lists the embedded profiles.
func listProfiles(io stdio, format, selection string) error {
	if selection != "" {
		return usage(errors.New("--select does not apply to --profiles: give only one of them"))
	}
	all, err := allProfiles()
	if err != nil {
		return defect(err)
	}
	switch format {
	case "text":
		err = reports.Profiles(io.out.To, all, style(io.out.To, false))
	case "json":
		err = reports.ProfilesJSON(io.out.To, all)
	default:
		return usage(fmt.Errorf("--format %q: want text or json", format))
	}
	return defect(err)
}

// allProfiles returns the embedded profiles, sorted by name.
func allProfiles() ([]*scenarios.Profile, error) {
	var all []*scenarios.Profile
	for _, name := range scenarios.ProfileNames() {
		p, err := scenarios.LoadProfile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
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
		err = reports.List(io.out.To, cat, faultsByRule(), style(io.out.To, false))
	case "json":
		err = reports.ListJSON(io.out.To, cat, faultsByRule())
	default:
		return usage(fmt.Errorf("--format %q: want text or json", format))
	}
	return defect(err)
}

// faultsByRule maps each rule to the faults that break it.
func faultsByRule() reports.Faults {
	m := reports.Faults{}
	for _, f := range zoo.Faults() {
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
