package main

import (
	"errors"

	"github.com/spf13/cobra"

	"assay/internal/bundle"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	target        targetFlags
	profile, axis string
	repeat        int
}

func newReplay(io stdio) *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay ID [URL]",
		Short: "Run one scenario and show every byte of it",
		Long: `Runs one scenario and draws its transcript: what was sent and what came back,
frames decoded beside their offsets, times relative to the request, and the
verdict of every rule. Every failure of conform prints the replay command that
shows it again.`,
		Example: `  # against the embedded gateway
  assay replay connect.request.truncated-payload

  # a failure, again, with its seed
  assay replay coppice.kill-races-exit http://127.0.0.1:8081 --seed 7 --repeat 3`,
		Args:              between(1, 2, "want the id of a scenario and at most one URL"),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			return replay(c, io, f, args)
		},
	}
	f.target.register(c)
	fs := c.Flags()
	fs.StringVar(&f.profile, "profile", "", "what the gateway claims to be (as for conform)")
	fs.StringVar(&f.axis, "axis", "", "only this axis value, for example proto, or all four: connect/json/1.1/identity")
	fs.IntVar(&f.repeat, "repeat", 1, "run it that many times")
	return c
}

func replay(c *cobra.Command, io stdio, f replayFlags, args []string) error {
	url := ""
	if len(args) > 1 {
		url = args[1]
	}
	t, err := f.target.options(url)
	if err != nil {
		return usage(err)
	}
	if f.repeat < 1 || f.repeat > 10000 {
		return usage(errors.New("--repeat: want 1 to 10000"))
	}
	selection := args[0]
	if f.axis != "" {
		selection += ",axis:" + f.axis
	}
	draw := style(io.out, true)
	out, err := suites.Replay(c.Context(), suites.Options{
		Target: t, Profile: f.profile, Select: selection, Seed: f.target.seed, Version: version, Log: logger(io),
	}, f.repeat, func(o *bundle.Observation, v []bundle.Verdict) error {
		return reports.Transcript(io.out, o, v, draw)
	})
	var none *scenarios.NothingSelectedError
	if errors.As(err, &none) {
		return usage(err)
	}
	if err != nil {
		return nothingRun(err)
	}
	if out == nil {
		return code(exitInterrupted)
	}
	return code(ofScenario(out.Report))
}

// ofScenario is the exit code of what was replayed: what a profile demands of
// the whole target is not asked here.
func ofScenario(r *bundle.Report) int {
	if r.Exit != 1 {
		return r.Exit
	}
	for _, s := range r.Scenarios {
		if s.Verdict == bundle.Fail || s.Verdict == bundle.UnexpectedPass {
			return 1
		}
	}
	return 0
}
