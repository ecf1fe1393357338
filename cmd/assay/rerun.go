package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/record/bundle"
	"assay/reports"
	"assay/scenarios"
	"assay/suites"
)

// rerun holds the settings that --rerun takes from a bundle; the zero value is no --rerun.
type rerun struct {
	// only accepts the failed or undecided instances; nil accepts all.
	only func(scenarios.Instance) bool
	// url is the target's URL, "" for the embedded gateway.
	url string
	// profile is the text of the bundle's profile, replay the --profile value for replays.
	profile, replay string
	// said describes the settings.
	said string
}

// takeAgain reads the bundle of --rerun, if given. Its URL, profile and folder of scenarios are the
// defaults for those of the command line.
func (f *conformFlags) takeAgain(fs flags, url string) (rerun, error) {
	again := rerun{url: url, replay: f.Profile}
	if f.rerun == "" {
		return again, nil
	}
	b, err := bundle.Open(f.rerun)
	if err != nil {
		return again, fmt.Errorf("--rerun: %w", err)
	}
	if again.only, err = failedIn(b); err != nil {
		return again, fmt.Errorf("--rerun: %w", err)
	}
	var taken []string
	switch {
	case url != "":
	case b.Run.Target.Embedded:
		taken = append(taken, "the embedded gateway")
	case b.Run.Target.URL == "":
		return again, fmt.Errorf("--rerun: %s does not record its target: give the URL", f.rerun)
	default:
		again.url = b.Run.Target.URL
		taken = append(taken, fmt.Sprintf("the URL %q", again.url))
	}
	if f.Profile == "" {
		again.profile, again.replay = b.Run.ProfileText, flagOf(b.Run.Flags, "--profile")
		if again.replay == "" {
			again.replay = b.Run.Profile
		}
		if again.profile == "" {
			f.Profile = b.Run.Profile
		}
		taken = append(taken, fmt.Sprintf("the profile %q", b.Run.Profile))
	}
	if own := flagOf(b.Run.Flags, "--scenarios"); f.Scenarios == "" && own != "" {
		f.Scenarios = own
		taken = append(taken, fmt.Sprintf("the scenarios of %q", own))
	}
	if len(taken) > 0 {
		again.said = fmt.Sprintf("as in %s: %s", f.rerun, strings.Join(taken, ", "))
	}
	if other := targetWords(b.Run.Flags); len(other) > 0 && url == "" && !slices.Equal(other, fs.words(nil)) {
		again.said += fmt.Sprintf("; not its flags %q", strings.Join(other, " "))
	}
	return again, nil
}

// flagOf returns the value of a flag among words, "" without it.
func flagOf(words []string, name string) string {
	if i := slices.Index(words, name); i >= 0 && i+1 < len(words) {
		return words[i+1]
	}
	return ""
}

// targetWords returns the flags of a run without --profile and --scenarios.
func targetWords(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if words[i] == "--profile" || words[i] == "--scenarios" {
			i++
			continue
		}
		out = append(out, words[i])
	}
	return out
}

// failedIn accepts the failed or undecided instances of a bundle, including those
// that an interrupted or killed run did not reach.
func failedIn(b *bundle.Bundle) (func(scenarios.Instance) bool, error) {
	r := b.Report
	if b.Unfinished || r == nil {
		var err error
		if _, r, err = judged(b, judging{}); err != nil {
			return nil, err
		}
	}
	again := map[bundle.Planned]bool{}
	for _, p := range b.Run.Planned {
		again[p] = !b.Run.Complete() || b.Unfinished
	}
	for _, o := range b.Observations {
		// The verdicts below decide about complete observations.
		again[instanceOf(o.Scenario, o.Axes)] = o.Interrupted ||
			o.Skip != nil && (o.Skip.Reason == bundle.SkipInterrupted || o.Skip.Reason == bundle.SkipBudget)
	}
	for _, s := range r.Scenarios {
		switch s.Verdict {
		case bundle.Fail, bundle.Flaky, bundle.UnexpectedPass, bundle.Error, bundle.Inconclusive:
			again[instanceOf(s.ID, s.Axes)] = true
		default:
		}
	}
	return func(i scenarios.Instance) bool { return again[instanceOf(i.Scenario.ID, i.Axes)] }, nil
}

// nothingAgain explains that nothing ran because nothing failed in the bundle of
// --rerun; it keeps the exit code, and returns all other errors unchanged.
func (f *conformFlags) nothingAgain(err error) error {
	if !errors.Is(err, suites.ErrNothingAccepted) {
		return err
	}
	what := "nothing"
	if f.Select != "" {
		what = fmt.Sprintf("nothing of --select %q", f.Select)
	}
	return &exitError{exitInconclusive, fmt.Errorf("%s failed or stayed undecided in %s: nothing to rerun", what, f.rerun)}
}

func instanceOf(id string, axes bundle.Axes) bundle.Planned {
	return bundle.Planned{Scenario: id, Axes: axes}
}

// dryRun lists the selected scenarios.
func dryRun(io stdio, format string, o suites.Options) error {
	cat, instances, err := suites.Plan(o)
	if err != nil {
		return nothingRun(err)
	}
	if format == "json" {
		return defect(reports.ListJSON(io.out.To, cat.Of(instances), faultsByRule()))
	}
	for _, i := range instances {
		note := ""
		switch {
		case i.Scenario.Destructive && !o.Destructive:
			note = "  (not run: destructive)"
		case !i.Scenario.Slow.IsZero() && !o.Slow:
			note = "  (not run: slow)"
		}
		if err := io.printf("%s [%s]%s\n", i.Scenario.ID, i.Axes, note); err != nil {
			return defect(err)
		}
	}
	io.errorf("%d would run\n", len(instances))
	return nil
}
