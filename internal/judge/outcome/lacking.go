package outcome

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/judge/phrase"
	"assay/internal/record/bundle"
)

// lacking describes the cause that a target lacks features that its profile requires: what the probe of each saw, and
// the command that probes them again. A single one keeps its message.
func (c *causal) lacking(cause *bundle.Cause) {
	var list []string
	for _, b := range c.sorted() {
		if b.absent() {
			id := strings.TrimPrefix(b.id, "profile."+c.run.Profile+".")
			list = append(list, id+": "+phrase.Clip(c.run.Features[id].Detail))
		}
	}
	if len(list) > 1 {
		cause.Message = fmt.Sprintf("%d features are required by the profile but absent:\n  %s", len(list), strings.Join(list, "\n  "))
	}
	cause.Reproducer = c.probing()
}

// absent reports whether the rule is that a feature is there, and it is not.
func (b *breakage) absent() bool { return b.bad[0].Symptom == bundle.SymptomAbsent }

// probing returns the command that probes the target again. Of the scenarios it selects one that the target cannot run.
func (c *causal) probing() string {
	var of []string
	if i := slices.IndexFunc(c.verdicts, func(v bundle.Verdict) bool { return v.Conclusion == bundle.Unsupported && v.Scenario != "" }); i >= 0 {
		of = []string{"--select", c.verdicts[i].Scenario}
	}
	return command(c.run, []string{"conform"}, of...)
}
