package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/engine/reproduce"
	"assay/internal/envd/call"
	"assay/scenarios"
)

// envPrefix is the prefix of the program's variables.
const envPrefix = "ASSAY_"

// flagVariable is the variable of a flag: ASSAY_TIME_SCALE of time-scale.
func flagVariable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// testVariables are read only by tests, which run the program in their own environment; a name
// that ends with _ is a prefix.
var testVariables = []string{"ASSAY_TEST_", "ASSAY_BUSY_", "ASSAY_NIGHTLY", "ASSAY_HOSTILE_STREAMS"}

// checkEnvironment rejects variables of the program that no flag and no command reads: a
// misspelt ASSAY_TIME_SCLAE would silently have no effect.
func checkEnvironment(root *cobra.Command, environ []string) error {
	known := []string{flagVariable("config"), reproduce.TokenVariable, apiKeyVariable, call.Mark}
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, flagVariable(f.Name)) })
	}
	var errs []error
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || isForeign(name) {
			continue
		}
		err := fmt.Errorf("the environment variable %s belongs to no flag", name)
		if near := scenarios.DidYouMean(name, known); near != "" {
			err = fmt.Errorf("%w; %s", err, near)
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return hint{errors.Join(errs...), "unset it, or see the flags of `assay COMMAND --help`: ASSAY_TIME_SCALE is --time-scale"}
}

// isForeign reports whether a variable is for tests or for the scripts of a reproducer.
func isForeign(name string) bool {
	if strings.HasPrefix(name, reproduce.SecretPrefix) {
		return true
	}
	return slices.ContainsFunc(testVariables, func(v string) bool {
		return name == v || strings.HasSuffix(v, "_") && strings.HasPrefix(name, v)
	})
}

// needsEnvironment reports whether variables matter to a command: not to those that print what
// is built in, and not to a shell that completes a word.
func needsEnvironment(c *cobra.Command) bool {
	return !slices.Contains([]string{"version", "completion", "schema", "help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, c.Name())
}
