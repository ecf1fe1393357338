package engine

import "context"

const (
	// mostGenerated is how many bytes the instances that run at one time may generate together.
	mostGenerated = 64 << 20
	// littleGenerated is what an instance may always generate.
	littleGenerated = 1 << 20
)

// makeRoom waits until there is memory for what the script of an instance generates: a request takes several times the
// length of its body, and the Memory of the run counts only what the target sends. Call leave at the end.
func (in *instance) makeRoom(ctx context.Context) (leave func()) {
	n := min(in.s.Generated(), mostGenerated)
	if n <= littleGenerated || in.large.Acquire(ctx, n) != nil {
		return func() {}
	}
	return func() { in.large.Release(n) }
}
