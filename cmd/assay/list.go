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
	var format, selection, own string
	var profiles, faults bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios and the rules they prove, the profiles, or the faults of gateways",
		Example: `  # all scenarios, by area
  assay list

  # the scenarios that prove a rule, as JSON
  assay list --select rule:connect.stream.envelope-complete --format json

  # the profiles that a gateway can claim
  assay list --profiles

  # the ways in which assay serve can break a gateway, or vary it
  assay list --faults

  # scenarios and rules of your own
  assay list --scenarios my`,
		Args:              exactly(0, "list takes none; --select limits it"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case faults && (profiles || selection != "" || own != "" || format != "text"):
				return usage(errors.New("--faults is a list of its own: give it alone (assay list --format json has the faults of each rule)"))
			case faults:
				return listFaults(io)
			case profiles:
				return listProfiles(io, format, selection, own)
			}
			return list(io, format, selection, own)
		},
	}
	flagsOf(c).format(&format, "text or json", "text", "json")
	c.Flags().StringVar(&selection, "select", "", "list only the scenarios that match these terms (as for conform)")
	registerScenarios(c, &own, "folder of scripts to list instead of the built-in ones (as for conform)")
	c.Flags().BoolVar(&profiles, "profiles", false, "list the profiles instead")
	c.Flags().BoolVar(&faults, "faults", false, "list the faults and variants of assay serve instead")
	return c
}

// listProfiles lists the embedded profiles, and those of a folder.
func listProfiles(io stdio, format, selection, own string) error {
	if selection != "" {
		return usage(errors.New("--select does not apply to --profiles: give only one of them"))
	}
	var cat *scenarios.Catalogue // nil has the embedded profiles
	var err error
	if own != "" {
		if cat, err = catalogueOf(own, ""); err != nil {
			return err
		}
	}
	all, err := allProfiles(cat)
	if err != nil {
		return defect(err)
	}
	if format == "json" {
		return defect(reports.ProfilesJSON(io.out.To, all))
	}
	return defect(reports.Profiles(io.out.To, all, style(io.out.To, false)))
}

// listFaults lists the faults, with the rules that they break, and the variants.
func listFaults(io stdio) error {
	var b strings.Builder
	for _, f := range zoo.Faults() {
		fmt.Fprintf(&b, "%s\n    %s\n    breaks %s\n", f.ID, f.Title, strings.Join(f.Breaks, ", "))
	}
	b.WriteString("\nfaults that need time: assay soak finds them\n")
	for _, f := range zoo.SoakFaults() {
		fmt.Fprintf(&b, "%s\n    %s\n", f.ID, f.Title)
	}
	b.WriteString("\nlegal variants (--variant)\n")
	for _, v := range zoo.Variants() {
		fmt.Fprintf(&b, "%s\n    %s\n", v.ID, v.Title)
	}
	return defect(io.printf("%s", b.String()))
}

func list(io stdio, format, selection, own string) error {
	cat, err := catalogueOf(own, selection)
	if err != nil {
		return err
	}
	instances, err := cat.Select(selection)
	if err != nil {
		return nothingRun(err)
	}
	switch {
	case selection != "":
		cat = cat.Of(instances)
	case own != "":
		cat = cat.Own()
	}
	if format == "json" {
		return defect(reports.ListJSON(io.out.To, cat, faultsByRule()))
	}
	return defect(reports.List(io.out.To, cat, faultsByRule(), style(io.out.To, false)))
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
func completeScenarios(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	cat, err := catalogueOfFlags(c)
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
