package suites

import (
	"cmp"
	"slices"

	"assay/internal/target"
	"assay/scenarios"
)

// Catalogue returns the scenarios and the profile of the options: the embedded catalogue, or that
// of the folder of Options.Scenarios with the built-in scenarios for which the selection asks.
func Catalogue(o Options) (*scenarios.Catalogue, *scenarios.Profile, error) {
	cat, err := loaded(o.Scenarios)
	if err != nil {
		return nil, nil, err
	}
	p, err := profile(o, cat)
	if err != nil || o.Scenarios == "" {
		return cat, p, err
	}
	cat, err = cat.Widened(cmp.Or(o.Select, p.Select))
	return cat, p, err
}

// loaded returns the embedded catalogue, or that of a folder.
func loaded(dir string) (*scenarios.Catalogue, error) {
	if dir == "" {
		return scenarios.Load()
	}
	return scenarios.LoadDir(dir)
}

// profile returns the profile of the run.
func profile(o Options, cat *scenarios.Catalogue) (*scenarios.Profile, error) {
	if o.ProfileText != "" {
		return cat.ParseStoredProfile("the profile of the stored run", []byte(o.ProfileText))
	}
	return cat.LoadProfile(cmp.Or(o.Profile, defaultProfile(o, cat)))
}

// defaultProfile names the profile of a run that names none: full for the embedded gateway, and
// stdio for a WebSocket. With a folder of scripts it is the only profile of the folder, else
// service if no script uses a feature that only gateways have, else connect.
func defaultProfile(o Options, cat *scenarios.Catalogue) string {
	switch {
	case o.Target.URL == "":
		return "full"
	case target.IsSocketURL(o.Target.URL):
		return "stdio"
	case o.Scenarios == "":
		return "connect"
	case len(cat.Profiles) == 1:
		return cat.Profiles[0].ID
	}
	for _, s := range cat.Scenarios {
		for _, a := range s.Permutations() {
			if slices.ContainsFunc(scenarios.Instance{Scenario: s, Axes: a}.Features(), func(id string) bool { return !ofAnyServer(id) }) {
				return "connect"
			}
		}
	}
	return "service"
}
