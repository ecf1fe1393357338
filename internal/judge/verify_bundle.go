package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
)

// consistent adds to found where the manifest of a bundle contradicts its run and
// its observations, and what no reproducer can have done.
func consistent(b *bundle.Bundle, found *bundle.Verification) {
	if b.Manifest != nil {
		if wrong := unlikeRun(b.Manifest, b.Run); len(wrong) > 0 {
			found.Add(bundle.ProblemManifest, "manifest.json", "it is not that of run.json: another "+strings.Join(wrong, ", "))
		}
		if !slices.Equal(leftOutBy(b.Manifest), omittedIn(b.Observations)) {
			found.Add(bundle.ProblemManifest, "manifest.json",
				fmt.Sprintf("it names %d observations that were not kept, and they are not the %d of observations.jsonl", len(b.Manifest.Omitted), len(omittedIn(b.Observations))))
		}
	}
	for _, r := range b.Reproducers {
		if r.Shown && !r.Ran {
			found.Add(bundle.ProblemSchema, "reproducers.jsonl", fmt.Sprintf("%s [%s]: it showed the failure, and did not run", phrase.Clip(r.Scenario), phrase.Clip(r.Axes.String())))
		}
	}
}

// unlikeRun names what a manifest does not share with the run.
func unlikeRun(m *bundle.Manifest, run *bundle.Run) []string {
	var wrong []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"tool", m.Tool == run.Tool},
		{"run", m.Run == run.ID},
		{"target", same(m.Target, run.Target)},
		{"profile", m.Profile == run.Profile},
		{"seed", m.Seed == run.Seed},
		{"interrupted", m.Interrupted == run.Interrupted},
	} {
		if !f.same {
			wrong = append(wrong, f.name)
		}
	}
	return wrong
}

// leftOutBy and omittedIn are what was not kept, sorted: by the manifest, and by the observations.
func leftOutBy(m *bundle.Manifest) []string {
	var all []string
	for _, o := range m.Omitted {
		all = append(all, unkept(o.Scenario, o.Axes, o.Bytes))
	}
	slices.Sort(all)
	return all
}

func omittedIn(obs []*bundle.Observation) []string {
	var all []string
	for _, o := range obs {
		if o.Omitted != nil {
			all = append(all, unkept(o.Scenario, o.Axes, o.Omitted.Bytes))
		}
	}
	slices.Sort(all)
	return all
}

func unkept(scenario string, axes bundle.Axes, n int64) string {
	return fmt.Sprintf("%q %q %d", scenario, axes.String(), n)
}
