package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"

	"assay/internal/command/history"
	"assay/internal/command/history/push"
	"assay/internal/record/bundle"
	"assay/reports"
)

// historyFlags are the flags of history.
type historyFlags struct {
	format, index       string
	rebuild             bool
	keep                string
	prune, dryRun       bool
	failOnChange        bool
	push, pushTokenFile string
}

func newHistory(io stdio) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:   "history DIR…",
		Short: "Say what changed over many runs, and since which",
		Long: `Reads the bundles in the folders, of conform, load and soak, and says what changed over
the runs of each kind against one target with one profile: which rule is broken since
which run, which rules are flaky, and with which run a latency rose or fell.

A latency changed when a change point (E-divisive, with 999 permutations) is significant
at 1 % and moves the median by a tenth; three runs on each side are the least. Compare
latencies only of runs on one machine: a bundle does not know its machine.

--index keeps what was read in a SQLite database, so that bundles that have not changed
are not read again. The bundles stay the truth: the index is built again when it is
damaged or of another version, and with --rebuild.

--prune removes the bundles that --keep does not keep: only whole bundles, only the files
of their manifests, and never the newest of a group or the evidence of a certificate.
--dry-run says which.

--push sends the figures to a Prometheus server or anything else that takes remote
write 2.0; deploy/grafana has a dashboard.`,
		Example: `  # every night's bundle is in a folder of its own
  assay history nights

  # for a CI job: exit 1 if the newest run of a group brought something worse
  assay history nights --fail-on-change

  # keep a month
  assay history nights --keep 30d --prune --dry-run`,
		Args: between(1, -1, "want folders with bundles"),
		RunE: func(c *cobra.Command, args []string) error { return runHistory(c.Context(), io, f, args) },
	}
	fs := flagsOf(c)
	fs.format(&f.format, "format on stdout: text, json, markdown", reports.History().Formats()...)
	fs.StringVar(&f.index, "index", "", "file with the index, a SQLite database (default: none)")
	fs.BoolVar(&f.rebuild, "rebuild", false, "with --index: build it again")
	fs.StringVar(&f.keep, "keep", "", "with --prune: the number of runs of each group to keep, or their age: 20, 30d")
	fs.BoolVar(&f.prune, "prune", false, "remove the bundles that --keep does not keep")
	fs.BoolVar(&f.dryRun, "dry-run", false, "with --prune: say what would be removed, and remove nothing")
	fs.BoolVar(&f.failOnChange, "fail-on-change", false, "exit 1 if a rule broke, or a figure rose, with the newest runs of a group: the last three for a figure; 5 if the newest is left out")
	fs.StringVar(&f.push, "push", "", "send the figures to this remote-write endpoint of Prometheus")
	fs.StringVar(&f.pushTokenFile, "push-token-file", "", "with --push: file with a bearer token")
	return c
}

// validate checks the flags before any work.
func (f *historyFlags) validate() (keep history.Keep, err error) {
	switch {
	case f.prune && f.keep == "":
		return keep, errors.New("--prune needs --keep: the number of runs to keep, or their age")
	case !f.prune && (f.keep != "" || f.dryRun):
		return keep, errors.New("--keep and --dry-run are for --prune")
	case f.rebuild && f.index == "":
		return keep, errors.New("--rebuild is for --index")
	case f.pushTokenFile != "" && f.push == "":
		return keep, errors.New("--push-token-file is for --push")
	}
	if f.keep != "" {
		if keep, err = history.ParseKeep(f.keep); err != nil {
			return keep, fmt.Errorf("--%w", err)
		}
	}
	if f.push != "" {
		if err := (push.Options{URL: f.push}).Validate(); err != nil {
			return keep, fmt.Errorf("--push: %w", err)
		}
	}
	return keep, nil
}

func runHistory(ctx context.Context, io stdio, f historyFlags, args []string) error {
	keep, err := f.validate()
	if err != nil {
		return usage(err)
	}
	token, err := f.token()
	if err != nil {
		return usage(err)
	}
	io.guard.hide([]string{token})
	runs, skipped, err := history.Load(ctx, history.Options{Paths: args, Index: f.index, Rebuild: f.rebuild, Version: version})
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.Is(err, history.ErrDisk):
		return defect(err)
	case errors.Is(err, history.ErrLocked):
		return &exitError{exitUnreachable, err}
	case err != nil:
		return usage(err)
	}
	h := history.Of(runs, skipped, version)
	if err := reports.History().Render(io.out.To, f.format, h, style(io.out.To, false)); err != nil {
		return defect(err)
	}
	var pruned error
	if f.prune {
		pruned = pruneBundles(io, history.Old(h, keep, time.Now()), f.dryRun)
	}
	if f.push != "" {
		n, err := push.Send(ctx, push.Options{URL: f.push, Token: token, Limit: 30 * time.Second}, runs)
		if err != nil {
			return errors.Join(pruned, &exitError{exitUnreachable, fmt.Errorf("--push: %w", err)})
		}
		io.errorf("sent %d samples to %s\n", n, f.push)
	}
	switch {
	case pruned != nil:
		return pruned
	case len(runs) == 0:
		return code(exitInconclusive)
	case f.failOnChange && worseNow(h):
		return code(1)
	case f.failOnChange:
		return sure(io, history.Unsure(runs, skipped))
	}
	return nil
}

// sure returns the exit code of a gate that finds nothing worse: it cannot say that if the newest run may be left out.
func sure(io stdio, unsure []history.Skip) error {
	for _, s := range unsure {
		io.errorf("--fail-on-change cannot tell: %s is left out, and may be the newest run: %s\n", s.Path, s.Why)
	}
	if len(unsure) > 0 {
		return code(exitInconclusive)
	}
	return nil
}

// token reads the token of --push.
func (f *historyFlags) token() (string, error) {
	if f.pushTokenFile == "" {
		return "", nil
	}
	token, err := readSecret("--push-token-file", f.pushTokenFile)
	if err == nil && !httpguts.ValidHeaderFieldValue(token) {
		err = fmt.Errorf("--push-token-file: %s has more than one line, or control characters: want one bearer token", f.pushTokenFile)
	}
	return token, err
}

// pruneBundles removes bundles. One that is not whole stays, and is said. An error means that one stays.
func pruneBundles(io stdio, paths []string, dry bool) error {
	stay := 0
	for _, path := range paths {
		if dry {
			io.errorf("would remove %s\n", path)
			continue
		}
		if err := bundle.Remove(path); err != nil {
			io.errorf("not removed: %s: %v\n", path, err)
			stay++
			continue
		}
		io.errorf("removed %s\n", path)
	}
	if stay > 0 {
		return defect(fmt.Errorf("--prune: %d of %d bundles could not be removed", stay, len(paths)))
	}
	return nil
}

// newest is how many runs a change of a figure needs to be seen, so that the newest one can have it.
const newest = 3

// worseNow reports whether something became worse with the newest runs.
func worseNow(h *bundle.History) bool {
	for _, g := range h.Groups {
		for _, c := range g.Changes {
			age := len(g.Runs) - c.Since // 0: it began with the newest run
			if c.Kind == bundle.HistoryBroken && age == 0 || c.Kind == bundle.HistoryWorse && age < newest {
				return true
			}
		}
	}
	return false
}
