package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/scenarios"
)

// flags are those of a command, with the checks of their values.
type flags struct {
	*pflag.FlagSet
	of *cobra.Command
}

func flagsOf(c *cobra.Command) flags { return flags{c.Flags(), c} }

// check adds a check that runs before the command, once the flags have their values. Its error is one of usage.
func (f flags) check(ok func() error) {
	before := f.of.PreRunE
	f.of.PreRunE = func(c *cobra.Command, args []string) error {
		if before != nil {
			if err := before(c, args); err != nil {
				return err
			}
		}
		return usage(ok())
	}
}

// word adds a flag that takes one of a few words. want says which, for the error of another one.
func (f flags) word(to *string, name, value, use, want string, words ...string) {
	f.StringVar(to, name, value, use)
	_ = f.of.RegisterFlagCompletionFunc(name, complete(func(*cobra.Command) []string { return words }, cobra.ShellCompDirectiveNoFileComp))
	f.check(func() error {
		if !slices.Contains(words, *to) {
			return fmt.Errorf("--%s %q: want %s", name, *to, want)
		}
		return nil
	})
}

// format adds --format of a command whose formats are not those of a report.
func (f flags) format(to *string, use string, formats ...string) {
	f.word(to, "format", "text", use, or(formats), formats...)
}

// within adds a flag that takes a number from least to most.
func (f flags) within(to *int, name, short string, value, least, most int, use string) {
	f.IntVarP(to, name, short, value, use)
	f.check(func() error {
		if *to < least || *to > most {
			return fmt.Errorf("--%s: want %d to %d", name, least, most)
		}
		return nil
	})
}

// positive rejects the value 0 of flags whose default is 0.
func (f flags) positive(names ...string) {
	f.check(func() error {
		for _, name := range names {
			if fl := f.Lookup(name); fl.Changed && (fl.Value.String() == "0" || fl.Value.String() == "0s") {
				return fmt.Errorf("--%s 0: want more than 0", name)
			}
		}
		return nil
	})
}

// jobs adds --jobs, the number of scenarios at one time.
func (f flags) jobs(to *int) {
	f.within(to, "jobs", "j", 8, 1, 256, "number of concurrent scenarios, besides as many that mostly wait")
}

// profile adds --profile. use says what the profile is for, in front of the names.
func (f flags) profile(to *string, use string) {
	f.StringVar(to, "profile", "", use+strings.Join(scenarios.ProfileNames(), ", ")+", or a file")
}

// strict adds --strict.
func (f flags) strict(to *bool) {
	f.BoolVar(to, "strict", false, "broken should and may rules also fail")
}

// or joins words: text, json or markdown.
func or(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// argument returns an argument, "" if it was left out.
func argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
