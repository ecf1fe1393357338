package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/fakes/canned"
	"assay/fakes/gateway"
	"assay/fakes/zoo"
	"assay/internal/attach"
	"assay/internal/surface"
	"assay/internal/target"
	"assay/reports"
	"assay/scenarios"
)

// offer returns the values that a shell completes for a flag of a command.
type offer func(c *cobra.Command) []string

// addCompletion offers values for the flags of every command. A flag without an offer here
// completes file names, as cobra does by default.
func addCompletion(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := completionOf(f.Name); complete != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails only for an unknown flag
			}
		})
	}
}

// completionOf returns the completion of a flag, nil for that of files.
func completionOf(flag string) cobra.CompletionFunc {
	switch flag {
	case "profile":
		return complete(profileNames, cobra.ShellCompDirectiveDefault)
	case "format":
		return complete(formatsOf, cobra.ShellCompDirectiveNoFileComp)
	case "report":
		return completeReport
	case "select":
		return completeSelect
	case "axis":
		return complete(axisValues, cobra.ShellCompDirectiveNoFileComp)
	case "fault":
		return completeList(func(c *cobra.Command) []string {
			all := zoo.Faults()
			if c.Name() == "serve" {
				all = append(all, zoo.SoakFaults()...)
			}
			return split(ids(all, func(f zoo.Fault) string { return f.ID }))
		})
	case "variant":
		return completeList(func(*cobra.Command) []string {
			return split(ids(zoo.Variants(), func(v zoo.Variant) string { return v.ID }))
		})
	case "without":
		return completeList(func(*cobra.Command) []string { return gateway.Features() })
	case "protocol":
		return completeProtocol
	case "http":
		return complete(httpVersions, cobra.ShellCompDirectiveNoFileComp)
	case "canned":
		return complete(func(*cobra.Command) []string { return canned.Examples() }, cobra.ShellCompDirectiveDefault)
	case "endpoint":
		return completeSurface
	}
	if values := fixedValues(flag); values != nil {
		return complete(func(*cobra.Command) []string { return values }, cobra.ShellCompDirectiveNoFileComp)
	}
	return nil
}

// fixedValues are the values of flags that take one of a few words.
func fixedValues(flag string) []string {
	switch flag {
	case "like":
		return split(ids(zoo.Likes(), func(l zoo.Like) string { return l.ID }))
	case "codec":
		return []string{"json", "proto"}
	case "ci":
		return ciValues
	case "engine":
		return []string{"auto", "fast", "portable"}
	case "processes":
		return []string{gateway.ProcessesVirtual, gateway.ProcessesOS}
	case "over":
		return attach.Surfaces()
	case "pty":
		return split(ptyWords)
	case "role":
		return attach.Roles()
	case "token-scheme":
		return target.TokenSchemes()
	}
	return nil
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

// formatsOf are the values of --format of a command.
func formatsOf(c *cobra.Command) []string {
	switch {
	case c.Flags().Lookup("report") != nil:
		return split(formatNames())
	case c.Name() == "diff":
		return diffFormats
	case c.Name() == "selftest":
		return reports.SelftestFormats()
	case c.Name() == "lint":
		return lintFormats
	}
	return []string{"text", "json"}
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

func completeProtocol(c *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := []string{"connect", "grpc", "grpc-web"}
	if c.Name() == "load" {
		all = append(all, "ndjson", "ws")
	}
	return behindComma(all, prefix), cobra.ShellCompDirectiveNoFileComp
}

func httpVersions(c *cobra.Command) []string {
	if c.Name() == "serve" {
		return []string{"1.1", "2"}
	}
	return []string{"1.1", "h2c", "h2-tls"}
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
