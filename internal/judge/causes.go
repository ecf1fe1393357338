package judge

import (
	"assay/internal/bundle"
	"assay/scenarios"
)

// Causes sorts the failures of a run: what failed by itself, and what follows from it.
func Causes(_ *bundle.Run, _ *scenarios.Catalogue, _ []*bundle.Observation, _ []bundle.Verdict) []bundle.Cause {
	return []bundle.Cause{}
}
