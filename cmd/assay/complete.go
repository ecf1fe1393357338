package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/fakes/canned"
	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/command/attach"
	"assay/internal/record/surface"
	"assay/reports"
	"assay/scenarios"
)

// offer returns the values that a shell completes for a flag of a command.
type offer func(c *cobra.Command) []string

// completions are those of flags by name. A flag without one completes file names, as cobra does by default; one of
// flags.word completes its words.
func completions() map[string]cobra.CompletionFunc {
	const only, files = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveDefault
	always := func(values ...string) offer { return func(*cobra.Command) []string { return values } }
	return map[string]cobra.CompletionFunc{
		"axis":     complete(axisValues, only),
		"canned":   complete(always(canned.Examples()...), files),
		"codec":    complete(always("json", "proto"), only),
		"endpoint": completeSurface,
		"fault": completeList(func(c *cobra.Command) []string {
			all := zoo.Faults()
			if c.Name() == "serve" {
				all = append(all, zoo.SoakFaults()...)
			}
			return split(ids(all, func(f zoo.Fault) string { return f.ID }))
		}),
		"format": complete(always(reports.Conform().Formats()...), only),
		"http": complete(func(c *cobra.Command) []string {
			if c.Name() == "serve" {
				return []string{"1.1", "2"}
			}
			return []string{"1.1", "h2c", "h2-tls"}
		}, only),
		"like":      complete(always(split(ids(zoo.Likes(), func(l zoo.Like) string { return l.ID }))...), only),
		"over":      complete(always(attach.Surfaces()...), only),
		"processes": complete(always(gateway.ProcessesVirtual, gateway.ProcessesOS), only),
		"profile":   complete(profileNames, files),
		"protocol": completeList(func(c *cobra.Command) []string {
			all := []string{"connect", "grpc", "grpc-web"}
			if c.Name() == "load" {
				all = append(all, "ndjson", "ws")
			}
			return all
		}),
		"report":  completeReport,
		"role":    complete(always(attach.Roles()...), only),
		"select":  completeSelect,
		"variant": completeList(always(split(ids(zoo.Variants(), func(v zoo.Variant) string { return v.ID }))...)),
		"without": completeList(always(gateway.Features()...)),
	}
}

// addCompletion offers values for the flags of every command.
func addCompletion(root *cobra.Command) {
	all := completions()
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := all[f.Name]; complete != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails only for one that has its own
			}
		})
	}
}

func split(joined string) []string { return strings.Split(joined, ", ") }

// complete offers values.
func complete(values offer, d cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return beginning(values(c), prefix), d
	}
}

// completeList offers values behind the last comma.
func completeList(values offer) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return behindComma(values(c), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning returns the values that begin with the prefix.
func beginning(values []string, prefix string) []string {
	var out []string
	for _, v := range values {
		if strings.HasPrefix(v, prefix) {
			out = append(out, v)
		}
	}
	return out
}

// behindComma completes the part behind the last comma of a list.
func behindComma(values []string, list string) []string {
	at := strings.LastIndexByte(list, ',') + 1
	out := beginning(values, list[at:])
	for i := range out {
		out[i] = list[:at] + out[i]
	}
	return out
}

func profileNames(c *cobra.Command) []string {
	cat, err := catalogueOfFlags(c)
	if err != nil {
		return scenarios.ProfileNames()
	}
	return cat.ProfileNames()
}

// completeReport offers FORMAT=, and then files.
func completeReport(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at := strings.LastIndexByte(prefix, ',') + 1
	if strings.Contains(prefix[at:], "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var specs []string
	for _, f := range split(formatNames()) {
		specs = append(specs, f+"=")
	}
	return behindComma(specs, prefix), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func completeSurface(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var specs []string
	for _, s := range surface.IDs() {
		specs = append(specs, s+"=/")
	}
	return beginning(specs, prefix), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// axisValues are the values of the axes: of the scenario that replay names, else of all.
func axisValues(c *cobra.Command) []string {
	cat, err := catalogueOfFlags(c)
	if err != nil {
		return nil
	}
	var values []string
	for _, s := range cat.Scenarios {
		one := c.Name() == "replay" && c.Flags().NArg() > 0
		if one && s.ID != c.Flags().Arg(0) {
			continue
		}
		for _, a := range s.Permutations() {
			values = append(values, a.Protocol, a.Codec, a.HTTP, a.Compression)
			if one {
				values = append(values, a.String())
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// completeSelect offers the kinds of terms, and ids, areas, features and so on behind them.
func completeSelect(c *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at := strings.LastIndexByte(prefix, ',') + 1
	before, term := prefix[:at], prefix[at:]
	if rest, not := strings.CutPrefix(term, "!"); not {
		before, term = before+"!", rest
	}
	cat, err := catalogueOfFlags(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var values []string
	kind, _, chosen := strings.Cut(term, ":")
	if chosen {
		for _, v := range termValues(c, cat, kind) {
			values = append(values, kind+":"+v)
		}
	} else {
		for _, s := range cat.Scenarios {
			values = append(values, s.ID)
		}
		for _, kind := range scenarios.TermKinds() {
			values = append(values, kind+":")
		}
	}
	out := beginning(values, term)
	if slices.ContainsFunc(out, func(v string) bool { return strings.HasSuffix(v, ":") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	for i := range out {
		out[i] = before + out[i]
	}
	return out, directive
}

// termValues are the values of a kind of term.
func termValues(c *cobra.Command, cat *scenarios.Catalogue, kind string) []string {
	var values []string
	switch kind {
	case "rule":
		for _, r := range cat.Rules {
			values = append(values, r.ID)
		}
	case "level":
		return []string{"must", "should", "may"}
	case "feature":
		for _, s := range cat.Scenarios {
			values = append(values, s.Needs...)
		}
	case "area":
		for _, s := range cat.Scenarios {
			values = append(values, s.Area)
		}
	case "axis":
		return axisValues(c)
	}
	slices.Sort(values)
	return slices.Compact(values)
}
