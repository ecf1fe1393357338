package main

import (
	"errors"

	"github.com/spf13/cobra"

	"assay/suites"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	target targetFlags
	output outputFlags

	profile, selection, out   string
	jobs                      int
	strict, destructive, slow bool
}

func newConform(io stdio) *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform [URL]",
		Short: "Run the scenarios against a gateway and judge it",
		Long: `Runs the scenarios against the gateway at URL, or against the reference gateway
when there is no URL, and judges what was seen.

The profile says what the gateway claims to be: connect (default for a URL),
e2b, coppice, full, or a file. --select takes terms joined by commas: an id
glob, rule:ID, level:must, feature:ID, area:NAME, axis:proto, and ! before any
of them for what to leave out.`,
		Example: `  # everything, against the embedded gateway
  assay conform

  # a gateway of yours as a CI gate, with evidence
  assay conform http://127.0.0.1:8081 --profile e2b --report junit=junit.xml --out run

  # only envelopes, only JSON
  assay conform http://127.0.0.1:8081 --select 'connect.*,!axis:proto'`,
		Args:              between(0, 1, "want at most one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return conform(c, io, f, args)
		},
	}
	f.target.register(c)
	f.output.register(c)
	fs := c.Flags()
	fs.StringVar(&f.profile, "profile", "", "what the gateway claims to be: connect, e2b, coppice, full, or a file")
	fs.StringVar(&f.selection, "select", "", "limit the scenarios to these terms")
	fs.IntVarP(&f.jobs, "jobs", "j", 8, "scenarios at the same time")
	fs.BoolVar(&f.strict, "strict", false, "broken should and may rules fail, too")
	fs.BoolVar(&f.destructive, "destructive", false, "also run what may kill the gateway")
	fs.BoolVar(&f.slow, "slow", false, "also run what has to wait for long")
	fs.StringVar(&f.out, "out", "", "directory for the bundle: all that was seen, to be judged again")
	return c
}

// options checks the flags whole, before any work.
func (f *conformFlags) options(args []string) (suites.Options, error) {
	url := ""
	if len(args) > 0 {
		url = args[0]
	}
	t, err := f.target.options(url)
	if err != nil {
		return suites.Options{}, err
	}
	if f.jobs < 1 || f.jobs > 256 {
		return suites.Options{}, errors.New("--jobs: want 1 to 256")
	}
	return suites.Options{
		Target: t, Profile: f.profile, Select: f.selection, Jobs: f.jobs, Strict: f.strict,
		Destructive: f.destructive, Slow: f.slow, Seed: f.target.seed, Out: f.out, Version: version,
	}, f.output.validate()
}

func conform(c *cobra.Command, io stdio, f conformFlags, args []string) error {
	o, err := f.options(args)
	if err != nil {
		return usage(err)
	}
	o.Log = logger(io)
	o.Progress = newProgress(io)
	if f.output.verbose {
		o.Specs = io.err
	}
	out, err := suites.Run(c.Context(), o)
	if out == nil {
		return nothingRun(err)
	}
	if err := errors.Join(err, f.output.write(io, out.Report)); err != nil {
		return defect(err)
	}
	return code(out.Report.Exit)
}
