package main

import (
	"github.com/spf13/cobra"
)

// version is the program's version; releases set it with -ldflags "-X main.version=…".
var version = "0.1.0-dev"

// newRoot returns the command tree.
func newRoot(io stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Test whether a sandbox gateway implements the E2B envd protocol",
		Long: `Assay tests, from outside and given only a URL, whether a sandbox gateway
implements the E2B envd protocol correctly.

Exit codes: 0 conformant · 1 not conformant · 2 usage · 3 target unreachable
            4 a defect in Assay · 5 inconclusive · 130 interrupted`,
		Example: `  # test the embedded gateway
  assay conform

  # test your own
  assay conform http://127.0.0.1:8081`,
		Version:      versionLine(),
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage(hint{flagError(err), "see `" + c.CommandPath() + " --help`"})
	})
	root.AddCommand(
		newConform(io), newLoad(io), newLoadWorker(io), newWorker(io), newSoak(io), newReplay(io), newJudge(io), newCertify(io), newVerify(io), newReport(io), newDiff(io), newHistory(io),
		newAttach(io), newDoctor(io), newCompletion(io), newServe(io), newSelftest(io),
		newRender(io), newList(io), newExplain(io), newLint(io), newSchema(io), newVersion(io),
	)
	addConfig(root)
	addCompletion(root)
	return root
}

// hint is an error with a second line that suggests what to do.
type hint struct {
	err  error
	what string
}

// Error returns both lines.
func (h hint) Error() string { return h.err.Error() + "\n  " + h.what }

func (h hint) Unwrap() error { return h.err }

// exactly rejects a wrong number of arguments with a message that names them.
func exactly(n int, what string) cobra.PositionalArgs { return between(n, n, what) }

func between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usage(hint{argsError{len(args), what}, "see `" + c.CommandPath() + " --help`"})
		}
		return nil
	}
}
