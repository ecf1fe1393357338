package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// consistent adds to found the contradictions between the manifest of a bundle and its run and
// observations, and impossible results of reproducers.
func consistent(b *bundle.Bundle, found *bundle.Verification) {
	if b.Manifest != nil {
		if wrong := unlikeRun(b.Manifest, b.Run); len(wrong) > 0 {
			found.Add(bundle.ProblemManifest, "manifest.json", "it differs from run.json in "+strings.Join(wrong, ", "))
		}
		if omitted := omittedIn(b.Observations); !slices.Equal(b.Manifest.Omitted, omitted) {
			found.Add(bundle.ProblemManifest, "manifest.json",
				fmt.Sprintf("it lists %d omitted observations, which are not the %d in observations.jsonl", len(b.Manifest.Omitted), len(omitted)))
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
	differ := func(name string, differ bool) {
		if differ {
			wrong = append(wrong, name)
		}
	}
	differ("tool", m.Tool != run.Tool)
	differ("run", m.Run != run.ID)
	differ("target", !same(m.Target, run.Target))
	differ("profile", m.Profile != run.Profile)
	differ("seed", m.Seed != run.Seed)
	differ("interrupted", m.Interrupted != run.Interrupted)
	return wrong
}

// omittedIn lists the observations that were not kept, in the order in which they were written.
func omittedIn(obs []*bundle.Observation) (all []bundle.OmittedObservation) {
	for _, o := range obs {
		if o.Omitted != nil {
			all = append(all, bundle.OmittedObservation{Scenario: o.Scenario, Axes: o.Axes, Bytes: o.Omitted.Bytes})
		}
	}
	return all
}
