package main

import (
	"github.com/spf13/cobra"

	"assay/scenarios"
)

// registerScenarios adds --scenarios, a folder of scripts, rules and profiles of the user's own.
func registerScenarios(c *cobra.Command, dir *string, text string) {
	c.Flags().StringVar(dir, "scenarios", "", text)
}

// catalogueOf returns the embedded catalogue, or that of a folder with the built-in scenarios for
// which the selection asks.
func catalogueOf(dir, selection string) (*scenarios.Catalogue, error) {
	if dir == "" {
		cat, err := scenarios.Load()
		return cat, defect(err)
	}
	cat, err := scenarios.LoadDir(dir)
	if err != nil {
		return nil, usage(err)
	}
	cat, err = cat.Widened(selection)
	return cat, usage(err)
}

// catalogueOfFlags is catalogueOf for the flags of a command that completes an argument.
func catalogueOfFlags(c *cobra.Command) (*scenarios.Catalogue, error) {
	dir := ""
	if f := c.Flags().Lookup("scenarios"); f != nil {
		dir = f.Value.String()
	}
	return catalogueOf(dir, "")
}

// allProfiles returns the profiles of the catalogue's folder and the embedded ones, sorted by name.
func allProfiles(cat *scenarios.Catalogue) ([]*scenarios.Profile, error) {
	var all []*scenarios.Profile
	for _, name := range cat.ProfileNames() {
		p, err := cat.LoadProfile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}
