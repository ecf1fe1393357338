package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/bundle"
	"assay/internal/judge/phrase"
)

// consistent adds to found the contradictions between the manifest of a bundle and its run and
// observations, and impossible results of reproducers.
func consistent(b *bundle.Bundle, found *bundle.Verification) {
	if b.Manifest != nil {
		if wrong := unlikeRun(b.Manifest, b.Run); len(wrong) > 0 {
			found.Add(bundle.ProblemManifest, "manifest.json", "it differs from run.json in "+strings.Join(wrong, ", "))
		}
		if !slices.Equal(leftOutBy(b.Manifest), omittedIn(b.Observations)) {
			found.Add(bundle.ProblemManifest, "manifest.json",
				fmt.Sprintf("it lists %d omitted observations, which are not the %d in observations.jsonl", len(b.Manifest.Omitted), len(omittedIn(b.Observations))))
		}
	}
	for _, r := range b.Reproducers {
		if r.Shown && !r.Ran {
			found.Add(bundle.ProblemSchema, "reproducers.jsonl", fmt.Sprintf("%s [%s]: the reproducer showed the failure but did not run", phrase.Clip(r.Scenario), phrase.Clip(r.Axes.String())))
		}
	}
}

// unlikeRun names the fields in which a manifest differs from the run.
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

// leftOutBy returns the omitted observations that the manifest lists, sorted; omittedIn returns
// those of the observations.
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
