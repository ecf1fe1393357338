package engine

import (
	"context"

	"assay/scenarios"
)

const (
	// mostGenerated is how many bytes the instances that run at one time may generate together.
	mostGenerated = 64 << 20
	// littleGenerated is what an instance may always generate.
	littleGenerated = 1 << 20
)

// makeRoom waits until there is memory for what a script generates, or ctx ends: a request takes several times the
// length of its body, and the Memory of the run counts only what the target sends. Call leave at the end.
func (e *env) makeRoom(ctx context.Context, s *scenarios.Scenario) (leave func()) {
	n := min(s.Generated(), mostGenerated)
	if n <= littleGenerated || e.large.Acquire(ctx, n) != nil {
		return func() {}
	}
	return func() { e.large.Release(n) }
}
